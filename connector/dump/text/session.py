"""Session state becomes the SET statements of `mysqlbinlog`, whenever it changes.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.charsets.collations import charset_of
from connector.codec.sql_text import quoted_identifier
from connector.dump.text.rows import quoted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.events.statement import QueryEvent
    from connector.binlog.events.status_variables import StatusVariables
    from connector.binlog.framing.header import EventHeader

# Ends each statement, because a statement may contain semicolons.
END = "/*!*/;"

# Flags of a header: the statement needs the session's temporary tables; no `use` before it.
_LOG_EVENT_THREAD_SPECIFIC_F = 0x0004
_LOG_EVENT_SUPPRESS_USE_F = 0x0008

# Bits of flags2, each with the value of its variable when the bit is set.
_FLAGS2 = (
    ("foreign_key_checks", 1 << 26, False),
    ("sql_auto_is_null", 1 << 14, True),
    ("unique_checks", 1 << 27, False),
    ("autocommit", 1 << 19, False),
)


class SessionText:
    """The session variables that earlier statements have set."""

    def __init__(self) -> None:
        """Begin without any variable."""
        self.comments_statement = False  # whether the current statement is shown as a comment
        self._schema = ""
        self._has_thread_id = False
        self._set: dict[str, str] = {}

    def settings(self, header: EventHeader, body: QueryEvent) -> Iterator[str]:
        """Yield the SET and USE statements that must come before `body`."""
        variables = body.status_variables
        use = not header.flags & _LOG_EVENT_SUPPRESS_USE_F
        if use and body.schema and body.schema != self._schema:
            self._schema = body.schema
            yield f"use {quoted_identifier(body.schema)}{END}"
        micros = f".{variables.microseconds:06d}" if variables.microseconds else ""
        yield f"SET TIMESTAMP={header.timestamp}{micros}{END}"
        if not self._has_thread_id or header.flags & _LOG_EVENT_THREAD_SPECIFIC_F:
            self._has_thread_id = True
            yield from self.changed("pseudo_thread_id", str(body.thread_id))
        yield from self._flags2(variables.flags2)
        if variables.sql_mode is not None:
            yield from self.changed("sql_mode", str(variables.sql_mode))
        yield from self._auto_increment(*variables.auto_increment or (1, 1))
        if variables.charset is not None:
            yield from self._charset(*variables.charset)
        yield from self._rest(variables)

    def _rest(self, variables: StatusVariables) -> Iterator[str]:
        if variables.time_zone is not None:
            yield from self.changed("time_zone", quoted_text(variables.time_zone))
        yield from self.changed("lc_time_names", str(variables.lc_time_names or 0))
        yield from self.changed("collation_database", str(variables.charset_database or "DEFAULT"))
        if variables.explicit_defaults_for_timestamp is not None:
            defaults = variables.explicit_defaults_for_timestamp
            yield f"SET @@session.explicit_defaults_for_timestamp={defaults}{END}"
        if variables.default_collation_for_utf8mb4 is not None:
            yield from self.changed(
                "default_collation_for_utf8mb4",
                str(variables.default_collation_for_utf8mb4),
                since="!80011",
            )
        if variables.sql_require_primary_key is not None:
            required = variables.sql_require_primary_key
            yield f"/*!80013 SET @@session.sql_require_primary_key={required}*/{END}"
        if variables.default_table_encryption is not None:
            yield from self.changed(
                "default_table_encryption", str(variables.default_table_encryption), since="!80016"
            )
        if variables.enable_cascade_triggers is not None:
            yield from self.changed(
                "enable_cascade_triggers", str(variables.enable_cascade_triggers), since="!90700"
            )

    def changed(self, name: str, value: str, *, since: str = "") -> Iterator[str]:
        """Yield SET for a session variable if its value differs; `since` as in `!80011`."""
        if self._set.get(name) != value:
            self._set[name] = value
            statement = f"SET @@session.{name}={value}"
            yield (f"/*{since} {statement}*/" if since else statement) + END

    def _flags2(self, flags2: int | None) -> Iterator[str]:
        if flags2 is None:
            return
        values = {name: str(int((flags2 & bit != 0) is on)) for name, bit, on in _FLAGS2}
        changed = {name: value for name, value in values.items() if self._set.get(name) != value}
        if changed:
            self._set |= changed
            assignments = ", ".join(f"@@session.{name}={value}" for name, value in changed.items())
            yield f"SET {assignments}{END}"

    def _auto_increment(self, increment: int, offset: int) -> Iterator[str]:
        value = f"{increment}, @@session.auto_increment_offset={offset}"
        yield from self.changed("auto_increment_increment", value)

    def _charset(self, client: int, connection: int, server: int) -> Iterator[str]:
        statements = list(
            self.changed(
                "character_set_client",
                f"{client},@@session.collation_connection={connection},"
                f"@@session.collation_server={server}",
            )
        )
        name = charset_of(client)
        if statements and name is not None:
            yield f"/*!\\C {name} */{END}"
        yield from statements

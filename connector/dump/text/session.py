"""Session state becomes the SET statements of `mysqlbinlog`, whenever it changes.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.binlog.charsets.collations import charset_of
from connector.codec.digits import put_uint
from connector.codec.quoted_text import quoted_text
from connector.codec.sql_text import quoted_identifier
from connector.dump.lines.output import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from librt.strings import BytesWriter

    from connector.binlog.events.statement import QueryEvent
    from connector.binlog.events.status_variables import StatusVariables
    from connector.binlog.framing.header import EventHeader

# Ends each statement, because a statement may contain semicolons.
END: Final = "/*!*/;"
_END_OF_LINE: Final = f"{END}\n".encode()

# Flags of a header: the statement needs the session's temporary tables; no `use` before it.
_LOG_EVENT_THREAD_SPECIFIC_F: Final = 0x0004
_LOG_EVENT_SUPPRESS_USE_F: Final = 0x0008

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
        # The variables of the last statement, and what they say when nothing has changed.
        self._last: StatusVariables | None = None
        self._unchanged: bytes | None = None

    def put_settings(self, out: BytesWriter, header: EventHeader, body: QueryEvent) -> None:
        """Append the SET and USE statements that must come before `body`."""
        variables = body.status_variables
        flags = header.flags
        schema = body.schema
        if schema and schema != self._schema and not flags & _LOG_EVENT_SUPPRESS_USE_F:
            self._schema = schema
            out.write(encoded(f"use {quoted_identifier(schema)}{END}\n"))
        out.write(b"SET TIMESTAMP=")
        put_uint(out, header.timestamp)
        micros = variables.microseconds
        if micros:
            out.write(f".{micros:06d}".encode())
        out.write(_END_OF_LINE)
        if not self._has_thread_id or flags & _LOG_EVENT_THREAD_SPECIFIC_F:
            self._has_thread_id = True
            out.write(_joined(self.changed("pseudo_thread_id", str(body.thread_id))))
        # Equal variables mostly are the same object.
        if variables is not self._last:
            out.write(_joined(self._settings(variables)))
            self._last = variables
            self._unchanged = None
        else:
            unchanged = self._unchanged
            if unchanged is None:
                unchanged = self._unchanged = _joined(self._settings(variables))
            out.write(unchanged)

    def _settings(self, variables: StatusVariables) -> Iterator[str]:
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


def _joined(lines: Iterable[str]) -> bytes:
    return encoded("".join(f"{line}\n" for line in lines))

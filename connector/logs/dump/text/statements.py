"""Statements, their context events, and the SET statements of the session that they need.

A SET statement is written whenever the session state of a statement differs from that of the
statement before it, as in `mysqlbinlog`.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import u8

from connector.binlog.character_sets import charset_of, collation_name
from connector.binlog.events import load
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.mariadb import AnnotateRowsEvent
from connector.binlog.events.query import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.header import EventHeader, EventType
from connector.binlog.sql_text import ESCAPES, quoted_identifier, quoted_name, quoted_text
from connector.binlog.text_writer import put_uint
from connector.logs.event_info import LOG_EVENT_SUPPRESS_USE_F, load_info
from connector.logs.output import NEWLINE, encoded

# Ends each statement, because a statement may contain semicolons.
END: Final = "/*!*/;"
_END_OF_LINE: Final = f"{END}\n".encode()

# In an event's header: the statement needs the session's temporary tables.
_LOG_EVENT_THREAD_SPECIFIC_F: Final = 0x0004

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
        if schema and schema != self._schema and not flags & LOG_EVENT_SUPPRESS_USE_F:
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
        name = charset_of(client, mariadb=True)
        if statements and name is not None:
            yield f"/*!\\C {name} */{END}"
        yield from statements


def _joined(lines: Iterable[str]) -> bytes:
    return encoded("".join(f"{line}\n" for line in lines))


# The end of the header line, and the lines after it.
Description = tuple[str, Iterable[str]]

_QUERY_COMPRESSED: Final = int(EventType.QUERY_COMPRESSED_EVENT)
_END_OF_STATEMENT: Final = f"\n{END}\n".encode()


def comment_lines(text: str, mark: str = "# ") -> list[str]:
    """Return the lines of `text`, each with `mark` in front."""
    return [mark + line for line in text.split("\n")]


def put_query(
    out: BytesWriter, session: SessionText, header: EventHeader, body: QueryEvent
) -> None:
    """Append a statement: its facts to the header line, then the lines that execute it."""
    if isinstance(body, ExecuteLoadQueryEvent):
        out.write(b"Execute_load_query")
    elif header.type_code == _QUERY_COMPRESSED:
        out.write(b"Query_compressed")
    else:
        out.write(b"Query")
    out.write(b"\tthread_id=")
    put_uint(out, body.thread_id)
    out.write(b"\texec_time=")
    put_uint(out, body.exec_time)
    out.write(b"\terror_code=")
    put_uint(out, body.error_code)
    ddl_xid = body.status_variables.ddl_xid
    if ddl_xid is not None:
        out.write(encoded(f"\tXid = {ddl_xid}"))
    out.append(u8(NEWLINE))
    session.put_settings(out, header, body)
    if session.comments_statement:
        for line in comment_lines(body.query, "### "):
            out.write(encoded(line))
            out.append(u8(NEWLINE))
    else:
        out.write(encoded(body.query))
        out.write(_END_OF_STATEMENT)
    if isinstance(body, ExecuteLoadQueryEvent):
        out.write(encoded(f"# file_id: {body.file_id}\n"))


def _rows_query(body: RowsQueryEvent) -> Description:
    return "Rows_query", comment_lines(body.query)


def _annotate(body: AnnotateRowsEvent) -> Description:
    return "Annotate_rows:", comment_lines(body.query, "#Q> ")


def _intvar(body: IntvarEvent) -> Description:
    return "Intvar", [f"SET {body.name}={body.value}{END}"]


def _rand(body: RandEvent) -> Description:
    return "Rand", [f"SET @@RAND_SEED1={body.seed1}, @@RAND_SEED2={body.seed2}{END}"]


def _user_var(body: UserVarEvent) -> Description:
    return "User_var", [f"SET @{quoted_identifier(body.name)}:={_user_value(body)}{END}"]


def _user_value(body: UserVarEvent) -> str:
    if body.value is None:
        return "NULL"
    if body.type is not UserVarType.STRING:
        return str(body.value)
    digits = (body.raw_value or b"").hex().upper()
    text = f"0x{digits}" if digits else "''"
    charset = charset_of(body.collation, mariadb=body.mariadb)
    collation = collation_name(body.collation, mariadb=body.mariadb)
    if charset is None or collation is None:
        return f"{text} /* collation {body.collation} */"
    return f"_{charset} {text} COLLATE `{collation}`"


def _load(body: load.LoadEvent) -> Description:
    return f"Load\tthread_id={body.thread_id}\texec_time={body.exec_time}", [load_info(body), END]


def _create_file(body: load.CreateFileEvent) -> Description:
    table = quoted_name(body.schema, body.table).translate(ESCAPES)
    summary = f"Create_file: file_id: {body.file_id}  block_len: {len(body.block)}"
    return summary, [f"# LOAD DATA INFILE {quoted_text(body.file_name)} INTO TABLE {table}"]


def _block(body: load.AppendBlockEvent | load.BeginLoadQueryEvent) -> Description:
    name = "Append_block" if isinstance(body, load.AppendBlockEvent) else "Begin_load_query"
    return f"{name}: file_id: {body.file_id}  block_len: {len(body.block)}", []


def _file(body: load.ExecLoadEvent | load.DeleteFileEvent) -> Description:
    name = "Exec_load" if isinstance(body, load.ExecLoadEvent) else "Delete_file"
    return f"{name}: file_id: {body.file_id}", []


STATEMENTS: dict[type, Callable[[Any], Description]] = {
    AnnotateRowsEvent: _annotate,
    load.AppendBlockEvent: _block,
    load.BeginLoadQueryEvent: _block,
    load.CreateFileEvent: _create_file,
    load.DeleteFileEvent: _file,
    load.ExecLoadEvent: _file,
    IntvarEvent: _intvar,
    load.LoadEvent: _load,
    RandEvent: _rand,
    RowsQueryEvent: _rows_query,
    UserVarEvent: _user_var,
}

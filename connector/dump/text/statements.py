"""Statements and their context events become summaries and lines.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import u8

from connector.binlog.charsets.collation_names import collation_name
from connector.binlog.charsets.collations import charset_of
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.events.mariadb import AnnotateRowsEvent
from connector.binlog.events.statement import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.framing.event_types import EventType
from connector.codec.digits import put_uint
from connector.codec.quoted_text import ESCAPES, quoted_text
from connector.codec.sql_text import quoted_identifier, quoted_name
from connector.dump.events.statement_info import load_info
from connector.dump.lines.output import NEWLINE, encoded
from connector.dump.text.session import END, SessionText

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.event import Event
    from connector.binlog.framing.header import EventHeader

# The end of the header line, and the lines after it.
Description = tuple[str, Iterable[str]]

_QUERY_COMPRESSED: Final = int(EventType.QUERY_COMPRESSED_EVENT)
_END_OF_STATEMENT: Final = f"\n{END}\n".encode()


def commented(text: str, mark: str = "# ") -> list[str]:
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
        for line in commented(body.query, "### "):
            out.write(encoded(line))
            out.append(u8(NEWLINE))
    else:
        out.write(encoded(body.query))
        out.write(_END_OF_STATEMENT)
    if isinstance(body, ExecuteLoadQueryEvent):
        out.write(encoded(f"# file_id: {body.file_id}\n"))


def _rows_query(session: SessionText, event: Event, body: RowsQueryEvent) -> Description:
    del session, event
    return "Rows_query", commented(body.query)


def _annotate(session: SessionText, event: Event, body: AnnotateRowsEvent) -> Description:
    del session, event
    return "Annotate_rows:", commented(body.query, "#Q> ")


def _intvar(session: SessionText, event: Event, body: IntvarEvent) -> Description:
    del session, event
    return "Intvar", [f"SET {body.name}={body.value}{END}"]


def _rand(session: SessionText, event: Event, body: RandEvent) -> Description:
    del session, event
    return "Rand", [f"SET @@RAND_SEED1={body.seed1}, @@RAND_SEED2={body.seed2}{END}"]


def _user_var(session: SessionText, event: Event, body: UserVarEvent) -> Description:
    del session, event
    return "User_var", [f"SET @{quoted_identifier(body.name)}:={_user_value(body)}{END}"]


def _user_value(body: UserVarEvent) -> str:
    if body.value is None:
        return "NULL"
    if body.type is not UserVarType.STRING:
        return str(body.value)
    digits = (body.raw_value or b"").hex().upper()
    text = f"0x{digits}" if digits else "''"
    charset = charset_of(body.collation)
    collation = collation_name(body.collation, mariadb=body.collation >= _MARIADB_COLLATIONS)
    if charset is None or collation is None:
        return f"{text} /* collation {body.collation} */"
    return f"_{charset} {text} COLLATE `{collation}`"


# No collation of MySQL has this number or a higher one.
_MARIADB_COLLATIONS = 576


def _load(session: SessionText, event: Event, body: LoadEvent) -> Description:
    del session, event
    return f"Load\tthread_id={body.thread_id}\texec_time={body.exec_time}", [load_info(body), END]


def _create_file(session: SessionText, event: Event, body: CreateFileEvent) -> Description:
    del session, event
    table = quoted_name(body.schema, body.table).translate(ESCAPES)
    summary = f"Create_file: file_id: {body.file_id}  block_len: {len(body.block)}"
    return summary, [f"# LOAD DATA INFILE {quoted_text(body.file_name)} INTO TABLE {table}"]


def _block(
    session: SessionText, event: Event, body: AppendBlockEvent | BeginLoadQueryEvent
) -> Description:
    del session, event
    name = "Append_block" if isinstance(body, AppendBlockEvent) else "Begin_load_query"
    return f"{name}: file_id: {body.file_id}  block_len: {len(body.block)}", []


def _file(session: SessionText, event: Event, body: ExecLoadEvent | DeleteFileEvent) -> Description:
    del session, event
    name = "Exec_load" if isinstance(body, ExecLoadEvent) else "Delete_file"
    return f"{name}: file_id: {body.file_id}", []


STATEMENTS: dict[type, Callable[[SessionText, Event, Any], Description]] = {
    AnnotateRowsEvent: _annotate,
    AppendBlockEvent: _block,
    BeginLoadQueryEvent: _block,
    CreateFileEvent: _create_file,
    DeleteFileEvent: _file,
    ExecLoadEvent: _file,
    IntvarEvent: _intvar,
    LoadEvent: _load,
    RandEvent: _rand,
    RowsQueryEvent: _rows_query,
    UserVarEvent: _user_var,
}

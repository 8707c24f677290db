"""An event becomes its text in the column Info of SHOW BINLOG EVENTS, the servers' `pack_info`.

The texts differ between servers, and a few between releases: `ServerRelease` says which apply.
A byte that is not UTF-8 becomes a lone surrogate, as `surrogateescape` makes it.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
https://mariadb.com/kb/en/show-binlog-events/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.control import IgnorableEvent, IncidentEvent, RotateEvent, SlaveEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.group_replication import TransactionContextEvent, ViewChangeEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.events.mariadb import (
    FL_COMMIT_ALTER_E1,
    FL_ROLLBACK_ALTER_E1,
    FL_START_ALTER_E1,
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_head import STMT_END_F
from connector.binlog.events.statement import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.events.xa import XaPrepareEvent
from connector.dump.events.event_type_text import event_type_text
from connector.dump.events.statement_info import (
    create_file_info,
    execute_load_query_info,
    intvar_info,
    load_info,
    query_info,
    rand_info,
    text_of,
    user_var_info,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.framing.header import EventHeader
    from connector.dump.events.server_release import ServerRelease

# What would end a line or a column, or steer a terminal.
ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
)

# Before this release MySQL shows only the flag for the end of the statement in a rows event.
_MORE_ROWS_FLAGS = (9, 6, 0)

ROWS_FLAGS = {
    STMT_END_F: "STMT_END_F",
    0x0002: "NO_FOREIGN_KEY_CHECKS_F",
    0x0004: "RELAXED_UNIQUE_CHECKS_F",
    0x0008: "COMPLETE_ROWS_F",
    0x0010: "USE_SQL_FOREIGN_KEY_F",
}

# From this release on MariaDB sorts the entries of a GTID_LIST_EVENT.
_SORTED_GTID_LIST = (10, 8, 0)


def event_info(body: object, header: EventHeader, server: ServerRelease) -> str:
    """Return the text that `server` shows for an event; empty if it shows none."""
    info = _INFO.get(type(body))
    return "" if info is None else info(body, header, server)


def _start(body: StartEventV3 | FormatDescriptionEvent) -> str:
    return f"Server ver: {body.server_version}, Binlog ver: {body.binlog_version}"


def _incident(body: IncidentEvent) -> str:
    # The server shows the message if it is empty: the test in its code is inverted.
    return f"#{body.incident} ({body.name})" + ("" if body.message else ": ")


def _ignorable(header: EventHeader, server: ServerRelease) -> str:
    if server.mariadb:
        name = event_type_text(header.type_code, server)
        return f"# Ignorable event type {header.type_code} ({name})"
    return "# Unrecognized ignorable event"


def _rows(body: RowsEvent, server: ServerRelease) -> str:
    return f"table_id: {body.table_map.table_id}{rows_flags(body.flags, server)}"


def rows_flags(flags: int, server: ServerRelease) -> str:
    """Return what `server` shows of the flags of a rows event, after its table id."""
    shown = flags
    if server.mariadb or server.version < _MORE_ROWS_FLAGS:
        shown &= STMT_END_F
    names = "".join(f" {name}" for flag, name in ROWS_FLAGS.items() if shown & flag)
    return f" flags:{names}" if names else ""


def _gtid(gtid: object) -> str:
    return f"SET @@SESSION.GTID_NEXT= '{gtid}'"


def _mariadb_gtid(body: MariadbGtidEvent) -> str:
    begin = "" if body.standalone else "XA START " if body.prepared_xa else "BEGIN "
    xid = f"{body.xid} " if body.prepared_xa else ""
    commit_id = "" if body.commit_id is None else f" cid={body.commit_id}"
    alter = "".join(
        f" {verb} ALTER" + ("" if flag == FL_START_ALTER_E1 else f" id={body.sa_seq_no}")
        for flag, verb in _ALTERS.items()
        if body.flags_extra & flag
    )
    return f"{begin}{xid}GTID {body.gtid}{commit_id}{alter}"


_ALTERS = {
    FL_START_ALTER_E1: "START",
    FL_COMMIT_ALTER_E1: "COMMIT",
    FL_ROLLBACK_ALTER_E1: "ROLLBACK",
}


def _gtid_list(body: MariadbGtidListEvent, server: ServerRelease) -> str:
    gtids = body.gtids
    if server.version >= _SORTED_GTID_LIST:
        gtids = sorted(gtids, key=lambda gtid: (gtid.domain_id, gtid.sequence))
    return f"[{','.join(map(str, gtids))}]"


def _xa_prepare(body: XaPrepareEvent) -> str:
    return f"XA COMMIT {body.xid} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xid}"


def _payload(body: TransactionPayloadEvent) -> str:
    return (
        f"compression='{body.compression.name}', decompressed_size={body.uncompressed_size} bytes"
    )


def _block(body: AppendBlockEvent | BeginLoadQueryEvent) -> str:
    return f";file_id={body.file_id};block_len={len(body.block)}"


def _slave(body: SlaveEvent) -> str:
    return (
        f"host={body.master_host},port={body.master_port},log={body.master_log},"
        f"pos={body.master_pos}"
    )


# The class of the body decides the type of the first argument.
_INFO: dict[type, Callable[[Any, EventHeader, ServerRelease], str]] = {
    StartEventV3: lambda body, _, __: _start(body),
    FormatDescriptionEvent: lambda body, _, __: _start(body),
    QueryEvent: lambda body, header, server: query_info(body, header.flags, server),
    ExecuteLoadQueryEvent: lambda body, _, __: execute_load_query_info(body),
    RotateEvent: lambda body, _, __: f"{body.next_file};pos={body.next_position}",
    IntvarEvent: lambda body, _, __: intvar_info(body),
    RandEvent: lambda body, _, server: rand_info(body, server),
    UserVarEvent: lambda body, _, server: user_var_info(body, server),
    LoadEvent: lambda body, _, __: load_info(body),
    SlaveEvent: lambda body, _, __: _slave(body),
    CreateFileEvent: lambda body, _, __: create_file_info(body),
    AppendBlockEvent: lambda body, _, __: _block(body),
    BeginLoadQueryEvent: lambda body, _, __: _block(body),
    ExecLoadEvent: lambda body, _, __: f";file_id={body.file_id}",
    DeleteFileEvent: lambda body, _, __: f";file_id={body.file_id}",
    IncidentEvent: lambda body, _, __: _incident(body),
    IgnorableEvent: lambda _, header, server: _ignorable(header, server),
    RowsQueryEvent: lambda body, _, __: f"# {text_of(body.query_bytes)}",
    TableMapEvent: lambda body, _, __: f"table_id: {body.table_id} ({body.schema}.{body.table})",
    RowsEvent: lambda body, _, server: _rows(body, server),
    GtidEvent: lambda body, _, __: _gtid(body.gtid),
    GtidTaggedEvent: lambda body, _, __: _gtid(body.gtid),
    AnonymousGtidEvent: lambda _, __, ___: _gtid("ANONYMOUS"),
    PreviousGtidsEvent: lambda body, _, __: str(body.gtid_set).replace(",", ",\n"),
    XidEvent: lambda body, _, __: f"COMMIT /* xid={body.xid} */",
    XaPrepareEvent: lambda body, _, __: _xa_prepare(body),
    TransactionContextEvent: lambda body, _, __: (
        f"server_uuid={body.server_uuid}\tthread_id={body.thread_id}"
    ),
    ViewChangeEvent: lambda body, _, __: f"view_id={body.view_id}",
    TransactionPayloadEvent: lambda body, _, __: _payload(body),
    AnnotateRowsEvent: lambda body, _, __: text_of(body.query_bytes),
    BinlogCheckpointEvent: lambda body, _, __: body.file,
    MariadbGtidEvent: lambda body, _, __: _mariadb_gtid(body),
    MariadbGtidListEvent: lambda body, _, server: _gtid_list(body, server),
}

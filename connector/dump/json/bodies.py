"""The body of an event becomes an object of JSON: the event's fields, in snake case.

Other modules write rows events and compressed transactions, because these may be large. A field
that the server did not write is left out. Bytes that are not text are `{"hex":"…"}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.control import (
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StopEvent,
)
from connector.binlog.events.encryption import StartEncryptionEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.group_replication import TransactionContextEvent, ViewChangeEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.heartbeat import HeartbeatEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.events.mariadb import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.statement import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    CommitFacts,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.events.xa import XaPrepareEvent
from connector.dump.json.statements import (
    Fields,
    create_file_fields,
    execute_load_query_fields,
    load_fields,
    query_fields,
    statement_fields,
    text_or_hex,
    user_var_fields,
)
from connector.dump.json.values import hexadecimal

if TYPE_CHECKING:
    from collections.abc import Callable


def body_fields(body: object, *, mariadb: bool) -> Fields:
    """Return the fields of an event that is neither rows nor a compressed transaction."""
    return _FIELDS[type(body)](body, mariadb)


def _told(**values: object) -> Fields:
    return {name: value for name, value in values.items() if value is not None}


def _start(body: StartEventV3) -> Fields:
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
    }


def _format(body: FormatDescriptionEvent) -> Fields:
    algorithm = body.checksum_algorithm
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
        "header_length": body.header_length,
        "post_header_lengths": list(body.post_header_lengths),
        "checksum_algorithm": None if algorithm is None else algorithm.name,
    }


def _block(body: AppendBlockEvent | BeginLoadQueryEvent) -> Fields:
    return {"file_id": body.file_id, "length": len(body.block)}


def _file_id(body: ExecLoadEvent | DeleteFileEvent) -> Fields:
    return {"file_id": body.file_id}


def _slave(body: SlaveEvent) -> Fields:
    return {
        "master_host": body.master_host,
        "master_port": body.master_port,
        "master_log": body.master_log,
        "master_pos": body.master_pos,
    }


def _gtid(gtid: object, facts: CommitFacts) -> Fields:
    return {"gtid": str(gtid), "flags": facts.flags} | _told(
        last_committed=facts.last_committed,
        sequence_number=facts.sequence_number,
        original_commit_timestamp=facts.original_commit_timestamp,
        immediate_commit_timestamp=facts.immediate_commit_timestamp,
        transaction_length=facts.transaction_length,
        original_server_version=facts.original_server_version,
        immediate_server_version=facts.immediate_server_version,
        commit_group_ticket=facts.commit_group_ticket,
    )


def _mariadb_gtid(body: MariadbGtidEvent) -> Fields:
    return {"gtid": str(body.gtid), "flags": body.flags} | _told(
        commit_id=body.commit_id,
        xid=None if body.xid is None else str(body.xid),
        flags_extra=body.flags_extra or None,
        extra_engines=body.extra_engines,
        sa_seq_no=body.sa_seq_no,
        thread_id=body.thread_id,
    )


def _transaction_context(body: TransactionContextEvent) -> Fields:
    return {
        "server_uuid": body.server_uuid,
        "thread_id": body.thread_id,
        "gtid_specified": body.gtid_specified,
        "snapshot_version": str(body.snapshot_version),
        "write_set": [text_or_hex(item) for item in body.write_set],
        "read_set": [text_or_hex(item) for item in body.read_set],
    }


def _view_change(body: ViewChangeEvent) -> Fields:
    return {
        "view_id": body.view_id,
        "sequence_number": body.sequence_number,
        "certification_info": [
            {"key": text_or_hex(key), "value": hexadecimal(value)}
            for key, value in body.certification_info
        ],
    }


def _start_encryption(body: StartEncryptionEvent) -> Fields:
    return {
        "scheme": body.scheme,
        "key_version": body.key_version,
        "nonce": hexadecimal(body.nonce),
    }


# The class of the body decides the type of the first argument; the second is whether MariaDB wrote
# the log.
_FIELDS: dict[type, Callable[[Any, bool], Fields]] = {
    StartEventV3: lambda body, _: _start(body),
    FormatDescriptionEvent: lambda body, _: _format(body),
    QueryEvent: lambda body, _: query_fields(body),
    ExecuteLoadQueryEvent: lambda body, _: execute_load_query_fields(body),
    StopEvent: lambda _, __: {},
    RotateEvent: lambda body, _: {"file": body.next_file, "position": body.next_position},
    HeartbeatEvent: lambda body, _: {"file": body.file, "position": body.position},
    XidEvent: lambda body, _: {"xid": body.xid},
    IntvarEvent: lambda body, _: {"name": body.name, "value": body.value},
    RandEvent: lambda body, _: {"seed1": body.seed1, "seed2": body.seed2},
    UserVarEvent: lambda body, mariadb: user_var_fields(body, mariadb=mariadb),
    RowsQueryEvent: lambda body, _: statement_fields(body.query, body.query_bytes),
    AnnotateRowsEvent: lambda body, _: statement_fields(body.query, body.query_bytes),
    LoadEvent: lambda body, _: load_fields(body),
    CreateFileEvent: lambda body, _: create_file_fields(body),
    AppendBlockEvent: lambda body, _: _block(body),
    BeginLoadQueryEvent: lambda body, _: _block(body),
    ExecLoadEvent: lambda body, _: _file_id(body),
    DeleteFileEvent: lambda body, _: _file_id(body),
    SlaveEvent: lambda body, _: _slave(body),
    IncidentEvent: lambda body, _: (
        {"incident": body.incident, "message": body.message}
        | _told(cached_checksum=body.cached_checksum)
    ),
    IgnorableEvent: lambda body, _: {"data": hexadecimal(body.data)},
    GtidEvent: lambda body, _: _gtid(body.gtid, body),
    GtidTaggedEvent: lambda body, _: _gtid(body.gtid, body),
    AnonymousGtidEvent: lambda body, _: _gtid("ANONYMOUS", body),
    PreviousGtidsEvent: lambda body, _: {"gtid_set": str(body.gtid_set)},
    XaPrepareEvent: lambda body, _: {"xid": str(body.xid), "one_phase": body.one_phase},
    TransactionContextEvent: lambda body, _: _transaction_context(body),
    ViewChangeEvent: lambda body, _: _view_change(body),
    MariadbGtidEvent: lambda body, _: _mariadb_gtid(body),
    MariadbGtidListEvent: lambda body, _: {
        "gtids": [str(gtid) for gtid in body.gtids],
        "flags": body.flags,
    },
    BinlogCheckpointEvent: lambda body, _: {"file": body.file},
    StartEncryptionEvent: lambda body, _: _start_encryption(body),
}

r"""The body of an event becomes an object of JSON: the event's fields, in snake case.

Rows events and compressed transactions are written elsewhere, as they may be large. A field that
the server did not write is left out. Bytes that are not text are `{"hex":"…"}`. A statement always
has a text, with `\xNN` for a byte that is not of its character set, and then `query_hex` as well.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from connector.binlog.character_sets import character_decoder
from connector.binlog.collation_names import collation_name
from connector.binlog.collations import charset_of
from connector.binlog.context_events import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.control_events import (
    FormatDescriptionEvent,
    HeartbeatEvent,
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StartEventV3,
    StopEvent,
)
from connector.binlog.encryption_event import StartEncryptionEvent
from connector.binlog.group_replication_events import TransactionContextEvent, ViewChangeEvent
from connector.binlog.gtid_tagged_event import GtidTaggedEvent
from connector.binlog.load_events import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.mariadb_events import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.statement_events import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.status_variables import StatusVariables
from connector.binlog.transaction_events import (
    AnonymousGtidEvent,
    CommitFacts,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.xa_event import XaPrepareEvent
from connector.dump.json_values import hexadecimal
from connector.dump.statement_info import number_text
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

_Fields = dict[str, Any]

_UTF8 = "utf8mb4"

# All but the bytes as logged.
_VARIABLES = tuple(
    field.name for field in fields(StatusVariables) if field.name not in ("unknown", "data")
)


def body_fields(body: object, *, mariadb: bool) -> _Fields:
    """Return the fields of an event that is neither rows nor a compressed transaction."""
    return _FIELDS[type(body)](body, mariadb)


def _text(raw: bytes, charset: str = _UTF8) -> str | dict[str, str]:
    try:
        return character_decoder(charset)(raw)
    except DecodeError:
        return hexadecimal(raw)


def _told(**values: object) -> _Fields:
    return {name: value for name, value in values.items() if value is not None}


def _start(body: StartEventV3) -> _Fields:
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
    }


def _format(body: FormatDescriptionEvent) -> _Fields:
    algorithm = body.checksum_algorithm
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
        "header_length": body.header_length,
        "post_header_lengths": list(body.post_header_lengths),
        "checksum_algorithm": None if algorithm is None else algorithm.name,
    }


def _query(body: QueryEvent) -> _Fields:
    variables = body.status_variables
    charset = charset_of(variables.charset[0]) if variables.charset is not None else None
    return {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "error_code": body.error_code,
        "schema": body.schema,
        "status_vars": _status_variables(variables),
    } | _statement(body.query, body.query_bytes, charset or _UTF8)


def _statement(query: str, query_bytes: bytes, charset: str = _UTF8) -> _Fields:
    """Return a statement's text, and its bytes where the text does not tell them."""
    exact = _text(query_bytes, _UTF8 if charset == "binary" else charset)
    if isinstance(exact, str):
        return {"query": exact}
    return {"query": query, "query_hex": query_bytes.hex()}


def _status_variables(variables: StatusVariables) -> _Fields:
    """Return the variables that are there; a flag that is not set says nothing."""
    told: _Fields = {}
    for name in _VARIABLES:
        value = getattr(variables, name)
        if value is not None and value is not False:
            told[name] = value
    if variables.unknown:
        told["unknown"] = hexadecimal(variables.unknown)
    return told


def _execute_load_query(body: ExecuteLoadQueryEvent) -> _Fields:
    return _query(body) | {
        "file_id": body.file_id,
        "start_pos": body.start_pos,
        "end_pos": body.end_pos,
        "duplicate_handling": body.duplicate_handling.name,
    }


def _user_var(body: UserVarEvent, *, mariadb: bool) -> _Fields:
    value = body.value
    shown: object = value
    if isinstance(value, bytes):
        shown = hexadecimal(value)
    elif value is not None and body.type is not UserVarType.STRING:
        shown = number_text(value)
    return {
        "name": body.name,
        "value": shown,
        "type": body.type.name,
        "charset": charset_of(body.collation),
        "collation": collation_name(body.collation, mariadb=mariadb),
        "unsigned": body.unsigned,
    } | _told(data_type=body.data_type)


def _load(body: LoadEvent | CreateFileEvent) -> _Fields:
    form = body.format
    return {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "skip_lines": body.skip_lines,
        "schema": body.schema,
        "table": body.table,
        "columns": body.columns,
        "field_term": _text(form.field_term),
        "enclosed": _text(form.enclosed),
        "line_term": _text(form.line_term),
        "line_start": _text(form.line_start),
        "escaped": _text(form.escaped),
        "opt_flags": int(form.opt_flags),
        "file_name": body.file_name,
    }


def _create_file(body: CreateFileEvent) -> _Fields:
    return _load(body) | {"file_id": body.file_id, "length": len(body.block)}


def _block(body: AppendBlockEvent | BeginLoadQueryEvent) -> _Fields:
    return {"file_id": body.file_id, "length": len(body.block)}


def _file_id(body: ExecLoadEvent | DeleteFileEvent) -> _Fields:
    return {"file_id": body.file_id}


def _slave(body: SlaveEvent) -> _Fields:
    return {
        "master_host": body.master_host,
        "master_port": body.master_port,
        "master_log": body.master_log,
        "master_pos": body.master_pos,
    }


def _gtid(gtid: object, facts: CommitFacts) -> _Fields:
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


def _mariadb_gtid(body: MariadbGtidEvent) -> _Fields:
    return {"gtid": str(body.gtid), "flags": body.flags} | _told(
        commit_id=body.commit_id,
        xid=None if body.xid is None else str(body.xid),
        flags_extra=body.flags_extra or None,
        extra_engines=body.extra_engines,
        sa_seq_no=body.sa_seq_no,
        thread_id=body.thread_id,
    )


def _transaction_context(body: TransactionContextEvent) -> _Fields:
    return {
        "server_uuid": body.server_uuid,
        "thread_id": body.thread_id,
        "gtid_specified": body.gtid_specified,
        "snapshot_version": str(body.snapshot_version),
        "write_set": [_text(item) for item in body.write_set],
        "read_set": [_text(item) for item in body.read_set],
    }


def _view_change(body: ViewChangeEvent) -> _Fields:
    return {
        "view_id": body.view_id,
        "sequence_number": body.sequence_number,
        "certification_info": [
            {"key": _text(key), "value": hexadecimal(value)}
            for key, value in body.certification_info
        ],
    }


def _start_encryption(body: StartEncryptionEvent) -> _Fields:
    return {
        "scheme": body.scheme,
        "key_version": body.key_version,
        "nonce": hexadecimal(body.nonce),
    }


# The class of the body decides the type of the first argument; the second is whether MariaDB wrote
# the log.
_FIELDS: dict[type, Callable[[Any, bool], _Fields]] = {
    StartEventV3: lambda body, _: _start(body),
    FormatDescriptionEvent: lambda body, _: _format(body),
    QueryEvent: lambda body, _: _query(body),
    ExecuteLoadQueryEvent: lambda body, _: _execute_load_query(body),
    StopEvent: lambda _, __: {},
    RotateEvent: lambda body, _: {"file": body.next_file, "position": body.next_position},
    HeartbeatEvent: lambda body, _: {"file": body.file, "position": body.position},
    XidEvent: lambda body, _: {"xid": body.xid},
    IntvarEvent: lambda body, _: {"name": body.name, "value": body.value},
    RandEvent: lambda body, _: {"seed1": body.seed1, "seed2": body.seed2},
    UserVarEvent: lambda body, mariadb: _user_var(body, mariadb=mariadb),
    RowsQueryEvent: lambda body, _: _statement(body.query, body.query_bytes),
    AnnotateRowsEvent: lambda body, _: _statement(body.query, body.query_bytes),
    LoadEvent: lambda body, _: _load(body),
    CreateFileEvent: lambda body, _: _create_file(body),
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

"""The body of an event becomes an object of JSON: the event's fields, in snake case.

Other modules write rows events and compressed transactions, because these may be large. A field
that the server did not write is left out. Bytes that are not text are `{"hex":"…"}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.binlog.events import (
    context,
    control,
    encryption,
    format_description,
    group_replication,
    gtid_tagged,
    heartbeat,
    load,
    mariadb,
    statement,
    transaction,
    xa,
)
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


def _start(body: format_description.StartEventV3) -> Fields:
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
    }


def _format(body: format_description.FormatDescriptionEvent) -> Fields:
    algorithm = body.checksum_algorithm
    return {
        "binlog_version": body.binlog_version,
        "server_version": body.server_version,
        "create_timestamp": body.create_timestamp,
        "header_length": body.header_length,
        "post_header_lengths": list(body.post_header_lengths),
        "checksum_algorithm": None if algorithm is None else algorithm.name,
    }


def _block(body: load.AppendBlockEvent | load.BeginLoadQueryEvent) -> Fields:
    return {"file_id": body.file_id, "length": len(body.block)}


def _file_id(body: load.ExecLoadEvent | load.DeleteFileEvent) -> Fields:
    return {"file_id": body.file_id}


def _slave(body: control.SlaveEvent) -> Fields:
    return {
        "master_host": body.master_host,
        "master_port": body.master_port,
        "master_log": body.master_log,
        "master_pos": body.master_pos,
    }


def _gtid(gtid: object, facts: transaction.CommitFacts) -> Fields:
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


def _mariadb_gtid(body: mariadb.MariadbGtidEvent) -> Fields:
    return {"gtid": str(body.gtid), "flags": body.flags} | _told(
        commit_id=body.commit_id,
        xid=None if body.xid is None else str(body.xid),
        flags_extra=body.flags_extra or None,
        extra_engines=body.extra_engines,
        sa_seq_no=body.sa_seq_no,
        thread_id=body.thread_id,
    )


def _transaction_context(body: group_replication.TransactionContextEvent) -> Fields:
    return {
        "server_uuid": body.server_uuid,
        "thread_id": body.thread_id,
        "gtid_specified": body.gtid_specified,
        "snapshot_version": str(body.snapshot_version),
        "write_set": [text_or_hex(item) for item in body.write_set],
        "read_set": [text_or_hex(item) for item in body.read_set],
    }


def _view_change(body: group_replication.ViewChangeEvent) -> Fields:
    return {
        "view_id": body.view_id,
        "sequence_number": body.sequence_number,
        "certification_info": [
            {"key": text_or_hex(key), "value": hexadecimal(value)}
            for key, value in body.certification_info
        ],
    }


def _start_encryption(body: encryption.StartEncryptionEvent) -> Fields:
    return {
        "scheme": body.scheme,
        "key_version": body.key_version,
        "nonce": hexadecimal(body.nonce),
    }


# The class of the body decides the type of the first argument; the second is whether MariaDB wrote
# the log.
_FIELDS: dict[type, Callable[[Any, bool], Fields]] = {
    format_description.StartEventV3: lambda body, _: _start(body),
    format_description.FormatDescriptionEvent: lambda body, _: _format(body),
    statement.QueryEvent: lambda body, _: query_fields(body),
    statement.ExecuteLoadQueryEvent: lambda body, _: execute_load_query_fields(body),
    control.StopEvent: lambda _, __: {},
    control.RotateEvent: lambda body, _: {"file": body.next_file, "position": body.next_position},
    heartbeat.HeartbeatEvent: lambda body, _: {"file": body.file, "position": body.position},
    transaction.XidEvent: lambda body, _: {"xid": body.xid},
    context.IntvarEvent: lambda body, _: {"name": body.name, "value": body.value},
    context.RandEvent: lambda body, _: {"seed1": body.seed1, "seed2": body.seed2},
    context.UserVarEvent: lambda body, by_mariadb: user_var_fields(body, mariadb=by_mariadb),
    statement.RowsQueryEvent: lambda body, _: statement_fields(body.query, body.query_bytes),
    mariadb.AnnotateRowsEvent: lambda body, _: statement_fields(body.query, body.query_bytes),
    load.LoadEvent: lambda body, _: load_fields(body),
    load.CreateFileEvent: lambda body, _: create_file_fields(body),
    load.AppendBlockEvent: lambda body, _: _block(body),
    load.BeginLoadQueryEvent: lambda body, _: _block(body),
    load.ExecLoadEvent: lambda body, _: _file_id(body),
    load.DeleteFileEvent: lambda body, _: _file_id(body),
    control.SlaveEvent: lambda body, _: _slave(body),
    control.IncidentEvent: lambda body, _: (
        {"incident": body.incident, "message": body.message}
        | _told(cached_checksum=body.cached_checksum)
    ),
    control.IgnorableEvent: lambda body, _: {"data": hexadecimal(body.data)},
    transaction.GtidEvent: lambda body, _: _gtid(body.gtid, body),
    gtid_tagged.GtidTaggedEvent: lambda body, _: _gtid(body.gtid, body),
    transaction.AnonymousGtidEvent: lambda body, _: _gtid("ANONYMOUS", body),
    transaction.PreviousGtidsEvent: lambda body, _: {"gtid_set": str(body.gtid_set)},
    xa.XaPrepareEvent: lambda body, _: {"xid": str(body.xid), "one_phase": body.one_phase},
    group_replication.TransactionContextEvent: lambda body, _: _transaction_context(body),
    group_replication.ViewChangeEvent: lambda body, _: _view_change(body),
    mariadb.MariadbGtidEvent: lambda body, _: _mariadb_gtid(body),
    mariadb.MariadbGtidListEvent: lambda body, _: {
        "gtids": [str(gtid) for gtid in body.gtids],
        "flags": body.flags,
    },
    mariadb.BinlogCheckpointEvent: lambda body, _: {"file": body.file},
    encryption.StartEncryptionEvent: lambda body, _: _start_encryption(body),
}

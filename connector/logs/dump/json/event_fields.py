"""The fields of an event as an object of JSON, in snake case.

Rows events and compressed transactions are not here, because these may be large. A field that the
server did not write is left out. Bytes that are not text are `{"hex":"…"}`. A statement always has
a text: a byte outside of its character set becomes a hexadecimal escape, and then the object also
has `query_hex`.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from connector.binlog.character_sets import character_decoder, charset_of, collation_name
from connector.binlog.events import (
    context,
    control,
    format_description,
    gtid_tagged,
    load,
    mariadb,
    query,
    transaction,
)
from connector.binlog.events.status_variables import StatusVariables
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.table_facts import hexadecimal
from connector.logs.event_info import number_text

Fields = dict[str, Any]

_UTF8 = "utf8mb4"

# All but the bytes as logged.
_VARIABLES = tuple(
    field.name for field in fields(StatusVariables) if field.name not in ("unknown", "data")
)


def _text_or_hex(raw: bytes, charset: str = _UTF8) -> str | dict[str, str]:
    """Return bytes as text of their character set, else as `{"hex":"…"}`."""
    try:
        return character_decoder(charset, exact=True)(raw)
    except DecodeError:
        return hexadecimal(raw)


def _query(body: query.QueryEvent) -> Fields:
    variables = body.status_variables
    charset = query.client_charset(variables)
    fields: Fields = {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "error_code": body.error_code,
        "schema": body.schema,
        "status_vars": _status_variables(variables),
    }
    return fields | _statement(body.query, body.query_bytes, charset or _UTF8)


def _statement(text: str, raw: bytes, charset: str = _UTF8) -> Fields:
    """Return a statement's text, and its bytes if the text does not determine them."""
    exact = _text_or_hex(raw, _UTF8 if charset == "binary" else charset)
    if isinstance(exact, str):
        return {"query": exact}
    return {"query": text, "query_hex": raw.hex()}


def _status_variables(variables: StatusVariables) -> Fields:
    """Return the variables that are present; flags that are not set are left out."""
    fields: Fields = {}
    for name in _VARIABLES:
        value = getattr(variables, name)
        if value is not None and value is not False:
            fields[name] = value
    if variables.unknown:
        fields["unknown"] = hexadecimal(variables.unknown)
    return fields


def _execute_load_query(body: query.ExecuteLoadQueryEvent) -> Fields:
    return _query(body) | {
        "file_id": body.file_id,
        "start_pos": body.start_pos,
        "end_pos": body.end_pos,
        "duplicate_handling": body.duplicate_handling.name,
    }


def _user_var(body: context.UserVarEvent, *, mariadb: bool) -> Fields:
    """Return the fields of a USER_VAR_EVENT, with the server's name of the collation."""
    value = body.value
    text: object = value
    if isinstance(value, bytes):
        text = hexadecimal(value)
    elif value is not None and body.type is not context.UserVarType.STRING:
        text = number_text(value)
    fields: Fields = {
        "name": body.name,
        "value": text,
        "type": body.type.name,
        "charset": charset_of(body.collation, mariadb=mariadb),
        "collation": collation_name(body.collation, mariadb=mariadb),
        "unsigned": body.unsigned,
    }
    if body.data_type is not None:
        fields["data_type"] = body.data_type
    return fields


def _load(body: load.LoadEvent | load.CreateFileEvent) -> Fields:
    """Return the fields that LOAD_EVENT, NEW_LOAD_EVENT and CREATE_FILE_EVENT share."""
    form = body.format
    return {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "skip_lines": body.skip_lines,
        "schema": body.schema,
        "table": body.table,
        "columns": body.columns,
        "field_term": _text_or_hex(form.field_term),
        "enclosed": _text_or_hex(form.enclosed),
        "line_term": _text_or_hex(form.line_term),
        "line_start": _text_or_hex(form.line_start),
        "escaped": _text_or_hex(form.escaped),
        "opt_flags": int(form.opt_flags),
        "file_name": body.file_name,
    }


def body_fields(body: object, *, mariadb: bool) -> Fields:
    """Return the fields of an event that is neither rows nor a compressed transaction."""
    return _FIELDS[type(body)](body, mariadb)


def _present_fields(**values: object) -> Fields:
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


def _block(body: load.AppendBlockEvent | load.BeginLoadQueryEvent | load.CreateFileEvent) -> Fields:
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


def _gtid(gtid: object, facts: transaction.CommitInfo) -> Fields:
    return {"gtid": str(gtid), "flags": facts.flags} | _present_fields(
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
    return {"gtid": str(body.gtid), "flags": body.flags} | _present_fields(
        commit_id=body.commit_id,
        xid=None if body.xid is None else str(body.xid),
        flags_extra=body.flags_extra or None,
        extra_engines=body.extra_engines,
        sa_seq_no=body.sa_seq_no,
        thread_id=body.thread_id,
    )


def _transaction_context(body: control.TransactionContextEvent) -> Fields:
    return {
        "server_uuid": body.server_uuid,
        "thread_id": body.thread_id,
        "gtid_specified": body.gtid_specified,
        "snapshot_version": str(body.snapshot_version),
        "write_set": [_text_or_hex(item) for item in body.write_set],
        "read_set": [_text_or_hex(item) for item in body.read_set],
    }


def _view_change(body: control.ViewChangeEvent) -> Fields:
    return {
        "view_id": body.view_id,
        "sequence_number": body.sequence_number,
        "certification_info": [
            {"key": _text_or_hex(key), "value": hexadecimal(value)}
            for key, value in body.certification_info
        ],
    }


def _start_encryption(body: control.StartEncryptionEvent) -> Fields:
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
    query.QueryEvent: lambda body, _: _query(body),
    query.ExecuteLoadQueryEvent: lambda body, _: _execute_load_query(body),
    control.StopEvent: lambda _, __: {},
    control.RotateEvent: lambda body, _: {"file": body.next_file, "position": body.next_position},
    control.HeartbeatEvent: lambda body, _: {"file": body.file, "position": body.position},
    transaction.XidEvent: lambda body, _: {"xid": body.xid},
    context.IntvarEvent: lambda body, _: {"name": body.name, "value": body.value},
    context.RandEvent: lambda body, _: {"seed1": body.seed1, "seed2": body.seed2},
    context.UserVarEvent: lambda body, by_mariadb: _user_var(body, mariadb=by_mariadb),
    query.RowsQueryEvent: lambda body, _: _statement(body.query, body.query_bytes),
    mariadb.AnnotateRowsEvent: lambda body, _: _statement(body.query, body.query_bytes),
    load.LoadEvent: lambda body, _: _load(body),
    load.CreateFileEvent: lambda body, _: _load(body) | _block(body),
    load.AppendBlockEvent: lambda body, _: _block(body),
    load.BeginLoadQueryEvent: lambda body, _: _block(body),
    load.ExecLoadEvent: lambda body, _: _file_id(body),
    load.DeleteFileEvent: lambda body, _: _file_id(body),
    control.SlaveEvent: lambda body, _: _slave(body),
    control.IncidentEvent: lambda body, _: (
        {"incident": body.incident, "message": body.message}
        | _present_fields(cached_checksum=body.cached_checksum)
    ),
    control.IgnorableEvent: lambda body, _: {"data": hexadecimal(body.data)},
    transaction.GtidEvent: lambda body, _: _gtid(body.gtid, body),
    gtid_tagged.GtidTaggedEvent: lambda body, _: _gtid(body.gtid, body),
    transaction.AnonymousGtidEvent: lambda body, _: _gtid("ANONYMOUS", body),
    transaction.PreviousGtidsEvent: lambda body, _: {"gtid_set": str(body.gtid_set)},
    transaction.XaPrepareEvent: lambda body, _: {"xid": str(body.xid), "one_phase": body.one_phase},
    control.TransactionContextEvent: lambda body, _: _transaction_context(body),
    control.ViewChangeEvent: lambda body, _: _view_change(body),
    mariadb.MariadbGtidEvent: lambda body, _: _mariadb_gtid(body),
    mariadb.MariadbGtidListEvent: lambda body, _: {
        "gtids": [str(gtid) for gtid in body.gtids],
        "flags": body.flags,
    },
    mariadb.BinlogCheckpointEvent: lambda body, _: {"file": body.file},
    control.StartEncryptionEvent: lambda body, _: _start_encryption(body),
}

r"""Statements and their context events become JSON objects; see `json_bodies`.

A statement always has a text. A byte outside of its character set becomes `\xNN`, and then the
object also has `query_hex`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from connector.binlog.charsets.character_sets import character_decoder
from connector.binlog.charsets.collation_names import collation_name
from connector.binlog.charsets.collations import charset_of
from connector.binlog.events.context import UserVarType
from connector.binlog.events.status_variables import StatusVariables
from connector.dump.events.statement_info import number_text
from connector.dump.json.values import hexadecimal
from connector.errors import DecodeError

if TYPE_CHECKING:
    from connector.binlog.events.context import UserVarEvent
    from connector.binlog.events.load import CreateFileEvent, LoadEvent
    from connector.binlog.events.statement import ExecuteLoadQueryEvent, QueryEvent

Fields = dict[str, Any]

_UTF8 = "utf8mb4"

# All but the bytes as logged.
_VARIABLES = tuple(
    field.name for field in fields(StatusVariables) if field.name not in ("unknown", "data")
)


def text_or_hex(raw: bytes, charset: str = _UTF8) -> str | dict[str, str]:
    """Return bytes as text of their character set, else as `{"hex":"…"}`."""
    try:
        return character_decoder(charset, exact=True)(raw)
    except DecodeError:
        return hexadecimal(raw)


def query_fields(body: QueryEvent) -> Fields:
    """Return the fields of a QUERY_EVENT."""
    variables = body.status_variables
    charset = charset_of(variables.charset[0]) if variables.charset is not None else None
    told: Fields = {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "error_code": body.error_code,
        "schema": body.schema,
        "status_vars": _status_variables(variables),
    }
    return told | statement_fields(body.query, body.query_bytes, charset or _UTF8)


def statement_fields(query: str, query_bytes: bytes, charset: str = _UTF8) -> Fields:
    """Return a statement's text, and its bytes if the text does not determine them."""
    exact = text_or_hex(query_bytes, _UTF8 if charset == "binary" else charset)
    if isinstance(exact, str):
        return {"query": exact}
    return {"query": query, "query_hex": query_bytes.hex()}


def _status_variables(variables: StatusVariables) -> Fields:
    """Return the variables that are present; flags that are not set are left out."""
    told: Fields = {}
    for name in _VARIABLES:
        value = getattr(variables, name)
        if value is not None and value is not False:
            told[name] = value
    if variables.unknown:
        told["unknown"] = hexadecimal(variables.unknown)
    return told


def execute_load_query_fields(body: ExecuteLoadQueryEvent) -> Fields:
    """Return the fields of an EXECUTE_LOAD_QUERY_EVENT."""
    return query_fields(body) | {
        "file_id": body.file_id,
        "start_pos": body.start_pos,
        "end_pos": body.end_pos,
        "duplicate_handling": body.duplicate_handling.name,
    }


def user_var_fields(body: UserVarEvent, *, mariadb: bool) -> Fields:
    """Return the fields of a USER_VAR_EVENT, with the server's name of the collation."""
    value = body.value
    shown: object = value
    if isinstance(value, bytes):
        shown = hexadecimal(value)
    elif value is not None and body.type is not UserVarType.STRING:
        shown = number_text(value)
    told: Fields = {
        "name": body.name,
        "value": shown,
        "type": body.type.name,
        "charset": charset_of(body.collation),
        "collation": collation_name(body.collation, mariadb=mariadb),
        "unsigned": body.unsigned,
    }
    if body.data_type is not None:
        told["data_type"] = body.data_type
    return told


def load_fields(body: LoadEvent | CreateFileEvent) -> Fields:
    """Return the fields that LOAD_EVENT, NEW_LOAD_EVENT and CREATE_FILE_EVENT share."""
    form = body.format
    return {
        "thread_id": body.thread_id,
        "exec_time": body.exec_time,
        "skip_lines": body.skip_lines,
        "schema": body.schema,
        "table": body.table,
        "columns": body.columns,
        "field_term": text_or_hex(form.field_term),
        "enclosed": text_or_hex(form.enclosed),
        "line_term": text_or_hex(form.line_term),
        "line_start": text_or_hex(form.line_start),
        "escaped": text_or_hex(form.escaped),
        "opt_flags": int(form.opt_flags),
        "file_name": body.file_name,
    }


def create_file_fields(body: CreateFileEvent) -> Fields:
    """Return the fields of a CREATE_FILE_EVENT."""
    return load_fields(body) | {"file_id": body.file_id, "length": len(body.block)}

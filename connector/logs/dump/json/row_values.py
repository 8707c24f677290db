"""JSON of decoded rows: the facts about each column, the rows, and the form of each value.

A column has `type`, `metadata` and `nullable`, and all further facts of the table map. The rows of
most events are written from their bytes (`table_writer`). Those here are very large, belong to a
partial update, or cannot be read.

::

    NULL                            null
    left out by the row image       {"absent":true}
    integers, YEAR, BIT             numbers
    FLOAT, DOUBLE, VECTOR           the shortest numbers that read back
    DECIMAL, dates and times        text
    characters, ENUM, SET           text; {"hex"} for bytes that are not of the character set, or
                                    not UTF-8 if the log does not name it (CHAR, VARCHAR);
                                    the number of an ENUM or SET whose labels are not known
    BINARY, BLOB, GEOMETRY          {"hex":"…"} of the stored bytes
    JSON                            the document's text; {"json_diff":[…]} for changes of it
"""

import json
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any

from connector.binlog.character_sets import collation_name
from connector.binlog.columns.column import (
    NUMERIC_TYPES,
    Absent,
    Column,
    ColumnType,
    EnumIndex,
    Geometry,
    JsonDiffs,
    Value,
    column_type_name,
)
from connector.binlog.columns.floats import float32_text
from connector.binlog.columns.optional_metadata import MetadataField
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo
from connector.binlog.events.table_map import TableMapEvent
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.cells import has_unknown_charset
from connector.logs.output import LARGE

_SRID_LENGTH = 4


def cell_encoder(column: Column) -> Callable[[Value], str]:
    """Return the function that writes a cell of `column`."""
    if column.real_type == ColumnType.FLOAT:
        return _float_cell
    return _unknown_charset_cell if has_unknown_charset(column) else _cell


def cell_pieces(encode: Callable[[Value], str], value: Value) -> Iterator[str]:
    """Yield the text that `encode`, from `cell_encoder`, returns; a large one in pieces."""
    if not isinstance(value, (str, bytes)) or len(value) <= LARGE:
        yield encode(value)
        return
    text = isinstance(value, str)
    yield '"' if text else '{"hex":"'
    for start in range(0, len(value), LARGE):
        piece = value[start : start + LARGE]
        yield encode_basestring(piece)[1:-1] if isinstance(piece, str) else piece.hex()
    yield '"' if text else '"}'


def hexadecimal(raw: bytes) -> dict[str, str]:
    """Return the form of bytes that are not text."""
    return {"hex": raw.hex()}


def _cell(value: Value) -> str:
    return _BY_TYPE[type(value)](value)


def _float_cell(value: Value) -> str:
    return float32_text(value) if isinstance(value, float) else _cell(value)


def _unknown_charset_cell(value: Value) -> str:
    if isinstance(value, bytes):
        try:
            return encode_basestring(value.decode("utf-8"))
        except UnicodeDecodeError:
            return _hex(value)
    return _cell(value)


def _hex(value: bytes) -> str:
    return f'{{"hex":"{value.hex()}"}}'


def _geometry(value: Geometry) -> str:
    return _hex(value.srid.to_bytes(_SRID_LENGTH, "little") + value.wkb)


def _vector(value: list[float]) -> str:
    return f"[{','.join(map(float32_text, value))}]"


def _diffs(value: JsonDiffs) -> str:
    diffs = ",".join(
        f'{{"op":"{diff.operation.value}","path":{encode_basestring(diff.path)},'
        f'"value":{"null" if diff.value is None else encode_basestring(diff.value)}}}'
        for diff in value.diffs
    )
    return f'{{"json_diff":[{diffs}]}}'


# The type of a value decides its form, except that a FLOAT prints like a DOUBLE otherwise.
_BY_TYPE: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    Absent: lambda _: '{"absent":true}',
    int: str,
    float: repr,
    str: encode_basestring,
    bytes: _hex,
    list: _vector,
    EnumIndex: lambda value: str(value.index),
    Geometry: _geometry,
    JsonDiffs: _diffs,
}


# Made once, because each event needs it several times.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumps(value: object) -> str:
    """Return the JSON text of a value in one line."""
    return _ENCODER.encode(value)


def columns_of(table_map: TableMapEvent, *, mariadb: bool) -> list[dict[str, Any]]:
    """Return the facts of the table map about each column."""
    if not table_map.has_metadata:
        nothing = {"metadata": None, "nullable": None}
        return [
            {"type": column_type_name(column.type_code), **nothing} for column in table_map.columns
        ]
    fields = table_map.metadata_fields
    return [_column(column, fields, mariadb=mariadb) for column in table_map.columns]


def _column(column: Column, fields: Sequence[int], *, mariadb: bool) -> dict[str, Any]:
    real_type = column.real_type
    members: dict[str, Any] = {
        "type": column_type_name(real_type),
        "metadata": column.metadata,
        "nullable": column.nullable,
    }
    if column.name is not None:
        members["name"] = column.name
    if MetadataField.SIGNEDNESS in fields and real_type in NUMERIC_TYPES:
        members["unsigned"] = column.unsigned
    if column.collation is not None:
        members["charset"] = column.charset
        members["collation"] = collation_name(column.collation, mariadb=mariadb)
    if column.labels is not None:
        members["values"] = column.labels
    if column.geometry_type is not None:
        members["geometry_type"] = column.geometry_type
    if column.dimension is not None:
        members["dimension"] = column.dimension
    if MetadataField.COLUMN_VISIBILITY in fields:
        members["visible"] = column.visible
    if MetadataField.COLUMN_NAME in fields:
        # If the names are known, the key is known, too; there may be none.
        members["primary_key"] = column.primary_key != 0
        if column.primary_key_prefix:
            members["primary_key_prefix"] = column.primary_key_prefix
    return members


def rows_body(event: RowsEvent, columns: str, *, apply_diffs: bool) -> Iterator[str]:
    """Yield the pieces of a rows event's body; large values are cut.

    `columns` is the JSON text of `columns_of`. Raises EventError for a row that cannot be read,
    before the first piece.
    """
    start = _start(event, columns)
    refused = _unreadable_reason(event)
    if refused is not None:
        yield f'{start},"refused":{dumps(refused)}}}'
        return
    encoders = [cell_encoder(column) for column in event.table_map.columns]
    rows = list(event.rows(apply_diffs=apply_diffs))
    yield f'{start},"rows":['
    separator = ""
    for row in rows:
        yield f'{separator}{{"op":"{event.kind.value}"'
        for name, values in (("before", row.before), ("after", row.after)):
            if values is not None:
                yield from _image_pieces(name, values, encoders)
        yield "}"
        separator = ","
    yield "]}"


def _image_pieces(
    name: str, values: list[Value], encoders: list[Callable[[Value], str]]
) -> Iterator[str]:
    yield f',"{name}":['
    separator = ""
    for encode, value in zip(encoders, values, strict=True):
        yield separator
        yield from cell_pieces(encode, value)
        separator = ","
    yield "]"


def _start(event: RowsEvent, columns: str) -> str:
    """Return the start of the body, before the rows."""
    table_map = event.table_map
    head: dict[str, Any] = {
        "table_id": table_map.table_id,
        "schema": table_map.schema,
        "table": table_map.table,
        "flags": event.flags,
        "stmt_end": event.stmt_end,
    }
    head.update(extra_row_info(event.extra_row_info))
    return f'{dumps(head)[:-1]},"columns":{columns}'


def _unreadable_reason(event: RowsEvent) -> str | None:
    """Return why no row of this table can be read, or None."""
    if event.refused is not None:
        return str(event.refused)
    try:
        _ = event.table_map.row_plan
    except DecodeError as error:
        return str(error)
    return None


def extra_row_info(info: ExtraRowInfo) -> dict[str, Any]:
    """Return the facts beside the rows; nothing for most events."""
    fields = {
        "ndb_format": info.ndb_format,
        "ndb_data": None if info.ndb_data is None else hexadecimal(info.ndb_data),
        "partition_id": info.partition_id,
        "source_partition_id": info.source_partition_id,
        "unknown_extra_row_info": hexadecimal(info.unknown) if info.unknown else None,
    }
    return {name: value for name, value in fields.items() if value is not None}

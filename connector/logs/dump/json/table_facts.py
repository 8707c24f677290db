"""The facts of a table map and of a rows event beside the rows, as objects of JSON.

A column has `type`, `metadata` and `nullable`, and all further facts of the table map.
"""

import json
from collections.abc import Sequence
from typing import Any

from connector.binlog.character_sets import collation_name
from connector.binlog.columns.column import NUMERIC_TYPES, Column, column_type_name
from connector.binlog.columns.optional_metadata import MetadataField
from connector.binlog.events.rows_header import ExtraRowInfo
from connector.binlog.events.table_map import TableMapEvent

# Made once, because each event needs it several times.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumps(value: object) -> str:
    """Return the JSON text of a value in one line."""
    return _ENCODER.encode(value)


def hexadecimal(raw: bytes) -> dict[str, str]:
    """Return the form of bytes that are not text."""
    return {"hex": raw.hex()}


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

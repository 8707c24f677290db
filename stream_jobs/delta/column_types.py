"""Types of Delta's schema string, and their types in Arrow.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#primitive-types
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

_PRIMITIVE: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NAMES = {kind: name for name, kind in _PRIMITIVE.items()}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class Fields:
    """The fields of nested types: their ids and physical names, in Arrow's metadata."""

    ID = "PARQUET:field_id"  # what Arrow's Parquet writer knows
    PHYSICAL = "delta.columnMapping.physicalName"
    _MAPPING_ID = "delta.columnMapping.id"

    @classmethod
    def numbered(cls, kind: pa.DataType, last_id: int) -> tuple[pa.DataType, int]:
        """Return `kind` with new ids above `last_id`, and the last of them."""
        if pa.types.is_struct(kind):
            fields = []
            for field in kind:
                last_id += 1
                metadata = cls._metadata(last_id, f"c{last_id}")
                inner, last_id = cls.numbered(field.type, last_id)
                fields.append(pa.field(field.name, inner, metadata=metadata))
            return pa.struct(fields), last_id
        if pa.types.is_list(kind):
            inner, last_id = cls.numbered(kind.value_type, last_id)
            return pa.list_(inner), last_id
        if pa.types.is_map(kind):
            key, last_id = cls.numbered(kind.key_type, last_id)
            item, last_id = cls.numbered(kind.item_type, last_id)
            return pa.map_(key, item), last_id
        return kind, last_id

    @classmethod
    def highest(cls, kind: pa.DataType) -> int:
        """Return the highest id of the fields of `kind`; 0 without fields."""
        if pa.types.is_struct(kind):
            ids = [max(int(_text(f, cls.ID)), cls.highest(f.type)) for f in kind]
            return max(ids, default=0)
        if pa.types.is_list(kind):
            return cls.highest(kind.value_type)
        if pa.types.is_map(kind):
            return max(cls.highest(kind.key_type), cls.highest(kind.item_type))
        return 0

    @classmethod
    def physical(cls, kind: pa.DataType) -> pa.DataType:
        """Return `kind` with physical names, as data files have it."""
        if pa.types.is_struct(kind):
            return pa.struct(
                [
                    pa.field(
                        _text(field, cls.PHYSICAL),
                        cls.physical(field.type),
                        metadata={cls.ID: _text(field, cls.ID)},
                    )
                    for field in kind
                ]
            )
        if pa.types.is_list(kind):
            return pa.list_(cls.physical(kind.value_type))
        if pa.types.is_map(kind):
            return pa.map_(cls.physical(kind.key_type), cls.physical(kind.item_type))
        return kind

    @classmethod
    def read(cls, fields: list[dict[str, Any]]) -> pa.DataType:
        """Return the STRUCT of fields of a schema string."""
        return pa.struct(
            [
                pa.field(
                    field["name"],
                    arrow_type(field["type"]),
                    metadata=cls._metadata(
                        field["metadata"][cls._MAPPING_ID], field["metadata"][cls.PHYSICAL]
                    ),
                )
                for field in fields
            ]
        )

    @classmethod
    def write(cls, kind: pa.StructType) -> list[dict[str, Any]]:
        """Return the fields of a STRUCT for a schema string."""
        return [
            {
                "name": field.name,
                "type": delta_type(field.type),
                "nullable": True,
                "metadata": {
                    cls._MAPPING_ID: int(_text(field, cls.ID)),
                    cls.PHYSICAL: _text(field, cls.PHYSICAL),
                },
            }
            for field in kind
        ]

    @classmethod
    def _metadata(cls, field_id: int, physical: str) -> dict[str, str]:
        return {cls.ID: str(field_id), cls.PHYSICAL: physical}


def arrow_type(kind: str | dict[str, Any]) -> pa.DataType:
    """Return the Arrow type of a type in a schema string; raises KeyError for an unknown one."""
    if isinstance(kind, str):
        if match := _DECIMAL.fullmatch(kind):
            return pa.decimal128(int(match[1]), int(match[2]))
        return _PRIMITIVE[kind]
    if kind["type"] == "struct":
        return Fields.read(kind["fields"])
    if kind["type"] == "array":
        return pa.list_(arrow_type(kind["elementType"]))
    if kind["type"] == "map":
        return pa.map_(arrow_type(kind["keyType"]), arrow_type(kind["valueType"]))
    raise KeyError(kind["type"])


def delta_type(kind: pa.DataType) -> str | dict[str, Any]:
    """Return the type of a schema string; raises KeyError for a type that Delta does not have."""
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": Fields.write(kind)}
    if pa.types.is_list(kind):
        element = delta_type(kind.value_type)
        return {"type": "array", "elementType": element, "containsNull": True}
    if pa.types.is_map(kind):
        key, value = delta_type(kind.key_type), delta_type(kind.item_type)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    return _NAMES[kind]


def _text(field: pa.Field, key: str) -> str:
    text: str = field.metadata[key.encode()].decode()
    return text

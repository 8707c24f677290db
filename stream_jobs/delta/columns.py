"""The columns of a table, their types, and the schema string that describes them in the log.

Columns are mapped by id: data files know a column by its `field_id` and its physical name. So
renaming, dropping and moving a column change metadata alone, and any name is possible. The fields
of nested types have ids and physical names, too.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#schema-serialization-format
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#primitive-types
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from stream_jobs.errors import MirrorError, delta_errors

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


class NestedFields:
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
        return NestedFields.read(kind["fields"])
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
        return {"type": "struct", "fields": NestedFields.write(kind)}
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


_ID = "delta.columnMapping.id"
_PHYSICAL = "delta.columnMapping.physicalName"


class Column(NamedTuple):
    """A column of a table.

    `metadata` has what the log has besides the id and the physical name, such as `comment`. The
    fields of a STRUCT are mapped, too: Arrow's metadata of such a field has its id and its physical
    name.
    """

    name: str
    type: pa.DataType
    field_id: int
    physical_name: str
    metadata: Mapping[str, object] = {}

    @property
    def physical_field(self) -> pa.Field:
        """The column as data files have it."""
        metadata = {NestedFields.ID: str(self.field_id)}
        return pa.field(self.physical_name, NestedFields.physical(self.type), metadata=metadata)


def new_columns(
    columns: Iterable[tuple[str, pa.DataType, Mapping[str, object]]], last_id: int = 0
) -> tuple[Column, ...]:
    """Return columns of (name, type, metadata) with new ids above `last_id`.

    The physical name is `c` and the id: short, because each statistic in the log repeats it.
    """
    made = []
    for name, kind, metadata in columns:
        last_id += 1
        own = last_id
        mapped, last_id = NestedFields.numbered(kind, own)
        made.append(Column(name, mapped, own, f"c{own}", dict(metadata)))
    return tuple(made)


def highest_id(columns: Iterable[Column]) -> int:
    """Return the highest id of columns and their fields; 0 without columns."""
    return max((max(c.field_id, NestedFields.highest(c.type)) for c in columns), default=0)


def physical_schema(columns: Iterable[Column]) -> pa.Schema:
    """Return the schema of data files."""
    return pa.schema([column.physical_field for column in columns])


def write_schema(columns: Iterable[Column]) -> str:
    """Return the schema string of `columns`."""
    fields = [
        {
            "name": column.name,
            "type": delta_type(column.type),
            "nullable": True,
            "metadata": {
                **column.metadata,
                _ID: column.field_id,
                _PHYSICAL: column.physical_name,
            },
        }
        for column in columns
    ]
    return orjson.dumps({"type": "struct", "fields": fields}).decode()


def read_schema(path: str, text: str) -> tuple[Column, ...]:
    """Return the columns of a schema string; `path` is that of the table.

    Raises MirrorError for a column without mapping or of a type that is not known.
    """
    return tuple(_read_column(path, field) for field in orjson.loads(text)["fields"])


def _read_column(path: str, field: dict[str, Any]) -> Column:
    metadata = dict(field["metadata"])
    try:
        field_id, physical = metadata.pop(_ID), metadata.pop(_PHYSICAL)
        kind = arrow_type(field["type"])
    except KeyError as error:
        raise MirrorError(
            delta_errors.COLUMN_UNKNOWN, path=path, column=field["name"], said=error
        ) from error
    return Column(field["name"], kind, field_id, physical, metadata)

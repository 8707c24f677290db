"""The columns of a table, their types, and the schema string that describes them in the log.

Columns are mapped by id: data files know a column by its `field_id` and its physical name. So
renaming, dropping and moving a column change metadata alone, and any name is possible. The fields
of a STRUCT have ids and physical names, too. The elements of an ARRAY, and the keys and values of a
MAP, have ids alone: Iceberg finds them by these. Tables of earlier versions, and columns of other
writers, have none there.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#schema-serialization-format
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#primitive-types
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#writer-requirements-for-icebergcompatv2
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
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
    # By the path of an element, a key or a value: its id. It is in the metadata of the column, or
    # of the field of a STRUCT.
    IDS = "delta.columnMapping.nested.ids"
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
        parts = []
        for part in _parts(kind):
            last_id += 1
            own = last_id
            inner, last_id = cls.numbered(part.type, own)
            parts.append(_part(part, inner, own))
        return _joined(kind, parts), last_id

    @classmethod
    def highest(cls, kind: pa.DataType) -> int:
        """Return the highest id of the fields of `kind`; 0 without fields."""
        fields = list(kind) if pa.types.is_struct(kind) else _parts(kind)
        ids = [max(cls.id_of(field) or 0, cls.highest(field.type)) for field in fields]
        return max(ids, default=0)

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
        parts = _parts(kind)
        return _joined(kind, [_part(p, cls.physical(p.type), cls.id_of(p)) for p in parts])

    @classmethod
    def id_of(cls, field: pa.Field) -> int | None:
        """Return the id of a field of a nested type; None if it has none."""
        return int(_text(field, cls.ID)) if field.metadata else None

    @classmethod
    def read(cls, fields: list[dict[str, Any]]) -> pa.DataType:
        """Return the STRUCT of fields of a schema string."""
        return pa.struct(
            [
                pa.field(
                    field["name"],
                    arrow_type(
                        field["type"],
                        field["metadata"][cls.PHYSICAL],
                        field["metadata"].get(cls.IDS, {}),
                    ),
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
                    **cls.ids(field.type, _text(field, cls.PHYSICAL)),
                },
            }
            for field in kind
        ]

    @classmethod
    def ids(cls, kind: pa.DataType, physical: str) -> dict[str, dict[str, int]]:
        """Return the entry `IDS` of the metadata of a field; nothing if no part has an id."""
        ids = dict(cls._ids(kind, physical))
        return {cls.IDS: ids} if ids else {}

    @classmethod
    def _ids(cls, kind: pa.DataType, path: str) -> Iterator[tuple[str, int]]:
        """Yield paths and ids outside of a STRUCT, whose fields have metadata of their own."""
        for part in _parts(kind):
            own, place = cls.id_of(part), f"{path}.{part.name}"
            if own is not None:
                yield place, own
            yield from cls._ids(part.type, place)

    @classmethod
    def _metadata(cls, field_id: int, physical: str) -> dict[str, str]:
        return {cls.ID: str(field_id), cls.PHYSICAL: physical}


def _parts(kind: pa.DataType) -> list[pa.Field]:
    """Return the element of an ARRAY, or the key and the value of a MAP, with Delta's names."""
    if pa.types.is_list(kind):
        return [kind.value_field.with_name("element")]
    if pa.types.is_map(kind):
        return [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
    return []


def _part(part: pa.Field, kind: pa.DataType, own: int | None) -> pa.Field:
    metadata = None if own is None else {NestedFields.ID: str(own)}
    return pa.field(part.name, kind, part.nullable, metadata)


def _joined(kind: pa.DataType, parts: list[pa.Field]) -> pa.DataType:
    """Return a type like `kind` of what `_parts` returns."""
    if pa.types.is_list(kind):
        return pa.list_(*parts)
    return pa.map_(*parts) if pa.types.is_map(kind) else kind


def arrow_type(
    kind: str | dict[str, Any], path: str, ids: Mapping[str, int] = MappingProxyType({})
) -> pa.DataType:
    """Return the Arrow type of a type in a schema string; raises KeyError for an unknown one.

    `path` begins with the physical name of the field that has the type, and `ids` are what its
    metadata has as `NestedFields.IDS`.
    """
    if isinstance(kind, str):
        if match := _DECIMAL.fullmatch(kind):
            return pa.decimal128(int(match[1]), int(match[2]))
        return _PRIMITIVE[kind]
    if kind["type"] == "struct":
        return NestedFields.read(kind["fields"])

    def part(name: str, type_key: str, *, is_nullable: bool = True) -> pa.Field:
        place = f"{path}.{name}"
        inner = arrow_type(kind[type_key], place, ids)
        return _part(pa.field(name, inner, is_nullable), inner, ids.get(place))

    if kind["type"] == "array":
        return pa.list_(part("element", "elementType"))
    if kind["type"] == "map":
        return pa.map_(part("key", "keyType", is_nullable=False), part("value", "valueType"))
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

    `metadata` has what the log has besides ids and the physical name, such as `comment`. The fields
    of a STRUCT are mapped, too: Arrow's metadata of such a field has its id and its physical name.
    """

    name: str
    type: pa.DataType
    field_id: int
    physical_name: str
    metadata: Mapping[str, object] = {}

    @property
    def physical_field(self) -> pa.Field:
        """The column as data files have it."""
        make = _nested_field if self.type.num_fields else _plain_field
        return make(self.physical_name, self.type, self.field_id)


def _nested_field(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, NestedFields.physical(kind), metadata={NestedFields.ID: str(field_id)})


# Each small file asks for those of its columns, and tables have the same ones. Nested types are
# left out: two of them are equal if only their ids differ.
_plain_field = lru_cache(4096)(_nested_field)


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
                **NestedFields.ids(column.type, column.physical_name),
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
        kind = arrow_type(field["type"], physical, metadata.pop(NestedFields.IDS, {}))
    except KeyError as error:
        raise MirrorError(
            delta_errors.COLUMN_UNKNOWN, path=path, column=field["name"], said=error
        ) from error
    return Column(field["name"], kind, field_id, physical, metadata)

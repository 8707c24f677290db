"""The columns and the partitions of a Delta table as Iceberg has them. The ids are the same.

https://iceberg.apache.org/spec/#schemas-and-data-types
https://iceberg.apache.org/spec/#appendix-a-format-specific-requirements
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import pyarrow as pa

from stream_jobs.delta.columns import Column, NestedFields, delta_type
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import iceberg_errors

# Columns that readers add to each table.
# https://iceberg.apache.org/spec/#reserved-field-ids
_RESERVED: Final = frozenset(
    {
        "_file",
        "_pos",
        "_deleted",
        "_spec_id",
        "_partition",
        "_row_id",
        "_last_updated_sequence_number",
    }
)
_NAMES: Final[dict[pa.DataType, str]] = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.int16(): "int",
    pa.int8(): "int",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.timestamp("us"): "timestamp",
}
# Ids of partition fields begin here.
FIRST_PARTITION_ID: Final = 1000


class PartitionField(NamedTuple):
    """A column that partitions the table."""

    name: str
    source_id: int  # of the column
    field_id: int  # of the partition
    kind: pa.DataType

    @property
    def avro_type(self) -> Any:
        """The type of its values in a manifest."""
        kind = self.kind
        if pa.types.is_decimal(kind):
            return {
                "type": "fixed",
                # A name stands for one type in a file.
                "name": f"decimal_{self.field_id}",
                "size": ((10**kind.precision - 1).bit_length() + 8) // 8,
                "logicalType": "decimal",
                "precision": kind.precision,
                "scale": kind.scale,
            }
        return {"type": "int", "logicalType": "date"} if pa.types.is_date(kind) else _NAMES[kind]

    def description(self) -> dict[str, Any]:
        """Return the field of a partition spec."""
        return {
            "source-id": self.source_id,
            "field-id": self.field_id,
            "name": self.name,
            "transform": "identity",
        }


def partition_fields(snapshot: Snapshot) -> tuple[PartitionField, ...]:
    """Return the columns that partition a table, in the order in which Delta partitions by them.

    Columns change their places in a table, but not in this order, so each keeps its number.
    """
    known = {column.name: column for column in snapshot.columns}
    columns = [known[name] for name in snapshot.metadata.partition_columns if name in known]
    return tuple(
        PartitionField(column.name, column.field_id, FIRST_PARTITION_ID + place, column.type)
        for place, column in enumerate(columns)
    )


def schema_fields(path: str, columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Return the fields of an Iceberg schema; `path` is that of the table.

    Raises MirrorError for a column that readers of Iceberg cannot have.
    """
    fields = []
    for column in columns:
        if column.name in _RESERVED:
            raise MirrorError(iceberg_errors.RESERVED_NAME, path=path, column=column.name)
        field = _field(path, column.name, column.name, column.field_id, column.type)
        comment = column.metadata.get("comment")
        fields.append(field | ({"doc": comment} if comment else {}))
    return fields


def _field(path: str, column: str, name: str, own: int, kind: pa.DataType) -> dict[str, Any]:
    return {"id": own, "name": name, "required": False, "type": _type(path, column, kind)}


def _type(path: str, column: str, kind: pa.DataType) -> Any:
    """Return a type of Iceberg; `path` and `column` are for errors."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_struct(kind):
        fields = [_field(path, column, f.name, NestedFields.id_of(f) or 0, f.type) for f in kind]
        return {"type": "struct", "fields": fields}
    if pa.types.is_list(kind):
        own = NestedFields.id_of(kind.value_field)
        if own is None:
            raise MirrorError(iceberg_errors.ELEMENTS_WITHOUT_ID, path=path, column=column)
        element = _type(path, column, kind.value_type)
        return {
            "type": "list",
            "element-id": own,
            "element": element,
            "element-required": False,
        }
    if kind not in _NAMES:
        said = delta_type(kind)
        name = said["type"] if isinstance(said, dict) else said
        raise MirrorError(iceberg_errors.UNFIT_TYPE, path=path, column=column, type=name)
    return _NAMES[kind]

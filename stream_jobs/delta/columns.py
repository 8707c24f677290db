"""The columns of a table, and the schema string that describes them in the log.

Columns are mapped by id: data files know a column by its `field_id` and its physical name, so
renaming, dropping and moving a column change metadata alone, and any name is possible.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#schema-serialization-format
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa

from connector.errors import MirrorError, mirror_tables
from stream_jobs.delta.column_types import Fields, arrow_type, delta_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
        metadata = {Fields.ID: str(self.field_id)}
        return pa.field(self.physical_name, Fields.physical(self.type), metadata=metadata)


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
        mapped, last_id = Fields.numbered(kind, own)
        made.append(Column(name, mapped, own, f"c{own}", dict(metadata)))
    return tuple(made)


def highest_id(columns: Iterable[Column]) -> int:
    """Return the highest id of columns and their fields; 0 without columns."""
    return max((max(c.field_id, Fields.highest(c.type)) for c in columns), default=0)


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
            mirror_tables.COLUMN_UNKNOWN, path=path, column=field["name"], said=error
        ) from error
    return Column(field["name"], kind, field_id, physical, metadata)

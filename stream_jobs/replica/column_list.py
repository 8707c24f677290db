"""The columns of a mirror as the target needs them: each with the id that Delta knows it by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from stream_jobs.schema.table_schema import OWN_PREFIX
from stream_jobs.tables.table_properties import COLUMNS_PROPERTY

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from stream_jobs.delta.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ColumnList:
    """The columns of one version, in their order."""

    columns: tuple[SchemaColumn, ...]
    ids: tuple[int, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the columns of a version of a mirror."""
        ids = {
            column.name: column.field_id
            for column in snapshot.columns
            if not column.name.startswith(OWN_PREFIX)
        }
        columns = json.loads(snapshot.configuration[COLUMNS_PROPERTY])
        kept = tuple(column for column in columns if column["name"] in ids)
        return cls(kept, tuple(ids[column["name"]] for column in kept))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what `write` returned."""
        found = json.loads(text)
        return cls(tuple(found["columns"]), tuple(found["ids"]))

    def write(self) -> str:
        """Return the list as a text."""
        return json.dumps({"columns": self.columns, "ids": self.ids}, ensure_ascii=False)

    def with_ids_of(self, other: ColumnList) -> ColumnList:
        """Return the same columns, with the ids of columns of `other` that have their names."""
        known = dict(zip(other.names, other.ids, strict=True))
        ids = (known.get(name, -place) for place, name in enumerate(self.names, 1))
        return ColumnList(self.columns, tuple(ids))

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [column["name"] for column in self.columns]

    @property
    def key(self) -> list[SchemaColumn]:
        """The columns of the primary key, in its order."""
        return sorted((c for c in self.columns if c["key"]), key=lambda column: column["key"])

    def without(self, names: frozenset[str]) -> list[SchemaColumn]:
        """Return the columns that do not have one of these names, in lower case."""
        return [column for column in self.columns if column["name"].lower() not in names]

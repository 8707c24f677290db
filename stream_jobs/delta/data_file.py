"""A data file of a table, as the actions `add` and `remove` describe it.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#add-file-and-remove-file
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from stream_jobs.delta.deletion_vectors import DeletionVector

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file, and which of its rows are dead."""

    path: str  # relative to the table, percent-encoded like in the log
    size: int  # bytes
    rows: int  # dead ones, too
    modified: int  # milliseconds since 1970
    deletion_vector: DeletionVector | None = None
    statistics: str = ""  # JSON, by physical names
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[DataFile], tuple[object, ...]]:
        """Send a file to a task: a frozen dataclass with slots would be asked for its fields."""
        return DataFile, (
            self.path,
            self.size,
            self.rows,
            self.modified,
            self.deletion_vector,
            self.statistics,
            self.partition_values,
            self.tags,
        )

    @classmethod
    def of_json(cls, action: dict[str, Any]) -> DataFile:
        """Read the action `add`; raises KeyError or ValueError if it is not one.

        A file without statistics has -1 rows: another writer need not count them.
        """
        vector = action.get("deletionVector")
        statistics = action.get("stats") or ""
        return cls(
            action["path"],
            action["size"],
            orjson.loads(statistics).get("numRecords", -1) if statistics else -1,
            action["modificationTime"],
            DeletionVector.of_json(vector) if vector else None,
            statistics,
            action.get("partitionValues") or {},
            action.get("tags") or {},
        )

    @property
    def deleted(self) -> int:
        """The number of dead rows."""
        return self.deletion_vector.cardinality if self.deletion_vector else 0

    @property
    def live(self) -> int:
        """The number of rows that readers see."""
        return self.rows - self.deleted

    @property
    def location(self) -> str:
        """The path of the file, relative to the folder of the table."""
        return location_of(self.path)

    @property
    def identity(self) -> tuple[str, str]:
        """The path and the id of the deletion vector: what a `remove` removes."""
        return self.path, self.deletion_vector.unique_id if self.deletion_vector else ""

    def bounds(self, physical_name: str) -> tuple[Any, Any] | None:
        """Return JSON values that are not above and not below any value of a column.

        None if they are not known, or if the column has no values. Dead rows count.
        """
        if not self.statistics:
            return None
        known = orjson.loads(self.statistics)
        least = (known.get("minValues") or {}).get(physical_name)
        greatest = (known.get("maxValues") or {}).get(physical_name)
        return None if least is None or greatest is None else (least, greatest)

    def with_vector(self, vector: DeletionVector) -> DataFile:
        """Return the file with more dead rows: its statistics are bounds, not exact any more."""
        text = self.statistics
        if text:
            text = orjson.dumps(orjson.loads(text) | {"tightBounds": False}).decode()
        return replace(self, deletion_vector=vector, statistics=text)

    def added(self, *, data_change: bool) -> dict[str, Any]:
        """Return the action `add`; without `data_change` it has only rows of removed files."""
        action: dict[str, Any] = {
            "path": self.path,
            "partitionValues": dict(self.partition_values),
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": data_change,
        }
        if self.statistics:
            action["stats"] = self.statistics
        if self.tags:
            action["tags"] = dict(self.tags)
        if self.deletion_vector:
            action["deletionVector"] = self.deletion_vector.to_json()
        return {"add": action}

    def removed(self, at: int, *, data_change: bool) -> dict[str, Any]:
        """Return the action `remove` at `at`, milliseconds since 1970."""
        action: dict[str, Any] = {
            "path": self.path,
            "deletionTimestamp": at,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(self.partition_values),
            "size": self.size,
        }
        if self.deletion_vector:
            action["deletionVector"] = self.deletion_vector.to_json()
        return {"remove": action}


def location_of(path: str) -> str:
    """Return the path of a file, relative to the table, that the log has percent-encoded."""
    return unquote(path)

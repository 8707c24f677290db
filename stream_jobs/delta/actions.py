"""The actions of Delta's log: `add` and `remove` of a data file, `metaData` and `protocol`.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#add-file-and-remove-file
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-metadata
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#protocol-evolution
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import orjson

from stream_jobs.delta.columns import Column, highest_id, read_schema, write_schema
from stream_jobs.delta.deletion_vectors import DeletionVector
from stream_jobs.errors import MirrorError, delta_errors


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
            # Numbers keep their digits: a DECIMAL that a float rounds is no bound any more.
            known = json.loads(text, parse_int=orjson.Fragment, parse_float=orjson.Fragment)
            text = orjson.dumps(known | {"tightBounds": False}).decode()
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


_LAST_ID = "delta.columnMapping.maxColumnId"
_PROPERTIES = {"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"}
_READER_VERSION, _WRITER_VERSION = 3, 7  # the first ones that list features by name
_READER_FEATURES = ("columnMapping", "deletionVectors", "timestampNtz")
_WRITER_FEATURES = (*_READER_FEATURES, "domainMetadata")
# The feature is a duty: vacuum checks the protocol. Clustering columns have statistics.
_READER_KNOWN = frozenset((*_READER_FEATURES, "vacuumProtocolCheck"))
_WRITER_KNOWN = _READER_KNOWN | {"domainMetadata", "clustering", "changeDataFeed"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The columns and properties of a table at one version."""

    columns: tuple[Column, ...]
    configuration: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()  # logical names
    description: str = ""
    table_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    @classmethod
    def of_json(cls, path: str, action: dict[str, Any]) -> Metadata:
        """Read the action `metaData` of the table at `path`.

        Raises MirrorError for a column that cannot be read, and KeyError for another action.
        """
        return cls(
            read_schema(path, action["schemaString"]),
            action.get("configuration") or {},
            tuple(action.get("partitionColumns") or ()),
            action.get("description") or "",
            action["id"],
            action.get("createdTime") or 0,
        )

    @property
    def last_id(self) -> int:
        """The highest id that a column of the table ever had: new ones are above it."""
        return max(int(self.configuration.get(_LAST_ID, 0)), highest_id(self.columns))

    @property
    def file_columns(self) -> tuple[Column, ...]:
        """The columns that data files have: those that do not partition the table."""
        return tuple(c for c in self.columns if c.name not in self.partition_columns)

    def with_columns(self, columns: Iterable[Column]) -> Metadata:
        """Return the same table with other columns; ids of dropped ones are never used again."""
        configuration = dict(self.configuration) | {_LAST_ID: str(self.last_id)}
        return replace(self, columns=tuple(columns), configuration=configuration)

    def with_properties(self, properties: Mapping[str, str]) -> Metadata:
        """Return the same table with properties that are added or changed."""
        return replace(self, configuration=dict(self.configuration) | dict(properties))

    def action(self) -> dict[str, Any]:
        """Return the action `metaData`."""
        configuration = dict(self.configuration) | _PROPERTIES | {_LAST_ID: str(self.last_id)}
        action = {
            "id": self.table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": write_schema(self.columns),
            "partitionColumns": list(self.partition_columns),
            "configuration": configuration,
            "createdTime": self.created,
        }
        if self.description:
            action["description"] = self.description
        return {"metaData": action}


@dataclass(frozen=True, slots=True)
class Features:
    """The action `protocol`: what a program must know that reads or writes the table."""

    reader_version: int = _READER_VERSION
    writer_version: int = _WRITER_VERSION
    reader: tuple[str, ...] = _READER_FEATURES
    writer: tuple[str, ...] = _WRITER_FEATURES

    @classmethod
    def of_json(cls, action: dict[str, Any]) -> Features:
        """Read the action `protocol`; raises KeyError if it is not one."""
        return cls(
            action["minReaderVersion"],
            action["minWriterVersion"],
            tuple(action.get("readerFeatures") or ()),
            tuple(action.get("writerFeatures") or ()),
        )

    def with_clustering(self) -> Features:
        """Return the features of a table that has clustering columns, too."""
        return replace(self, writer=(*self.writer, "clustering"))

    def with_change_data(self) -> Features:
        """Return the features of a table that has the change data feed, too."""
        return replace(self, writer=(*self.writer, "changeDataFeed"))

    def refuse_unknown(self, path: str) -> None:
        """Raise MirrorError unless this program may read and write the table at `path`."""
        versions = self.reader_version, self.writer_version
        if versions != (_READER_VERSION, _WRITER_VERSION):
            raise MirrorError(delta_errors.OTHER_PROTOCOL, path=path, versions=versions)
        unknown = (set(self.reader) - _READER_KNOWN) | (set(self.writer) - _WRITER_KNOWN)
        if unknown:
            raise MirrorError(delta_errors.FEATURES_UNKNOWN, path=path, features=sorted(unknown))

    def refuse_missing(self, path: str) -> None:
        """Raise MirrorError if the table at `path` lacks a feature that this job needs to write."""
        missing = set(_READER_FEATURES).difference(self.reader)
        missing |= set(_WRITER_FEATURES).difference(self.writer)
        if missing:
            raise MirrorError(delta_errors.FEATURES_MISSING, path=path, features=sorted(missing))

    def action(self) -> dict[str, Any]:
        """Return the action `protocol`."""
        return {
            "protocol": {
                "minReaderVersion": self.reader_version,
                "minWriterVersion": self.writer_version,
                "readerFeatures": list(self.reader),
                "writerFeatures": list(self.writer),
            }
        }

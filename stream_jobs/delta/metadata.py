"""What a table is apart from its rows: columns, properties, protocol.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-metadata
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#protocol-evolution
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from connector.errors import MirrorError, mirror_tables
from stream_jobs.delta.columns import highest_id, read_schema, write_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream_jobs.delta.columns import Column

_LAST_ID = "delta.columnMapping.maxColumnId"
_PROPERTIES = {"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"}
_READER_VERSION, _WRITER_VERSION = 3, 7  # the first ones that list features by name
_READER_FEATURES = ("columnMapping", "deletionVectors", "timestampNtz")
_WRITER_FEATURES = (*_READER_FEATURES, "domainMetadata")
# The feature is a duty: vacuum checks the protocol. Clustering columns have statistics.
_READER_KNOWN = frozenset((*_READER_FEATURES, "vacuumProtocolCheck"))
_WRITER_KNOWN = _READER_KNOWN | {"domainMetadata", "clustering"}


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

    def refuse_unknown(self, path: str) -> None:
        """Raise MirrorError unless this program may read and write the table at `path`."""
        versions = self.reader_version, self.writer_version
        if versions != (_READER_VERSION, _WRITER_VERSION):
            raise MirrorError(mirror_tables.OTHER_PROTOCOL, path=path, versions=versions)
        unknown = (set(self.reader) - _READER_KNOWN) | (set(self.writer) - _WRITER_KNOWN)
        if unknown:
            raise MirrorError(mirror_tables.FEATURES_UNKNOWN, path=path, features=sorted(unknown))

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

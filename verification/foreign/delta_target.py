"""A Delta table of any writer, at its newest version, or at one that is named.

The mirror's own reader is one of a program that also writes, so it refuses tables without column
mapping, and what a writer must know. Here, only what a reader must know counts.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#reader-version-requirements
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.delta import checkpoint, deletion_vectors
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.log import Log
from stream_jobs.delta.snapshot import SnapshotBuilder
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.table_files import reader_uri
from verification.foreign import foreign_errors
from verification.foreign.file_target import FolderTarget, Part

_KNOWN: Final = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "vacuumProtocolCheck"}
)
_PHYSICAL: Final = "delta.columnMapping.physicalName"
_TYPES: Final[Mapping[str, pa.DataType]] = {
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
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def _type(kind: Any) -> pa.DataType:
    """Return the Arrow type of a type in the log; raises KeyError for an unknown one."""
    if isinstance(kind, str):
        match = _DECIMAL.fullmatch(kind)
        return pa.decimal128(int(match[1]), int(match[2])) if match else _TYPES[kind]
    if kind["type"] == "struct":
        return pa.struct([(part["name"], _type(part["type"])) for part in kind["fields"]])
    if kind["type"] == "array":
        return pa.list_(_type(kind["elementType"]))
    return pa.map_(_type(kind["keyType"]), _type(kind["valueType"]))


@dataclass
class LogState(SnapshotBuilder):
    """The state of a table, as far as a reader needs it."""

    fields: list[tuple[str, pa.DataType]] = field(default_factory=list)
    physical: dict[str, str] = field(default_factory=dict)  # names in files, by column
    table_id: str = ""

    def apply(self, action: dict[str, Any]) -> None:
        """Add one action. Raises MirrorError for what this reader does not know."""
        if metadata := action.get("metaData"):
            self.table_id = metadata["id"]
            self._describe(orjson.loads(metadata["schemaString"])["fields"])
        elif protocol := action.get("protocol"):
            unknown = set(protocol.get("readerFeatures") or ()) - _KNOWN
            if unknown:
                facts = {"target": self.path, "features": sorted(unknown)}
                raise MirrorError(foreign_errors.FEATURES, **facts)
        elif "add" in action or "remove" in action:
            super().apply(action)

    def _describe(self, columns: list[dict[str, Any]]) -> None:
        self.fields, self.physical = [], {}
        for column in columns:
            name, metadata = column["name"], column.get("metadata") or {}
            try:
                self.fields.append((name, _type(column["type"])))
            except KeyError as error:
                facts = {"target": self.path, "features": [f"{name}: {error.args[0]}"]}
                raise MirrorError(foreign_errors.FEATURES, **facts) from error
            self.physical[name] = metadata.get(_PHYSICAL, name)


class DeltaTarget(FolderTarget):
    """A Delta table of any writer."""

    def __init__(self, name: str, path: str) -> None:
        """Look at the table at `path`; raises as `FolderTarget`."""
        super().__init__(name, path)
        self._place = path
        self._log = Log(self.storage, self.folder)
        self._state: LogState | None = None

    def refresh(self) -> str:
        """Read the newest version from now on."""
        state = self._state
        if state is None or self._log.has_checkpoint_after(state.version):
            state = self._loaded()
        while (content := self._log.read(state.version + 1)) is not None:
            state.replay(state.version + 1, content)
        return self._take(state)

    @property
    def version(self) -> str:
        """The version that is read."""
        assert self._state is not None
        return str(self._state.version)

    @property
    def table_id(self) -> str:
        """What tells this table from another one at its place."""
        assert self._state is not None
        return self._state.table_id

    @property
    def duckdb_scan(self) -> str:
        """The table function of DuckDB that reads the version."""
        uri = reader_uri(self._place).replace("'", "''")
        return f"delta_scan('{uri}', version => {self.version})"

    def read_version(self, version: str) -> str:
        """Read one version from now on; return its name.

        Raises MirrorError if the log does not go back so far.
        """
        number = int(version)
        listing = self._log.list()
        if listing.newest_version is None:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        state = self._state_of(listing.checkpoint_until(number))
        for each in range(state.version + 1, number + 1):
            state.replay(each, self._log.content(each))
        return self._take(state)

    def _take(self, state: LogState) -> str:
        """Read a state from now on; return its name."""
        self._state = state
        self.schema = pa.schema(state.fields)
        files = list(state.files.values())
        self.rows = sum(max(0, file.live) for file in files)
        self.parts = [
            Part(f"{self.folder}/{file.location}", state.physical, self._constants(file), file)
            for file in files
        ]
        return f"version {state.version}"

    def _dead(self, part: Part) -> NDArray[np.bool_] | None:
        if part.file is None or part.file.deletion_vector is None:
            return None
        places = deletion_vectors.load(self.storage, self.folder, part.file.deletion_vector)
        positions = np.asarray(places.to_array())
        dead = np.zeros(max(part.file.rows, int(positions.max(initial=-1)) + 1), np.bool_)
        dead[positions] = True
        return dead

    def _loaded(self) -> LogState:
        """Return the newest checkpoint, or the first version."""
        listing = self._log.list_newest()
        if listing.newest_version is None:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        state = self._state_of(listing.last_checkpoint)
        if listing.last_checkpoint is None:
            state.replay(0, self._log.content(0))
        return state

    def _state_of(self, parts: checkpoint.CheckpointParts | None) -> LogState:
        """Return what a checkpoint has; None: nothing, before the first version."""
        state = LogState(self.name)
        if parts is not None:
            checkpoint.read(self.storage, self.folder, parts, state)
        return state

    def _constants(self, file: DataFile) -> dict[str, pa.Scalar]:
        """Return the values of the columns by which the table is partitioned."""
        assert self._state is not None
        found = {}
        for name, kind in self._state.fields:
            physical = self._state.physical[name]
            if physical in file.partition_values:
                found[name] = _constant(file.partition_values[physical], kind)
        return found


def _constant(text: str | None, kind: pa.DataType) -> pa.Scalar:
    if not text:
        return pa.scalar(None, kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None and not text.endswith("Z"):
        return pa.scalar(text).cast(pa.timestamp("us")).cast(pa.int64()).cast(kind)
    return pa.scalar(text).cast(kind)

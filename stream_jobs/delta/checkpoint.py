"""A checkpoint: the state of a table at one version as a Parquet file, with one action per row.

`00000000000000000010.checkpoint.parquet` is one; other writers may divide it into parts. The file
`_last_checkpoint` names the newest, or an older one. The Parquet schema has a column for each
kind of action.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoints
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoint-schema
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream_jobs.delta.storage import Storage, StoredFile
from stream_jobs.errors import MirrorError, delta_errors

if TYPE_CHECKING:
    from stream_jobs.delta.snapshot import Snapshot, SnapshotBuilder


_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
ACTIONS: dict[str, pa.StructType] = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _TEXTS),
            ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", _TEXTS),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("tags", _TEXTS),
            ("deletionVector", _VECTOR),
        ]
    ),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", _TEXTS),
            ("size", pa.int64()),
            ("deletionVector", _VECTOR),
        ]
    ),
}


def decoded(column: pa.ChunkedArray) -> Iterator[dict[str, Any]]:
    """Yield the actions of a column as the JSON files of the log have them."""
    for chunk in column.chunks:
        rows = chunk.drop_null()
        names = [field.name for field in rows.type]
        # Column by column: Arrow makes a Python object of a whole STRUCT slowly.
        columns = [_values(pc.struct_field(rows, name)) for name in names]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def conform(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return `values` as `kind`: fields that are missing are NULL, others are left out."""
    if not pa.types.is_struct(kind) or values.type == kind:
        return values.cast(kind)
    present = {field.name for field in values.type}
    fields = [
        conform(pc.struct_field(values, field.name), field.type)
        if field.name in present
        else pa.nulls(len(values), field.type)
        for field in kind
    ]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values


_NAME = re.compile(r"([0-9]{20})\.checkpoint(?:\.([0-9]{10})\.([0-9]{10}))?\.parquet")


class CheckpointPart(NamedTuple):
    """A file of a checkpoint."""

    version: int
    name: str
    modified: int  # milliseconds since 1970
    parts: int  # of the checkpoint

    @classmethod
    def of_name(cls, file: StoredFile) -> CheckpointPart | None:
        """Return the part that a file of the log is; None if it is none."""
        match = _NAME.fullmatch(file.name)
        return cls(int(match[1]), file.name, file.modified, int(match[3] or 1)) if match else None


@dataclass
class CheckpointParts:
    """The files of one checkpoint, as far as they were found."""

    version: int
    found: list[CheckpointPart] = field(default_factory=list)

    def add(self, part: CheckpointPart) -> None:
        """Add a file."""
        self.found.append(part)

    @property
    def chosen(self) -> list[CheckpointPart]:
        """The files of a complete checkpoint; empty if none is complete."""
        for count in {part.parts for part in self.found}:
            parts = [part for part in self.found if part.parts == count]
            if len(parts) == count:
                return parts
        return []

    @property
    def complete(self) -> bool:
        """Whether all files are there."""
        return bool(self.chosen)

    @property
    def modified(self) -> int:
        """When the last file was written, in milliseconds since 1970."""
        return max(part.modified for part in self.found)


def read_hint(storage: Storage, table: str) -> int | None:
    """Return the version that `_last_checkpoint` names; None without a readable one."""
    content = storage.read(f"{table}/_delta_log/_last_checkpoint")
    try:
        version = orjson.loads(content)["version"] if content else None
    except (ValueError, KeyError, TypeError):
        return None
    return version if isinstance(version, int) else None


def read(storage: Storage, table: str, parts: CheckpointParts, state: SnapshotBuilder) -> None:
    """Add the actions of a checkpoint to `state`.

    Raises MirrorError if a file is missing or damaged.
    """
    for part, rows in _read_parts(storage, table, parts, [n for n in ACTIONS if n != "remove"]):
        try:
            for name in rows.column_names:
                for action in decoded(rows[name]):
                    state.apply({name: action})
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(table, part, error) from error
    state.version = state.checkpoint = parts.version


def read_removed(storage: Storage, table: str, parts: CheckpointParts) -> Iterator[pa.Array]:
    """Yield the actions `remove` of a checkpoint; raises MirrorError as `read`."""
    for _, rows in _read_parts(storage, table, parts, ["remove"]):
        for chunk in rows["remove"].chunks if "remove" in rows.column_names else ():
            yield conform(chunk.drop_null(), ACTIONS["remove"])


def write(storage: Storage, table: str, snapshot: Snapshot, removed: pa.Array) -> int:
    """Write a checkpoint of `snapshot`, and return its size in bytes.

    `removed` are the actions `remove` that readers may need. Raises MirrorError if the storage
    fails.
    """
    live = {
        "protocol": [snapshot.features.action()["protocol"]],
        "metaData": [snapshot.metadata.action()["metaData"]],
        "txn": [{"appId": a, "version": v} for a, v in snapshot.transactions.items()],
        "domainMetadata": [
            {"domain": domain, "configuration": configuration, "removed": False}
            for domain, configuration in snapshot.domains.items()
        ],
        "add": [file.added(data_change=False)["add"] for file in snapshot.files.values()],
    }
    groups = [(name, _rows(name, actions)) for name, actions in live.items()]
    groups.append(("remove", removed))
    sink = pa.BufferOutputStream()
    pq.write_table(_one_table(groups), sink, compression="zstd", store_schema=False)
    content = sink.getvalue()
    name = f"{snapshot.version:020d}.checkpoint.parquet"
    storage.write(f"{table}/_delta_log/{name}", memoryview(content))
    hint = {
        "version": snapshot.version,
        "size": sum(len(rows) for _, rows in groups),
        "sizeInBytes": content.size,
        "numOfAddFiles": len(snapshot.files),
    }
    storage.write(f"{table}/_delta_log/_last_checkpoint", orjson.dumps(hint))
    return len(content)


def removed_rows(actions: Sequence[dict[str, Any]]) -> pa.Array:
    """Return actions `remove` of commits as rows of a checkpoint."""
    return _rows("remove", actions)


def _rows(name: str, actions: Sequence[dict[str, Any]]) -> pa.Array:
    return pa.array([_encoded(action) for action in actions], ACTIONS[name])


def _one_table(groups: list[tuple[str, pa.Array]]) -> pa.Table:
    """Return a table with a column for each kind of action, and one action a row."""
    columns: dict[str, list[pa.Array]] = {name: [] for name in ACTIONS}
    for name, rows in groups:
        for other, chunks in columns.items():
            chunks.append(rows if other == name else pa.nulls(len(rows), ACTIONS[other]))
    return pa.table(
        {name: pa.chunked_array(chunks, ACTIONS[name]) for name, chunks in columns.items()}
    )


def _encoded(action: dict[str, Any]) -> dict[str, Any]:
    """Return an action with Arrow's form of maps: pairs."""
    return {
        key: _pairs(key, value) if isinstance(value, dict) else value
        for key, value in action.items()
    }


def _pairs(key: str, value: dict[str, Any]) -> Any:
    if key == "deletionVector":
        return value
    if key == "format":
        return value | {"options": list(value["options"].items())}
    return list(value.items())


def _read_parts(
    storage: Storage, table: str, parts: CheckpointParts, columns: list[str]
) -> Iterator[tuple[CheckpointPart, pa.Table]]:
    for part in parts.chosen:
        source = storage.open(f"{table}/_delta_log/{part.name}")
        if source is None:
            raise MirrorError(delta_errors.FILE_MISSING, file=f"{table}/_delta_log/{part.name}")
        try:
            # Spark writes TIMESTAMP as INT96 by default, also in statistics.
            reader = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            present = [name for name in columns if name in reader.schema_arrow.names]
            rows = reader.read(columns=present)
        except (pa.ArrowException, ValueError, OSError) as error:
            raise _damaged(table, part, error) from error
        yield part, rows


def _damaged(table: str, part: CheckpointPart, why: object) -> MirrorError:
    file = f"{table}/_delta_log/{part.name}"
    return MirrorError(delta_errors.LOG_DAMAGED, file=file, why=why)

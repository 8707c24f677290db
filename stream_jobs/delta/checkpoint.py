"""A checkpoint: the state of a table at one version as a Parquet file with one action a row.

`00000000000000000010.checkpoint.parquet` is one; other writers may divide it into parts. The file
`_last_checkpoint` names the newest, or an older one.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoints
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from connector.errors import MirrorError, mirror_tables
from stream_jobs.delta.checkpoint_schema import ACTIONS, conform, decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_jobs.delta.snapshot import Snapshot, State
    from stream_jobs.delta.storage import Storage, StoredFile

_NAME = re.compile(r"([0-9]{20})\.checkpoint(?:\.([0-9]{10})\.([0-9]{10}))?\.parquet")


class Part(NamedTuple):
    """A file of a checkpoint."""

    version: int
    name: str
    modified: int  # milliseconds since 1970
    parts: int  # of the checkpoint

    @classmethod
    def of_name(cls, file: StoredFile) -> Part | None:
        """Return the part that a file of the log is; None if it is none."""
        match = _NAME.fullmatch(file.name)
        return cls(int(match[1]), file.name, file.modified, int(match[3] or 1)) if match else None


@dataclass
class Parts:
    """The files of one checkpoint, as far as they were found."""

    version: int
    found: list[Part] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Add a file."""
        self.found.append(part)

    @property
    def chosen(self) -> list[Part]:
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


def read(storage: Storage, table: str, parts: Parts, state: State) -> None:
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


def read_removed(storage: Storage, table: str, parts: Parts) -> Iterator[pa.Array]:
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
    storage: Storage, table: str, parts: Parts, columns: list[str]
) -> Iterator[tuple[Part, pa.Table]]:
    for part in parts.chosen:
        source = storage.open(f"{table}/_delta_log/{part.name}")
        if source is None:
            raise MirrorError(mirror_tables.FILE_MISSING, file=f"{table}/_delta_log/{part.name}")
        try:
            # Spark writes TIMESTAMP as INT96 by default, also in statistics.
            reader = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            present = [name for name in columns if name in reader.schema_arrow.names]
            rows = reader.read(columns=present)
        except (pa.ArrowException, ValueError, OSError) as error:
            raise _damaged(table, part, error) from error
        yield part, rows


def _damaged(table: str, part: Part, why: object) -> MirrorError:
    file = f"{table}/_delta_log/{part.name}"
    return MirrorError(mirror_tables.LOG_DAMAGED, file=file, why=why)

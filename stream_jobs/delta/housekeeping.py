"""Checkpoints, log cleanup and vacuum of a table, and the table properties that time them.

Nothing here changes a row, and each step can be interrupted and repeated.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#metadata-cleanup
https://docs.delta.io/latest/delta-utility.html#remove-files-no-longer-referenced-by-a-delta-table
https://docs.delta.io/latest/table-properties.html
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from stream_jobs.delta import change_data, checkpoint
from stream_jobs.delta.actions import location_of
from stream_jobs.delta.deletion_vectors import DeletionVector
from stream_jobs.delta.log import Log, LogListing, now
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError, delta_errors

LOG_RETENTION = "delta.logRetentionDuration"
FILE_RETENTION = "delta.deletedFileRetentionDuration"
CHECKPOINT_INTERVAL = "delta.checkpointInterval"

_SECOND = 1000
_UNITS = {
    "millisecond": 1,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3600 * _SECOND,
    "day": 86400 * _SECOND,
    "week": 7 * 86400 * _SECOND,
}
_TERM = re.compile(r"([0-9]+) ([a-z]+?)s?")
# A file that a batch has written and not committed yet is nobody's; no batch takes an hour. And a
# writer knows the state of a table for the time of a batch, without reading the log.
_MIN = _UNITS["hour"]


class Retention(NamedTuple):
    """Times in milliseconds."""

    log: int
    files: int
    commits: int  # from one checkpoint to the next

    @property
    def versions(self) -> int:
        """How long a version can be read after the next one."""
        return min(self.log, self.files)

    @classmethod
    def of(cls, path: str, configuration: Mapping[str, str]) -> "Retention":
        """Read the properties of the table at `path`; the defaults are those of Delta.

        Raises MirrorError for a text that is not a time or a number.
        """
        return cls(
            max(_time(path, configuration, LOG_RETENTION, "interval 30 days"), _MIN),
            max(_time(path, configuration, FILE_RETENTION, "interval 1 week"), _MIN),
            _number(path, configuration, CHECKPOINT_INTERVAL, "10"),
        )


def _time(path: str, configuration: Mapping[str, str], name: str, default: str) -> int:
    text = configuration.get(name, default)
    known = _milliseconds(text)
    if known is None:
        raise MirrorError(delta_errors.PROPERTY_WRONG, path=path, name=name, value=text)
    return known


# Each table is asked after each batch, and most have the same properties.
@lru_cache
def _milliseconds(text: str) -> int | None:
    """Return the length of an interval; None if the text is none."""
    words = text.lower().removeprefix("interval").split()
    total = 0
    for start in range(0, len(words), 2):
        match = _TERM.fullmatch(" ".join(words[start : start + 2]))
        if match is None or match[2] not in _UNITS:
            return None
        total += int(match[1]) * _UNITS[match[2]]
    return total


def _number(path: str, configuration: Mapping[str, str], name: str, default: str) -> int:
    text = configuration.get(name, default)
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise MirrorError(delta_errors.PROPERTY_WRONG, path=path, name=name, value=text)
    return int(text)


# Listing all files of a table is worth it after so many checkpoints.
_CHECKPOINTS = 10
# Deleted at once; more than what is left by a thousand batches of a few files each.
_FILES_MAX = 20_000
# What LocalStorage leaves after a crash; and names that readers of Delta ignore.
_TEMPORARY = re.compile(r"(?:.*/)?\.[^/]*\.[0-9a-f]{32}\.tmp")
_HIDDEN = re.compile(r"(?:.*/)?[._][^/=]*(?:/.*)?")


class CleanupResult(NamedTuple):
    """What was deleted: files of the log, other files, and the bytes of these."""

    log_files: int
    files: int
    bytes: int


class VacuumResult(NamedTuple):
    """What was deleted."""

    files: int
    bytes: int


def is_checkpoint_due(table: DeltaTable) -> bool:
    """Return whether enough versions were committed since the last checkpoint."""
    snapshot = table.snapshot
    retention = Retention.of(table.path, snapshot.configuration)
    return snapshot.version - max(snapshot.checkpoint, 0) >= retention.commits


def clean_up(table: DeltaTable, at: int | None = None) -> CleanupResult:
    """Write a checkpoint and delete what nobody needs, when it is time.

    The retention ends `at`, milliseconds since 1970; by default, now.

    Both follow the number of commits: an idle table does not grow, and costs nothing. Raises
    MirrorError if the log is damaged, or if the storage fails.
    """
    if not is_checkpoint_due(table):
        return CleanupResult(0, 0, 0)
    commits = Retention.of(table.path, table.snapshot.configuration).commits
    before = max(table.snapshot.checkpoint, 0)
    write_checkpoint(table, at)
    period = commits * _CHECKPOINTS
    if table.snapshot.version // period == before // period:
        return CleanupResult(0, 0, 0)
    log_files = clean_log(table, at)
    return CleanupResult(log_files, *vacuum(table, _FILES_MAX, at))


def write_checkpoint(table: DeltaTable, at: int | None = None) -> None:
    """Write a checkpoint of the current version, at `at`, milliseconds since 1970.

    Raises MirrorError if the log is damaged, or if the storage fails.
    """
    snapshot = table.snapshot
    log = Log(table.storage, table.path)
    retention = Retention.of(table.path, snapshot.configuration)
    listing = log.list_newest()
    if (newest := listing.last_checkpoint) and newest.version >= snapshot.version:
        return  # another writer was faster
    since = (now() if at is None else at) - retention.files
    removed = [_unexpired(rows, since) for rows in _removed(log, listing, snapshot)]
    kept = _needed_by_vacuum(pa.concat_arrays(removed), snapshot)
    table.add_written(checkpoint.write(table.storage, table.path, snapshot, kept))
    table.snapshot = replace(snapshot, checkpoint=snapshot.version)


def clean_log(table: DeltaTable, at: int | None = None) -> int:
    """Delete commits and checkpoints that no version in the retention needs; return how many.

    The oldest version that can still be read is a checkpoint that is older than the retention.
    """
    retention = Retention.of(table.path, table.snapshot.configuration)
    log = Log(table.storage, table.path)
    since = (now() if at is None else at) - retention.log
    listing = log.list()
    old = [p.version for p in listing.checkpoints.values() if p.complete and p.modified < since]
    first = max(old, default=0)
    expired = [f"{version:020d}.json" for version in listing.commits if version < first]
    for parts in listing.checkpoints.values():
        expired += [part.name for part in parts.found if part.version < first]
    for name in sorted(expired):
        table.storage.delete(f"{table.path}/_delta_log/{name}")
    return len(expired)


def vacuum(table: DeltaTable, files_max: int, at: int | None = None) -> VacuumResult:
    """Delete at most `files_max` files that no version in the retention has.

    Raises MirrorError if the log is damaged, or if the storage fails.
    """
    snapshot = table.snapshot
    retention = Retention.of(table.path, snapshot.configuration)
    since = (now() if at is None else at) - retention.files
    log = Log(table.storage, table.path)
    listing = log.list_newest()
    needed = _live_paths(snapshot)
    for rows in _removed(log, listing, snapshot):
        needed.update(_removed_paths(_unexpired(rows, since)))
    deleted = size = 0
    for file in table.storage.list(table.path):
        if deleted == files_max:
            break
        if _is_hidden(file.name) or file.name in needed or file.modified >= since:
            continue
        table.storage.delete(f"{table.path}/{file.name}")
        deleted += 1
        size += file.size
    return VacuumResult(deleted, size)


def _is_hidden(name: str) -> bool:
    """Return whether a file is none of the table's, or one of its log."""
    own = name.startswith(change_data.FOLDER) or _TEMPORARY.fullmatch(name)
    return not own and _HIDDEN.fullmatch(name) is not None


def _removed(log: Log, listing: LogListing, snapshot: Snapshot) -> Iterator[pa.Array]:
    """Yield the actions `remove` up to `snapshot` that the log still has in its newest state."""
    start = -1
    if parts := listing.last_checkpoint:
        yield from checkpoint.read_removed(log.storage, log.path, parts)
        start = parts.version
    actions: list[dict[str, Any]] = []
    for version in range(start + 1, snapshot.version + 1):
        content = log.read(version)
        if content is None:
            raise MirrorError(delta_errors.VERSION_MISSING, path=log.path, version=version)
        lines = (line for line in content.splitlines() if b'"remove"' in line)
        actions.extend(remove for line in lines if (remove := orjson.loads(line).get("remove")))
    yield checkpoint.removed_rows(actions)


def _unexpired(removed: pa.Array, since: int) -> pa.Array:
    at = pc.struct_field(removed, "deletionTimestamp")
    return removed.filter(pc.greater_equal(at, since))


def _needed_by_vacuum(removed: pa.Array, snapshot: Snapshot) -> pa.Array:
    """Return the last action `remove` of each file that is not part of the table.

    Each batch removes the same files, to add them with more dead rows. Nothing but their `.bin`
    files have to be known, one for each batch.
    """
    removed = removed.take(pc.sort_indices(pc.struct_field(removed, "deletionTimestamp")))
    live = (file.deletion_vector for file in snapshot.files.values())
    known = {*snapshot.files, *(vector.text for vector in live if vector)}
    keep = []
    paths = pc.struct_field(removed, "path").to_pylist()
    vectors = pc.struct_field(removed, "deletionVector").to_pylist()
    for path, vector in zip(reversed(paths), reversed(vectors), strict=True):
        names = {path, vector["pathOrInlineDv"]} if _has_file(vector) else {path}
        keep.append(not names <= known)
        known |= names
    return removed.filter(pa.array(keep[::-1], pa.bool_()))


def _has_file(vector: dict[str, Any] | None) -> bool:
    return vector is not None and vector["storageType"] != "i"


def _live_paths(snapshot: Snapshot) -> set[str]:
    paths = {file.location for file in snapshot.files.values()}
    vectors = (file.deletion_vector for file in snapshot.files.values())
    return paths | {vector.path for vector in vectors if vector and vector.path}


def _removed_paths(removed: pa.Array) -> Iterator[str]:
    yield from map(location_of, pc.unique(pc.struct_field(removed, "path")).to_pylist())
    for vector in pc.struct_field(removed, "deletionVector").drop_null().to_pylist():
        if path := _vector(vector).path:
            yield path


def _vector(fields: dict[str, Any]) -> DeletionVector:
    return DeletionVector.of_json(fields)

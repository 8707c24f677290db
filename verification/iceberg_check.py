"""The Iceberg table of a mirror, by its own metadata, compared with the Delta table.

Both have the same data files. So they have the same rows if Iceberg's metadata names the same files
as the version of the Delta table that is published, with the same dead rows, columns and values of
partitions. The log of Delta says what must be there; manifests and vectors are read as readers of
Iceberg read them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import orjson
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors, parquet_file
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.log import Log, now
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import metadata
from stream_jobs.iceberg.bounds import partition_values
from stream_jobs.iceberg.manifests import LiveFile, Manifest, live_files
from stream_jobs.iceberg.puffin import vector_of
from stream_jobs.iceberg.schema import partition_fields, schema_fields
from stream_jobs.iceberg.table_files import TableFiles, TableHead
from verification.mirror_side import MirrorSide

_NOT_PUBLISHED: Final = "it is not published yet"
_OTHER_TABLE: Final = "what is published is of an earlier mirror of the table, or of another path"


class IcebergDifference(NamedTuple):
    """A row of the Delta table that readers of Iceberg miss, or one that they have besides."""

    kind: Literal["missing", "surplus"]
    key: Mapping[str, object]  # without a key: where the row is


@dataclass(slots=True)
class IcebergResult:
    """What was found in the Iceberg table of a mirror."""

    version: int | None = None
    rows: int = 0
    differences: list[IcebergDifference] = field(default_factory=list)
    has_more: bool = False
    # What is wrong with the metadata, in words.
    defects: list[str] = field(default_factory=list)
    # Why nothing was compared; "" if it was.
    note: str = ""
    # How long the next version of the Delta table has waited; 0 if that is not too long.
    late_seconds: int = 0

    @property
    def is_different(self) -> bool:
        """Whether readers of Iceberg see something else than those of Delta, or nothing."""
        return bool(self.differences or self.defects)

    @property
    def lags(self) -> bool:
        """Whether what is published is not the table as it is, or was a short time ago."""
        return bool(self.note or self.late_seconds)


def compare(
    files: TableFiles, side: MirrorSide, most: int, patience_seconds: float
) -> IcebergResult:
    """Compare the current snapshot of Iceberg with its version of the Delta table of `side`.

    At most `most` rows that differ are named. A version may wait so many seconds until it is
    published. Raises MirrorError if the storage fails, or if the Delta table cannot be read.
    """
    log, result = side.log, IcebergResult()
    try:
        head = files.load(log.path)
    except MirrorError as error:
        result.defects.append(error.text)
        return result
    version = None if head is None else metadata.current_id(head.metadata)
    generation = side.snapshot.metadata.table_id
    if head is None or version is None:
        result.note = _NOT_PUBLISHED
        return result
    if not files.is_of(log.path, head, generation):
        result.note = _OTHER_TABLE
        return result
    result.version = version
    snapshot = side.whole.snapshot
    if snapshot.version != version:
        snapshot = side.whole.log.load_version(version)
    waited = _waited_seconds(side.whole.log, version)
    result.late_seconds = round(waited) if waited > patience_seconds else 0
    _IcebergCheck(files, side, snapshot, most, result).run(head)
    return result


def _waited_seconds(log: Log, published: int) -> float:
    """Return how long the version after the published one has been there; 0 if there is none."""
    content = log.read(published + 1)
    if content is None:
        return 0.0
    # Writers put it first; one that leaves it out does not say when it wrote.
    info = orjson.loads(content.partition(b"\n")[0]).get("commitInfo", {})
    at = info.get("timestamp")
    return max(0.0, (now() - at) / 1000) if isinstance(at, int) else 0.0


class _IcebergCheck:
    """One comparison."""

    def __init__(
        self,
        files: TableFiles,
        side: MirrorSide,
        snapshot: Snapshot,
        most: int,
        result: IcebergResult,
    ) -> None:
        """Compare with `snapshot` of the Delta table, and fill `result`."""
        self._files = files
        self._side = side
        self._path = side.log.path
        self._snapshot = snapshot
        self._most = most
        self._result = result
        self._partition = partition_fields(snapshot)

    def run(self, head: TableHead) -> None:
        """Compare what `head` names."""
        try:
            data, deletes = self._files.manifests(self._path, head)
        except MirrorError as error:
            self._defect(error.text)
            return
        self._compare_columns(head)
        have, vectors = live_files(data), live_files(deletes)
        for manifests in (data, deletes):
            self._look_for_twins(manifests)
        uri = f"{self._files.uri}/{self._path}"
        wanted = {f"{uri}/{file.location}": file for file in self._snapshot.files.values()}
        for name in have.keys() - wanted.keys():
            rows = have[name].file.rows
            self._defect(f"{name} is no file of this version; it has {rows} rows")
        for name, file in wanted.items():
            if not self._side.has_file(self._snapshot, file):
                # Another shard is compared by itself.
                continue
            own = have.get(name)
            if own is None:
                self._add("missing", file, self._live(file))
            else:
                self._compare_file(name, file, own, vectors.get(name))

    def _compare_columns(self, head: TableHead) -> None:
        try:
            schema = metadata.current_schema(head.metadata)
            spec = metadata.partition_spec(head.metadata)["fields"]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            self._defect(f"the metadata has no columns: {type(error).__name__}")
            return
        if schema["fields"] != schema_fields(self._path, self._snapshot.columns):
            self._defect("its columns are others")
        if spec != [own.description() for own in self._partition]:
            self._defect("its partitions are others")

    def _look_for_twins(self, manifests: Iterable[Manifest]) -> None:
        met: set[str] = set()
        for manifest in manifests:
            for name in met & manifest.live.keys():
                self._defect(f"two manifests name {name}")
            met |= manifest.live.keys()

    def _compare_file(
        self, name: str, file: DataFile, own: LiveFile, vector: LiveFile | None
    ) -> None:
        values = partition_values(self._snapshot.columns, self._partition, file.partition_values)
        facts: list[tuple[str, Any, Any]] = [
            ("bytes", own.file.size, file.size),
            ("values of partitions", own.file.partition, values),
        ]
        if file.rows >= 0:
            facts.append(("rows", own.file.rows, file.rows))
        for what, there, wanted in facts:
            if there != wanted:
                self._defect(f"{name} has other {what}: {there}, not {wanted}")
        dead = self._dead(name, own, vector)
        if dead is None:
            return
        self._result.rows += own.file.rows - len(dead)
        wanted_dead = BitMap()
        if file.deletion_vector is not None:
            storage = self._files.storage
            wanted_dead = deletion_vectors.load(storage, self._path, file.deletion_vector)
        beyond = [position for position in dead - wanted_dead if position >= own.file.rows]
        if beyond:
            self._defect(f"the deletion vector of {name} has row {beyond[0]}, which it has not")
        missing = dead - wanted_dead - BitMap(beyond)
        self._add("missing", file, np.asarray(missing.to_array(), np.int64))
        self._add("surplus", file, np.asarray((wanted_dead - dead).to_array(), np.int64))

    def _dead(self, name: str, own: LiveFile, vector: LiveFile | None) -> BitMap | None:
        """Return the rows of a file that are dead for readers; None if they cannot know that."""
        # A vector says nothing about files that are newer.
        if vector is None or vector.sequence < own.sequence:
            return BitMap()
        place, entry = vector.file.uri, vector.file
        path = place.removeprefix(f"{self._files.uri}/")
        blob = self._files.storage.read_part(path, entry.offset or 0, entry.length or 0)
        if blob is None:
            self._defect(f"{place} is missing, with the deletion vector of {name}")
            return None
        try:
            dead = deletion_vectors.decode(vector_of(blob))
        except ValueError:
            self._defect(f"{place} has no deletion vector of {name} at {entry.offset}")
            return None
        if len(dead) != entry.rows:
            what = f"has {len(dead)} rows, and its manifest says {entry.rows}"
            self._defect(f"the deletion vector of {name} {what}")
        return dead

    def _live(self, file: DataFile) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the positions of the rows that readers of Delta see."""
        columns = self._snapshot.columns[:1]
        return parquet_file.live_positions(self._files.storage, self._path, file, columns)

    def _add(
        self,
        kind: Literal["missing", "surplus"],
        file: DataFile,
        positions: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> None:
        """Name rows that differ."""
        result = self._result
        room = self._most - len(result.differences)
        result.has_more = result.has_more or len(positions) > room
        if not len(positions[:room]):
            return
        keys: list[dict[str, object]]
        if self._side.key:
            whole = replace(file, deletion_vector=None)
            keys = self._side.keys_at(self._snapshot, whole, positions[:room])
        else:
            keys = [{"file": file.path, "row": row} for row in positions[:room].tolist()]
        result.differences += [IcebergDifference(kind, key) for key in keys]

    def _defect(self, text: str) -> None:
        if len(self._result.defects) < self._most:
            self._result.defects.append(text)
        else:
            self._result.has_more = True

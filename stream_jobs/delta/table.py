"""A Delta table: its current version, and commits that make the next one.

table = DeltaTable.open(storage, path) or DeltaTable.create(storage, path, metadata)
file = write_file(storage, path, table.snapshot.metadata.file_columns, rows)
table.commit(Change(new=[file], dead={old.path: positions}, domains={"d": "{}"}), "MERGE")
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from pyroaring import BitMap

from stream_jobs.delta import change_data, deletion_vectors
from stream_jobs.delta.actions import DataFile, Features, Metadata
from stream_jobs.delta.log import Log, Moment, now
from stream_jobs.delta.snapshot import CLUSTERING, Snapshot, SnapshotBuilder
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import CommitConflict, MirrorError, delta_errors


@dataclass(frozen=True, slots=True)
class TableCommit:
    """What one commit changes; everything or nothing of it is seen."""

    new: Sequence[DataFile] = ()
    # By the path of a file: a serialised 32-bit Roaring bitmap of positions. They are added to
    # those that are dead already; a file without live rows is removed.
    dead: Mapping[str, bytes] = field(default_factory=dict)
    removed: Sequence[DataFile] = ()
    metadata: Metadata | None = None
    domains: Mapping[str, str] = field(default_factory=dict)
    removed_domains: Sequence[str] = ()
    transactions: Mapping[str, int] = field(default_factory=dict)
    # Columns that a row of `new` has in common with the dead one that it replaces, for the feed.
    key: Sequence[str] = ()
    # False if `new` has only rows of `removed`: streams that read the table skip such a commit.
    data_change: bool = True
    # What the history of the table shows as the writer's own words.
    note: str = ""
    # When the writing of `new` began, if other pipelines delete files that no version names.
    since: Moment | None = None


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """A change that is ready to be written as the next version, or as a part of it."""

    actions: Sequence[dict[str, Any]]
    bytes: int  # of its data files
    changes_rows: bool
    seconds: float  # that it took to prepare it


@dataclass(slots=True)
class CommitCosts:
    """What commits have cost."""

    commits: int = 0
    seconds: float = 0.0
    # Of data files, vectors, and the log with its checkpoints.
    bytes: int = 0
    # When the last one that changed rows was written, milliseconds since 1970.
    changed_ms: int | None = None


class DeltaTable:
    """The table at a path of a storage, with its newest known version.

    One thread at a time may use it; tables are independent of each other.
    """

    def __init__(self, log: Log, snapshot: Snapshot) -> None:
        self._log = log
        self.snapshot = snapshot
        self._last_commit: bytes | None = None
        self._costs = CommitCosts()

    @classmethod
    def open(cls, storage: Storage, path: str) -> "DeltaTable | None":
        """Return the table at `path`; None if there is none.

        Raises MirrorError if its log cannot be read, or if it needs unknown features.
        """
        log = Log(storage, path)
        snapshot = log.load()
        return cls(log, snapshot) if snapshot else None

    @classmethod
    def create(
        cls,
        storage: Storage,
        path: str,
        metadata: Metadata,
        domains: Mapping[str, str] | None = None,
        clustering: Sequence[str] = (),
    ) -> "DeltaTable":
        """Create a table without rows.

        `clustering` are names of columns by which readers find rows; a table with partitions has
        none. Each new file must have statistics of these columns (`key` of `write_file`). Raises
        CommitConflict if there is a table, MirrorError if the storage fails.
        """
        began = time.monotonic()
        log = Log(storage, path)
        features, domains = Features(), dict(domains or {})
        if change_data.is_on(metadata.configuration):
            features = features.with_change_data()
        if clustering:
            physical = {column.name: column.physical_name for column in metadata.columns}
            columns = [[physical[name]] for name in clustering]
            features = features.with_clustering()
            domains[CLUSTERING] = orjson.dumps({"clusteringColumns": columns}).decode()
        actions = [features.action(), metadata.action(), *_domains(domains)]
        state = SnapshotBuilder(path)
        content = log.commit(0, "CREATE TABLE", actions)
        state.replay(0, content)
        table = cls(log, state.snapshot())
        table._count(time.monotonic() - began, len(content), changes_rows=False)
        return table

    @property
    def log(self) -> Log:
        """The log of the table, which has older versions."""
        return self._log

    def take_costs(self) -> CommitCosts:
        """Return what commits have cost since the last call, or since this object is there."""
        costs, self._costs = self._costs, CommitCosts()
        return costs

    def _add_costs(self, costs: CommitCosts) -> None:
        """Count what commits of another object have cost."""
        own = self._costs
        own.commits += costs.commits
        own.seconds += costs.seconds
        own.bytes += costs.bytes
        own.changed_ms = costs.changed_ms or own.changed_ms

    def add_written(self, size: int) -> None:
        """Count bytes that were written for this table beside its commits."""
        self._costs.bytes += size

    @property
    def path(self) -> str:
        """The path of the table in its storage."""
        return self._log.path

    @property
    def storage(self) -> Storage:
        """The storage of the table."""
        return self._log.storage

    @property
    def whole(self) -> "DeltaTable":
        """The table itself; another object if this one shows a part of it."""
        return self

    def turn(self) -> AbstractContextManager[None]:
        """Keep others from committing meanwhile who write other parts of the table."""
        return nullcontext()

    @property
    def may_clean_up(self) -> bool:
        """Whether what is known of the table is new enough to delete what no version names."""
        return True

    def exclusive(self) -> AbstractContextManager[object]:
        """Keep other threads from writing other parts of the table meanwhile."""
        return nullcontext()

    def refresh(self) -> Snapshot:
        """Read what others have committed, and return the newest version."""
        if self._is_overwritten():
            self.snapshot = self._log.load() or self.snapshot
        else:
            self.snapshot = self._log.refresh(self.snapshot)
        self._last_commit = None
        return self.snapshot

    def commit(self, change: TableCommit, operation: str) -> Snapshot:
        """Write the next version and return it.

        `operation` is a word for the table's history. Raises CommitConflict if another writer has
        committed this version, or overwritten the one before: then refresh, and find out whether
        the change still fits (`Snapshot.same_rows`). Raises MirrorError as `prepare`, or if the
        storage fails.
        """
        return self.write([self.prepare(change)], operation, change.note)

    def prepare(self, change: TableCommit) -> PreparedCommit:
        """Return what `change` adds to the next version, and write its deletion vectors.

        Raises MirrorError if `change` names files that are not in the current version, if the table
        has lost features, if a deletion vector is damaged, or if the storage fails.
        """
        began = time.monotonic()
        self.snapshot.features.refuse_missing(self.path)
        actions = list(self._actions(change))
        size = sum(file.size for file in change.new)
        return PreparedCommit(actions, size, change.data_change, time.monotonic() - began)

    def write(self, parts: Sequence[PreparedCommit], operation: str, note: str) -> Snapshot:
        """Write the next version, which has all of `parts`, and return it.

        They were prepared after the current version, and no two of them concern one file or one
        domain. Raises as `commit`; the version may be there if the storage fails.
        """
        began = time.monotonic()
        version = self.snapshot.version + 1
        if self._is_overwritten():
            raise CommitConflict(delta_errors.COMMIT_CONFLICT, path=self.path, version=version - 1)
        actions = [action for part in parts for action in part.actions]
        content = self._log.commit(version, operation, actions, note)
        state = SnapshotBuilder.after(self.path, self.snapshot)
        state.replay(version, content)
        self.snapshot = state.snapshot()
        self._last_commit = content
        size = len(content) + sum(part.bytes for part in parts)
        seconds = time.monotonic() - began + sum(part.seconds for part in parts)
        self._count(seconds, size, changes_rows=any(part.changes_rows for part in parts))
        return self.snapshot

    def _count(self, seconds: float, size: int, *, changes_rows: bool) -> None:
        costs = self._costs
        costs.commits += 1
        costs.seconds += seconds
        costs.bytes += size
        if changes_rows:
            costs.changed_ms = now()

    def _is_overwritten(self) -> bool:
        """Return whether the last commit of this writer is lost.

        Spark looks for a version and writes it in two steps, on a local disk and on S3. Between
        them it can overwrite a commit; the job then has to apply those changes again.
        """
        last = self._last_commit
        return last is not None and self._log.read(self.snapshot.version) != last

    def _actions(self, change: TableCommit) -> Iterator[dict[str, Any]]:
        at = now()
        if change.metadata:
            yield change.metadata.action()
        yield from _domains(change.domains)
        for domain in change.removed_domains:
            yield _domain(domain, "", is_removed=True)
        for application, version in change.transactions.items():
            yield {"txn": {"appId": application, "version": version, "lastUpdated": at}}
        missing = [f.path for f in change.removed if not self.snapshot.has([f])]
        missing += [path for path in change.dead if path not in self.snapshot.files]
        if missing:
            raise MirrorError(delta_errors.FILES_GONE, path=self.path, files=missing)
        for file in change.removed:
            yield file.removed(at, data_change=change.data_change)
        killed = self._killed(change)
        yield from self._dead(killed, at, data_change=change.data_change)
        for file in change.new:
            yield file.added(data_change=change.data_change)
        yield from self._feed(change, killed)

    def _killed(self, change: TableCommit) -> "list[_KilledRows]":
        """Return the rows that `change` kills; those that are dead already are left out."""
        killed = []
        for path, serialised in change.dead.items():
            file = self.snapshot.files[path]
            rows = dead = BitMap.deserialize(serialised)
            if file.deletion_vector:
                known = deletion_vectors.load(self.storage, self.path, file.deletion_vector)
                rows, dead = dead - known, dead | known
            if rows:
                killed.append(_KilledRows(file, rows, dead))
        return killed

    def _dead(
        self, killed: "Sequence[_KilledRows]", at: int, *, data_change: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield the actions of dead rows, and write their vectors."""
        for rows in killed:
            yield rows.file.removed(at, data_change=data_change)
        left = [rows for rows in killed if not rows.is_whole]
        vectors = deletion_vectors.store(self.storage, self.path, [rows.dead for rows in left])
        self.add_written(sum(vector.size for vector in vectors if vector.path))
        for rows, vector in zip(left, vectors, strict=True):
            yield rows.file.with_vector(vector).added(data_change=data_change)

    def _feed(
        self, change: TableCommit, killed: "Sequence[_KilledRows]"
    ) -> Iterator[dict[str, Any]]:
        """Yield the actions of the change data feed, and write its files.

        Without them, readers take rows of added files as inserted, and of removed ones as deleted.
        """
        metadata = change.metadata or self.snapshot.metadata
        if not change_data.is_on(metadata.configuration) or not change.data_change:
            return
        if not killed or (not change.new and all(rows.is_whole for rows in killed)):
            return
        dead = [change_data.DeadRows(rows.file, rows.rows) for rows in killed]
        for file in change_data.write_changes(
            self.storage, self.path, metadata, dead, change.new, change.key
        ):
            self.add_written(file.size)
            yield file.action()


class _KilledRows(NamedTuple):
    """The rows of a file that a commit kills."""

    file: DataFile
    rows: BitMap
    dead: BitMap  # with those that were dead before

    @property
    def is_whole(self) -> bool:
        """Whether no row is left."""
        return len(self.dead) == self.file.rows


def _domains(domains: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for domain, configuration in domains.items():
        yield _domain(domain, configuration)


def _domain(domain: str, configuration: str, *, is_removed: bool = False) -> dict[str, Any]:
    return {
        "domainMetadata": {
            "domain": domain,
            "configuration": configuration,
            "removed": is_removed,
        }
    }

"""Removes the shards of a pipeline from a mirror that it shares with others.

    look      which tables have shards of its topics, and which files are its own
    ▼
    claim     an owner file that says so: no process of the pipeline may begin, or go on
    ▼
    tables    one commit for each: rows, column lists and progress of all its shards
    ▼
    files     cuts, tables that are set aside, and so on; its owner files are the last ones

Each step can be repeated after a crash at any point: what is left says what is still to be done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from connector.foundation.errors import ConfigError
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError, shard_errors
from stream_jobs.paths import OWN_FOLDER, PIPELINES, pipeline_path
from stream_jobs.pipeline_folder import OWNERS, Owner, has_other_folder, newest_owner
from stream_jobs.run.job_state import RUNS, Ownership, RunRecord, job_status
from stream_jobs.settings import Settings
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import TABLE_PROPERTY
from stream_jobs.tables.mirror_table import FOREIGN
from stream_jobs.tables.shard_columns import ShardList
from stream_jobs.tables.shard_view import shard_lists, shard_of_file

# A bucket answers slowly, but many questions at the same time.
_THREADS: Final = 16


@dataclass(frozen=True, slots=True)
class TableShards:
    """The shards of a pipeline in one table."""

    path: str
    name: str  # `database.table` of the mirror
    rows: Mapping[str, int]  # by shard
    is_whole: bool  # whether the table has no others


@dataclass(frozen=True, slots=True)
class PipelineShards:
    """What a mirror has of one pipeline."""

    tables: Sequence[TableShards]
    files: Sequence[str]  # its own files, apart from those that say who it is, by their paths
    is_claimed: bool  # whether owner files are to be removed, or replaced

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not self.tables and not self.files and not self.is_claimed


class _Claim(Ownership):
    """The claim of a process that removes shards."""

    def __init__(self, storage: Storage, base: str, owner: Owner, lost_host: str | None) -> None:
        """Claim for `owner` in `storage`, whose root is `base`; nothing runs on `lost_host`."""
        super().__init__(storage, base, owner)
        self._lost_host = lost_host

    def refuse(self, newest: Owner) -> None:
        """Raise MirrorError if the process that has the folder may run.

        One that removes shards, too, does not matter: both do the same.
        """
        if newest.drops_shards:
            return
        job = job_status(newest, RunRecord(self._storage, self._base, "").newest())
        if job.state == "running" or (job.state == "elsewhere" and job.host != self._lost_host):
            raise MirrorError(
                shard_errors.PIPELINE_RUNS,
                path=self._base,
                owner=newest.name,
                prefix=newest.prefix,
                pid=job.pid,
                host=job.host,
            )

    def check(self) -> None:
        """Raise MirrorError if another process has taken over.

        One that removes the same may have ended: then it is done again.
        """
        if self.newest() is None:
            self.claim()
        super().check()


class ShardRemoval:
    """The removal of one pipeline from a mirror."""

    def __init__(self, settings: Settings, prefix: str, lost_host: str | None = None) -> None:
        """Look at the mirror of `settings` for the pipeline whose topics have `prefix`.

        Its job does not run on `lost_host`. Raises ConfigError if the mirror is not shared, and
        MirrorError if the storage fails.
        """
        self._path = settings.mirror.path
        self._base = self._path.rstrip("/")
        self._root = storage_of(self._path)
        self._prefix = prefix
        self._lost_host = lost_host
        first = newest_owner(self._root, self._base)
        if not settings.mirror.shared or (first is not None and not first.shared):
            raise ConfigError(shard_errors.NOT_SHARED, path=self._base)
        # Whether its owner files are in the folder of the mirror itself.
        self.is_first = (
            first is not None
            and first.prefix == prefix
            and not has_other_folder(self._root, prefix)
        )
        self.folder = self._base if self.is_first else f"{self._base}/{pipeline_path(prefix)}"
        self._storage = self._root if self.is_first else storage_of(self.folder)

    def look(self) -> PipelineShards:
        """Return what there is of the pipeline.

        Raises ConfigError if there is nothing, and never was as far as is known; MirrorError if a
        table cannot be read, if the storage fails, or if a process of the pipeline may run.
        """
        newest = newest_owner(self._storage, self.folder)
        if newest is not None:
            self._claim(newest).refuse(newest)
        with ThreadPoolExecutor(_THREADS) as pool:
            every = list(pool.map(self._lists_at, self._paths()))
        tables = [own for _, own in every if own is not None]
        is_claimed = newest is not None and (newest.drops_shards or not self.is_first)
        found = PipelineShards(tables, list(self._files()), is_claimed)
        if found.is_empty and newest is None:
            known = {prefix for prefixes, _ in every for prefix in prefixes} | self._prefixes()
            facts = {"prefix": self._prefix, "path": self._base, "known": sorted(known)}
            raise ConfigError(shard_errors.NO_SUCH_PIPELINE, **facts)
        return found

    def carry_out(self, tell: Callable[[TableShards], None]) -> PipelineShards:
        """Remove what `look` finds, and return it; `tell` of each table behind its commit.

        Raises MirrorError as `look`, or if others commit to a table all the time. What was not
        removed then is found again.
        """
        claim = self._claim(newest_owner(self._storage, self.folder))
        claim.claim()
        # A process of the pipeline may have run since the last look.
        found = self.look()
        for table in found.tables:
            MergedTable(self._root, table.path).drop(self._is_ours, claim.check)
            tell(table)
        claim.check()
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(self._root.delete, found.files))
        if self.is_first:
            # Who the first pipeline was decides which folder is that of another one.
            claim.owner = Owner.here(claim.owner.name, self._prefix, shared=True)
            record = RunRecord(self._storage, self.folder, "availableNow")
            record.begin(claim.owner.epoch)
            record.stopped()
            claim.claim()
        claim.remove_older()
        if not self.is_first:
            claim.give_up()
        return found

    def _claim(self, newest: Owner | None) -> _Claim:
        name = self._prefix if newest is None else newest.name
        owner = Owner.here(name, self._prefix, shared=True, drops_shards=True)
        return _Claim(self._storage, self.folder, owner, self._lost_host)

    def _paths(self) -> Iterator[str]:
        """Yield the paths of folders that may be tables."""
        for database in self._root.folders():
            # No database has such a name; it has the files of pipelines, or hidden ones.
            if database[0] not in "._":
                yield from (f"{database}/{name}" for name in self._root.folders(database))

    def _lists_at(self, path: str) -> tuple[set[str], TableShards | None]:
        """Return the prefixes of all shards at a path, and the shards of the pipeline."""
        try:
            delta = DeltaTable.open(self._root, path)
        except MirrorError as error:
            if error.code in FOREIGN:
                return set(), None
            raise
        if delta is None:
            return set(), None
        lists = shard_lists(delta.snapshot)
        prefixes = {own.prefix for own in lists.values() if own.prefix is not None}
        rows = {value: 0 for value, own in sorted(lists.items()) if self._is_ours(own)}
        if not rows:
            return prefixes, None
        for file in delta.snapshot.files.values():
            value = shard_of_file(delta.snapshot, file)
            if value in rows:
                rows[value] += file.live
        name = delta.snapshot.configuration[TABLE_PROPERTY]
        return prefixes, TableShards(path, name, rows, len(rows) == len(lists))

    def _is_ours(self, known: ShardList) -> bool:
        """Return whether a shard is one of the pipeline; the first has those without a prefix."""
        return self.is_first if known.prefix is None else known.prefix == self._prefix

    def _files(self) -> Iterator[str]:
        guest = pipeline_path(self._prefix)
        paths = [f"{guest}/{file.name}" for file in self._root.list(guest)]
        yield from (path for path in paths if f"/{OWNERS}/" not in path)
        if self.is_first:
            paths = [f"{OWN_FOLDER}/{file.name}" for file in self._root.list(OWN_FOLDER)]
            yield from (path for path in paths if not path.startswith((f"{OWNERS}/", RUNS)))

    def _prefixes(self) -> set[str]:
        """Return the prefixes of the pipelines that have a folder."""
        folders = [f"{self._base}/{PIPELINES}/{name}" for name in self._root.folders(PIPELINES)]
        owners = [newest_owner(storage_of(folder), folder) for folder in folders]
        first = newest_owner(self._root, self._base)
        return {owner.prefix for owner in (first, *owners) if owner is not None}

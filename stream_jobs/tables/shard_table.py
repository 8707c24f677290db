"""A shard of a mirror that several tables share, as a Delta table of its own.

    shop_1.orders ─▶ ShardTable ┐
    shop_2.orders ─▶ ShardTable ┼▶ SharedDelta: one Delta table, partitioned by the shard
    shop_3.orders ─▶ ShardTable ┘

A file belongs to one shard. A `ShardTable` shows the files of a shard, its columns and its
progress. So all that applies changes to a mirror applies them to a shard, and touches no row of
another one: a truncate, a copy, a lookup of keys, a compaction.

*Commits* are versions of the one Delta table, one after the other; those of a round share one
(`group_commit.py`). A commit of another shard in between, or of another program, does not matter,
unless it has changed what this one builds upon: the files of the shard, the types of columns, or
all files, if they are written again. Then the shard is overtaken, and its round is run again.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.log import Log, LogListing
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.table import CommitCosts, DeltaTable, PreparedCommit, TableCommit
from stream_jobs.errors import (
    CommitConflict,
    MirrorError,
    ShardOvertaken,
    delta_errors,
    shard_errors,
)
from stream_jobs.source.column_types import ColumnType, holds_all_values
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables import mirror_metadata
from stream_jobs.tables.column_changes import ColumnChange
from stream_jobs.tables.group_commit import write_in_group
from stream_jobs.tables.shard_columns import ColumnUnion, ShardList
from stream_jobs.tables.shard_view import (
    LISTS,
    PROGRESS,
    files_by_shard,
    shard_column,
    shard_lists,
    shard_of_file,
    shard_snapshot,
)
from stream_jobs.tables.shared_delta import TRIES, TURN, CommitNote, ShardCommit, SharedDelta


@dataclass(frozen=True, slots=True)
class ShardLog(Log):
    """The log of a mirror; its versions are those of one shard."""

    shard: str = ""

    def load_version(self, version: int, listing: LogListing | None = None) -> Snapshot:
        """Return the shard in one version; raises MirrorError also if that does not have it."""
        whole = Log.load_version(self, version, listing)
        if LISTS + self.shard not in whole.domains:
            raise MirrorError(delta_errors.VERSION_MISSING, path=self.path, version=version)
        return shard_snapshot(whole, self.shard, files_by_shard(whole).get(self.shard, {}))


class ShardTable(DeltaTable):
    """One shard; its commits are versions of the table that it shares."""

    def __init__(self, shared: SharedDelta, shard: str) -> None:
        """Show the shard with the value `shard`, which the table has."""
        self._shared = shared
        self._shard = shard
        self._base = shared.delta.snapshot
        log = ShardLog(shared.delta.storage, shared.delta.path, shard)
        super().__init__(log, self._seen(self._base))

    @property
    def whole(self) -> DeltaTable:
        """The table with all of its shards."""
        return self._shared.delta

    @property
    def all_files(self) -> Mapping[str, DataFile]:
        """The files of all shards that `snapshot` belongs to, by path."""
        return self._base.files

    @property
    def is_newest(self) -> bool:
        """Whether the newest version that any shard has read has the progress of `snapshot`."""
        known = self._shared.delta.snapshot.domains.get(PROGRESS + self._shard)
        return known == self.snapshot.domains[mirror_metadata.DOMAIN]

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep the other shards from committing meanwhile, and see what they have committed.

        Raises ShardOvertaken if that matters to this shard.
        """
        with self._shared.lock:
            self._catch_up()
            yield

    def take_turn(self) -> None:
        """Let other pipelines wait for the next version, if there are any.

        Raises CommitConflict if others have committed meanwhile.
        """
        shared = self._shared
        with shared.lock:
            prefixes = {each.prefix for each in shard_lists(shared.delta.snapshot).values()}
            if len(prefixes) == 1:
                return
            turn = shared.next_turn()
            change = TableCommit(domains={TURN: turn}, data_change=False)
            for left in reversed(range(TRIES)):
                shared.await_turn()
                self._catch_up()
                try:
                    shared.delta.commit(change, "TURN")
                except CommitConflict:
                    if not left:
                        raise
                    shared.delta.refresh()
                else:
                    break
            shared.begin_turn(turn)
            self._catch_up()

    @property
    def may_clean_up(self) -> bool:
        shared = self._shared
        if shared.put is None:
            return not shared.has_others
        return not shared.is_late(shared.put)

    def exclusive(self) -> AbstractContextManager[object]:
        return self._shared.lock

    def refresh(self) -> Snapshot:
        """Read what others have committed, and return the newest version.

        Raises ShardOvertaken if the shard was removed.
        """
        with self._shared.lock:
            newest = self._shared.delta.refresh()
            if LISTS + self._shard not in newest.domains:
                raise self._overtaken()
            self._adopt()
        return self.snapshot

    def commit(self, change: TableCommit, operation: str) -> Snapshot:
        """Write the next version of the table and return the shard in it.

        If another writer was faster, it is tried again, unless that writer has changed what
        `change` builds upon, or could have deleted its files: then CommitConflict is raised. Raises
        ShardOvertaken if a shard of this process has changed it, else as for a table alone.
        """
        base = self._base
        own = ShardCommit(
            self._shard,
            operation,
            [file.path for file in change.new],
            _note(change),
            change.metadata is not None,
            lambda: self._prepared(base, change),
            self._adopt_version,
        )
        write_in_group(self._shared, own)
        return self.snapshot

    def _prepared(self, base: Snapshot, change: TableCommit) -> PreparedCommit:
        """Return what the next version gets for a change of the shard as it was in `base`."""
        self._refuse_late(change)
        self._catch_up()
        whole = self._shared.delta
        values = {shard_column(whole.snapshot.metadata).physical_name: self._shard}
        # Files of other shards say themselves where they belong.
        new = [
            replace(file, partition_values={**values, **file.partition_values})
            for file in change.new
        ]
        domains = {PROGRESS + self._shard: change.domains[mirror_metadata.DOMAIN]}
        metadata = None
        if change.metadata is not None:
            metadata = self._united(base, change.metadata)
            own = mirror_metadata.shard_properties(change.metadata.configuration)
            domains[LISTS + self._shard] = ShardList.of(change.metadata.columns, own).write()
        return whole.prepare(replace(change, new=new, domains=domains, metadata=metadata))

    def _adopt_version(self, costs: CommitCosts) -> None:
        self._add_costs(costs)
        self._adopt()

    def _refuse_late(self, change: TableCommit) -> None:
        """Raise CommitConflict if other pipelines may have deleted the new files of `change`."""
        if change.new and change.since is not None and self._shared.is_late(change.since):
            version = self._shared.delta.snapshot.version
            raise CommitConflict(delta_errors.COMMIT_CONFLICT, path=self.path, version=version)

    def remove(self) -> None:
        """Remove the shard with its rows, and the columns that no other one has.

        Raises CommitConflict if another writer has committed meanwhile.
        """
        remove_shards(self._shared, {self._shard})

    def united(self, change: ColumnChange, schema: TableSchema) -> ColumnChange:
        """Return `change` of the list of the shard, which gets that of `schema`, as it will be.

        Raises MirrorError if columns or the key do not fit those of the other shards.
        """
        refuse_other_key(self._base, self._shard, schema)
        wanted = tuple(_for_values_of(column, schema) for column in change.columns)
        return self._union(self._base, schema.name).united(change._replace(columns=wanted))

    def with_columns(self, columns: Sequence[Column]) -> Metadata:
        """Return the metadata of the table when the shard has `columns`, as `united` has said."""
        metadata = self._union(self._base).with_columns(columns)
        if metadata is None:
            raise self._overtaken()
        return metadata

    def _united(self, base: Snapshot, own: Metadata) -> Metadata:
        """Return the metadata of the table with the columns of `own`, which were chosen at `base`.

        Raises ShardOvertaken if that is not possible any more.
        """
        now = self._base
        if now.metadata != base.metadata or shard_lists(now) != shard_lists(base):
            raise self._overtaken()
        metadata = self.with_columns(own.columns)
        if _types(metadata, now.metadata) and not now.same_rows(base):
            # All files are written again.
            raise self._overtaken()
        return metadata

    def _union(self, whole: Snapshot, table: str = "") -> ColumnUnion:
        return ColumnUnion.of(whole.metadata, shard_lists(whole), self._shard, table, self.path)

    def _catch_up(self) -> None:
        """See what other shards have committed; raises ShardOvertaken if that matters."""
        newest = self._shared.delta.snapshot
        if newest is self._base:
            return
        if LISTS + self._shard not in newest.domains:
            raise self._overtaken()
        now = self._seen(newest)
        # Another process of the same pipeline may have gone on with its progress alone.
        is_ours = now.domains == self.snapshot.domains and now.same_rows(self.snapshot)
        if not is_ours or _types(now.metadata, self.snapshot.metadata):
            raise self._overtaken()
        self._base, self.snapshot = newest, now

    def _adopt(self) -> None:
        self._base = self._shared.delta.snapshot
        self.snapshot = self._seen(self._base)

    def _seen(self, newest: Snapshot) -> Snapshot:
        return shard_snapshot(newest, self._shard, self._shared.files_of(self._shard))

    def _overtaken(self) -> ShardOvertaken:
        version = self._shared.delta.snapshot.version
        return ShardOvertaken(delta_errors.COMMIT_CONFLICT, path=self.path, version=version)


def remove_shards(shared: SharedDelta, values: Collection[str]) -> None:
    """Remove shards with their rows, and the columns that no other one has.

    Raises CommitConflict if another writer has committed meanwhile.
    """
    with shared.lock:
        whole = shared.delta.snapshot
        rest = {value: own for value, own in shard_lists(whole).items() if value not in values}
        union = ColumnUnion.of(whole.metadata, rest, "", "", shared.delta.path)
        domains = [domain + value for value in sorted(values) for domain in (LISTS, PROGRESS)]
        ended = [TURN] if shared.ends_turn(is_mine=False) else []
        files = whole.files.values()
        removed = [file for file in files if shard_of_file(whole, file) in values]
        change = TableCommit(
            removed=removed, removed_domains=[*domains, *ended], metadata=union.with_columns(())
        )
        shared.delta.commit(change, "REMOVE SHARD")


def refuse_other_key(whole: Snapshot, shard: str, schema: TableSchema) -> None:
    """Raise MirrorError if a shard with the columns of `schema` has another key than the others."""
    for value, other in shard_lists(whole).items():
        key = tuple(json.loads(other.properties[mirror_metadata.KEY_PROPERTY]))
        if value != shard and key != schema.key:
            raise MirrorError(
                shard_errors.SHARD_KEY,
                table=schema.name,
                path=".".join(schema.place),
                now=schema.key,
                key=key,
            )


def _for_values_of(column: Column, schema: TableSchema) -> Column:
    """Return a column whose type holds the values that the table has."""
    own = schema.by_name.get(column.name)
    if own is None:
        return column
    stored = ColumnType.of(own).stored
    is_wide = holds_all_values(stored, column.type)
    return column._replace(type=stored) if is_wide else column


def _types(one: Metadata, other: Metadata) -> bool:
    """Return whether a column that both have has two types."""
    types = {column.field_id: column.type for column in other.columns}
    return any(types.get(c.field_id, c.type) != c.type for c in one.columns)


def _note(change: TableCommit) -> CommitNote:
    last = mirror_metadata.Progress.read(change.domains[mirror_metadata.DOMAIN]).last
    return CommitNote(() if last is None else (last.seq,), change.note)

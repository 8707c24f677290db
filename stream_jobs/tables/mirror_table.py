"""The mirror of one table, as the driver sees it: a Delta table that holds its own progress."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyroaring import BitMap

from stream_jobs.apply.modes.mode import Mode, ModeColumn
from stream_jobs.apply.task_messages import MirrorDescription, PartResult, RecordMapping
from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.log import Moment
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError, delta_errors, job_errors
from stream_jobs.paths import EARLIER_MARK, table_path
from stream_jobs.source.column_types import ColumnType, holds_all_values
from stream_jobs.source.sequence import PackedSequence, Truncate
from stream_jobs.source.table_schema import Shard, TableSchema
from stream_jobs.tables import mirror_metadata
from stream_jobs.tables.column_changes import ColumnChange, SchemaChange, all_columns
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.shard_table import ShardTable

# What a table of another program has.
FOREIGN: Final = (
    delta_errors.COLUMN_UNKNOWN,
    delta_errors.FEATURES_UNKNOWN,
    delta_errors.OTHER_PROTOCOL,
)


def mirror_path(storage: Storage, database: str, table: str) -> str:
    """Return the path of the mirror that is there, else of the one that will be made."""
    path = table_path(database, table)
    earlier = table_path(database, table, EARLIER_MARK)
    if earlier != path and next(iter(storage.list(f"{earlier}/_delta_log")), None) is not None:
        return earlier
    return path


@dataclass(slots=True)
class MirrorTable:
    """A Delta table, its progress, and the schema that it follows."""

    delta: DeltaTable
    progress: mirror_metadata.Progress
    # As the last batch had it.
    _facts: MirrorDescription | None = None
    # When the writing of the files began that the next commit names.
    began: Moment = field(default_factory=Moment.here)

    @classmethod
    def open(
        cls,
        storage: Storage,
        path: str,
        table: str,
        base: str,
        shard: Shard | None = None,
        merged: MergedTable | None = None,
    ) -> "MirrorTable | None":
        """Return the mirror of `table` at `path`; None if there is none.

        If the table is a `shard` of the mirror, that is the shard alone; `merged` is the mirror, if
        this process writes to it. Raises MirrorError if the path, which is below `base`, holds
        something else.
        """
        foreign = MirrorError(
            job_errors.ANOTHER_TABLE, path=f"{base.rstrip('/')}/{path}", table=table
        )
        try:
            if shard is None:
                delta = DeltaTable.open(storage, path)
            else:
                delta = (merged or MergedTable(storage, path)).open(shard, table, base)
        except MirrorError as error:
            if error.code in FOREIGN:
                raise foreign from error
            raise
        if delta is None:
            return None
        text = delta.snapshot.domains.get(mirror_metadata.DOMAIN)
        if (
            text is None
            or delta.snapshot.configuration.get(mirror_metadata.TABLE_PROPERTY) != table
        ):
            raise foreign
        try:
            return cls(delta, mirror_metadata.Progress.read(text))
        except (ValueError, KeyError, TypeError) as error:
            raise foreign from error

    @classmethod
    def create(
        cls,
        storage: Storage,
        path: str,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: mirror_metadata.Progress,
        properties: Mapping[str, str],
        mode: Mode,
    ) -> "MirrorTable":
        """Create the mirror without rows. Raises CommitConflict if there is a table."""
        own = {**mirror_metadata.properties_of(schema), mirror_metadata.MODE_PROPERTY: mode.name}
        metadata = Metadata(tuple(columns), {**properties, **own}, schema.chosen.partition_by)
        domains, clustering = {mirror_metadata.DOMAIN: progress.write()}, schema.chosen.cluster_by
        delta = DeltaTable.create(storage, path, metadata, domains, clustering)
        return cls(delta, progress)

    @classmethod
    def add_shard(
        cls,
        merged: MergedTable,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: mirror_metadata.Progress,
        properties: Mapping[str, str],
        mode: Mode,
    ) -> "MirrorTable":
        """Create a shard of `merged` without rows; raises MirrorError if it does not fit."""
        return cls(merged.add(schema, columns, progress.write(), properties, mode), progress)

    @property
    def is_empty(self) -> bool:
        """Whether the table has no row."""
        return not any(file.live for file in self.delta.snapshot.files.values())

    @property
    def is_shard(self) -> bool:
        """Whether other tables have rows in the Delta table, too."""
        return isinstance(self.delta, ShardTable)

    @property
    def is_newest(self) -> bool:
        """Whether the Delta table, as it was read last, has no progress that this does not have."""
        return not isinstance(self.delta, ShardTable) or self.delta.is_newest

    @property
    def has_other_rows(self) -> bool:
        """Whether other shards have rows."""
        own = self.delta
        return isinstance(own, ShardTable) and any(
            file.live for path, file in own.all_files.items() if path not in own.snapshot.files
        )

    def holds(self, schema: TableSchema) -> bool:
        """Return whether the columns hold all values of `schema`, which the table has.

        A shard that has come with wider types than the others waits until theirs are as wide.
        """
        return not (
            self.is_shard
            and any(
                not holds_all_values(column.type, ColumnType.of(own).stored)
                for column in self.delta.snapshot.columns
                if (own := schema.by_name.get(column.name)) is not None
            )
        )

    def united(self, change: ColumnChange, schema: TableSchema) -> ColumnChange:
        """Return `change`, after which the table has the columns of `schema`, as it will be.

        Shards share columns. Raises MirrorError if those of `schema` do not fit.
        """
        own = self.delta
        return own.united(change, schema) if isinstance(own, ShardTable) else change

    def take_turn(self) -> None:
        """Let other pipelines wait until all files are written again. Raises CommitConflict."""
        if isinstance(self.delta, ShardTable):
            self.delta.take_turn()

    def replaced_files(self, step: SchemaChange) -> list[tuple[DataFile, tuple[Column, ...]]]:
        """Return the files that are written again for `step`, each with its columns then.

        They are those of all shards, if a type becomes wider in all of them.
        """
        own, snapshot = self.delta, self.delta.snapshot
        columns = snapshot.metadata.with_columns(step.columns).file_columns
        files = [(file, columns) for file in snapshot.files.values()]
        if step.is_shared and isinstance(own, ShardTable):
            every = own.with_columns(step.columns).file_columns
            others = own.all_files.keys() - snapshot.files.keys()
            files += [(own.all_files[path], every) for path in others]
        return files

    def facts(self, schema: TableSchema, parses: Mapping[str, RecordMapping]) -> MirrorDescription:
        """Return what a task needs to know besides the files; mostly the same object."""
        snapshot = self.delta.snapshot
        description = MirrorDescription(
            self.delta.path,
            schema,
            snapshot.columns,
            # The caller adds to it.
            dict(parses),
            snapshot.metadata.partition_columns,
            snapshot.clustering,
        )
        if self._facts is None or description != self._facts:
            self._facts = description
        return self._facts

    def with_statistics(self, schema: TableSchema, mode: Mode) -> tuple[str, ...]:
        """Return the columns that have statistics in all files."""
        return (*mode.file_order(schema), *self.delta.snapshot.clustering)

    def commit_rows(
        self, results: Sequence[PartResult], progress: mirror_metadata.Progress
    ) -> None:
        """Commit the files of tasks, the rows that they replace, and the progress.

        Raises CommitConflict if somebody else has committed meanwhile.
        """
        new = [file for result in results for file in result.files]
        key = mirror_metadata.row_key_of(self.delta.snapshot.configuration)
        self._commit(TableCommit(new=new, dead=_joined(results), key=key), "MERGE", progress)

    def commit_floor(self, results: Sequence[PartResult], floor: PackedSequence) -> None:
        """Commit that the rows below `floor` are gone. Raises CommitConflict as `commit_rows`."""
        progress = replace(self.progress, floor=floor)
        self._commit(TableCommit(dead=_joined(results)), "TRUNCATE", progress)

    def commit_closed(
        self,
        results: Sequence[PartResult],
        floor: PackedSequence,
        truncates: Iterable[Truncate],
    ) -> None:
        """Commit rows that truncates have changed. Raises CommitConflict as `commit_rows`."""
        new = [file for result in results for file in result.files]
        old = [file for result in results for file in result.replaced]
        progress = self.progress.with_truncates(floor, truncates)
        self._commit(TableCommit(new=new, removed=old), "TRUNCATE", progress)

    def commit_schema(self, step: SchemaChange, results: Sequence[PartResult] | None) -> None:
        """Commit another column list; `results` are the files that replace all others, if given.

        Raises CommitConflict as `commit_rows`.
        """
        metadata = self.delta.snapshot.metadata.with_columns(step.columns).with_properties(
            mirror_metadata.properties_of(step.schema)
        )
        progress = replace(self.progress, schema_id=step.schema.schema_id, since=step.since)
        change = TableCommit(metadata=metadata)
        if results is not None:
            new = [file for result in results for file in result.files]
            old = tuple(file for file, _ in self.replaced_files(step))
            change = replace(change, new=new, removed=old)
        self._commit(change, "CHANGE COLUMNS", progress)

    def commit_compaction(self, results: Sequence[PartResult]) -> None:
        """Commit files that replace others with the same rows.

        Raises CommitConflict as `commit_rows`.
        """
        new = [file for result in results for file in result.files]
        old = [file for result in results for file in result.replaced]
        self._commit(
            TableCommit(new=new, removed=old, data_change=False), "OPTIMIZE", self.progress
        )

    def commit_load(self, files: Sequence[DataFile], progress: mirror_metadata.Progress) -> None:
        """Commit rows that were read from the source. Raises CommitConflict as `commit_rows`."""
        key = mirror_metadata.row_key_of(self.delta.snapshot.configuration)
        self._commit(TableCommit(new=files, key=key), "WRITE", progress)

    def commit_new_load(
        self, schema: TableSchema, more: Sequence[ModeColumn], progress: mirror_metadata.Progress
    ) -> None:
        """Commit that a load begins again: its rows are gone, and the columns may be others.

        Raises CommitConflict as `commit_rows`.
        """
        snapshot = self.delta.snapshot
        columns = all_columns(schema, snapshot.metadata.last_id, more)
        metadata = snapshot.metadata.with_columns(columns).with_properties(
            mirror_metadata.properties_of(schema)
        )
        change = TableCommit(metadata=metadata, removed=tuple(snapshot.files.values()))
        self._commit(change, "CHANGE COLUMNS", progress)

    def commit_load_end(self) -> None:
        """Commit that nothing of a load is missing. Raises CommitConflict as `commit_rows`."""
        load = self.progress.load
        assert load is not None
        progress = replace(self.progress, load=load.completed())
        self._commit(TableCommit(data_change=False), "WRITE", progress)

    def leave_load(self) -> None:
        """Follow the topic alone from the next commit on, if the load is not complete."""
        load = self.progress.load
        if load is not None and load.phase != "complete":
            self.progress = replace(self.progress, load=None)

    def refresh(self) -> None:
        """Read what others have committed."""
        snapshot = self.delta.refresh()
        self.progress = mirror_metadata.Progress.read(snapshot.domains[mirror_metadata.DOMAIN])

    def _commit(
        self, change: TableCommit, operation: str, progress: mirror_metadata.Progress
    ) -> None:
        own = {mirror_metadata.DOMAIN: progress.write()}
        whole = replace(change, domains=own, note=progress.note(), since=self.began)
        self.delta.commit(whole, operation)
        self.progress = progress


def _joined(results: Iterable[PartResult]) -> dict[str, bytes]:
    """Return the dead rows of several tasks by path of a file."""
    dead: dict[str, bytes] = {}
    for result in results:
        for path, positions in result.dead.items():
            if path in dead:
                both = BitMap.deserialize(dead[path]) | BitMap.deserialize(positions)
                dead[path] = both.serialize()
            else:
                dead[path] = positions
    return dead

"""A mirror that several tables of the source share: how shards join it, and leave it.

The first shard creates the Delta table, with a column for the shard that partitions it; each other
one adds its columns. `ShardTable` then shows the shard as a table of its own.
"""

import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from stream_jobs.apply.modes.mode import Mode
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import Column, highest_id, new_columns
from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.log import Moment
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import (
    CommitConflict,
    MirrorError,
    ShardOvertaken,
    delta_errors,
    job_errors,
    setting_errors,
    shard_errors,
)
from stream_jobs.pipeline_folder import has_other_folder
from stream_jobs.source.table_schema import Shard, TableSchema
from stream_jobs.tables import mirror_metadata, shard_table, shard_view
from stream_jobs.tables.column_changes import ColumnChange
from stream_jobs.tables.shard_columns import ColumnUnion, ShardList
from stream_jobs.tables.shared_delta import TRIES, TURN, SharedDelta

# The part of the retention after which a table is read again that other processes write.
SEEN_SHARE: Final = 0.25

# So long does a commit wait at most that another writer has overtaken.
_PAUSE_SECONDS: Final = 0.1

_COMMENT: Final = "the shard: which table of the source the row belongs to"


class MergedTable:
    """The mirror at a path; one object for all threads of a process."""

    def __init__(
        self, storage: Storage, path: str, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        """Look at `path` of `storage` when a shard is opened; wait for nobody if it `is_stopping`.

        What waits then raises StopRequested.
        """
        self._is_stopping = is_stopping
        self._storage = storage
        self.path = path
        self._lock = threading.RLock()
        self._shared: SharedDelta | None = None
        # Whether the pipeline has had the mirror first; None while nobody has asked.
        self._is_first: bool | None = None
        # When the newest version was read.
        self._seen: Moment | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a mirror with shards, as far as is known."""
        shared = self._shared
        return (
            shared is not None
            and mirror_metadata.SHARD_PROPERTY in shared.delta.snapshot.configuration
        )

    def open(self, shard: Shard, table: str, base: str) -> shard_table.ShardTable | None:
        """Return the newest version of a shard, which is `table`; None if the mirror lacks it.

        Raises MirrorError if the shard is another table, if the mirror has another column of
        shards, or if the path, which is below `base`, holds something else.
        """
        with self._lock:
            shared = self._load()
            if shared is None:
                return None
            snapshot, path = shared.delta.snapshot, f"{base.rstrip('/')}/{self.path}"
            before = snapshot.configuration.get(mirror_metadata.SHARD_PROPERTY)
            if before is None:
                raise MirrorError(job_errors.ANOTHER_TABLE, path=path, table=table)
            if before != shard.column:
                facts = {"path": path, "before": before, "now": shard.column}
                raise MirrorError(shard_errors.OTHER_SHARD_COLUMN, table=table, **facts)
            self._refuse_taken(snapshot, shard, table, path)
            return self._table(shared, shard) if _has(snapshot, shard) else None

    def _table(self, shared: SharedDelta, shard: Shard) -> shard_table.ShardTable:
        shared.has_others = bool(shard.prefix)
        return shard_table.ShardTable(shared, shard.value)

    def _refuse_taken(self, snapshot: Snapshot, shard: Shard, table: str, path: str) -> None:
        """Raise MirrorError if the shard is another table, or the table another shard."""
        for value, known in shard_view.shard_lists(snapshot).items():
            owner = known.properties[mirror_metadata.TABLE_PROPERTY]
            is_ours = self._is_ours(known, shard.prefix)
            is_same = is_ours and owner == table
            if is_same and value != shard.value:
                facts = {"path": path, "before": value, "now": shard.value}
                raise MirrorError(shard_errors.OTHER_SHARD, table=table, **facts)
            if not is_same and value == shard.value:
                names = {"others": [owner], "shard": value, "name": self.path}
                taken = shard_errors.SHARD_TWICE if is_ours else shard_errors.SHARD_OF_ANOTHER
                raise MirrorError(taken, table=table, **names)

    def _is_ours(self, known: ShardList, prefix: str) -> bool:
        """Return whether a shard is one of the pipeline whose topics have `prefix`.

        Without a prefix, no other pipeline has shards in the mirror. Lists that name none are from
        before the mirror was shared: its first pipeline made them.
        """
        if not prefix:
            return True
        if known.prefix is not None:
            return known.prefix == prefix
        if self._is_first is None:
            self._is_first = not has_other_folder(self._storage, prefix)
        return self._is_first

    def remove(self, shard: Shard, table: str, base: str) -> None:
        """Remove a shard with its rows, and the columns that no other one has.

        Versions before that keep them. Raises MirrorError as `open`.
        """

        def remove() -> None:
            if (shared := self._load()) is not None:
                shared.await_turn()
            own = self.open(shard, table, base)
            if own is not None:
                own.remove()

        with self._lock:
            _repeated(remove)

    def drop(self, is_chosen: Callable[[ShardList], bool], check: Callable[[], None]) -> None:
        """Remove the shards whose lists are chosen, in one commit; `check` is called before it.

        The columns that no other shard has go as well. Raises MirrorError if the table cannot be
        read, what `check` raises, and CommitConflict if other writers commit all the time.
        """

        def drop() -> None:
            if (shared := self._load()) is None:
                return
            shared.await_turn()
            lists = shard_view.shard_lists(shared.delta.snapshot)
            values = {value for value, each in lists.items() if is_chosen(each)}
            if values:
                check()
                shard_table.remove_shards(shared, values)

        with self._lock:
            _repeated(drop)

    def add(
        self,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: str,
        properties: Mapping[str, str],
        mode: Mode,
    ) -> shard_table.ShardTable:
        """Add the shard of `schema` without rows; the first one creates the table.

        `columns` are those that it would have alone. Raises MirrorError if it does not fit the
        other shards, and CommitConflict if another process has added it meanwhile.
        """
        shard = schema.chosen.shard
        assert shard is not None
        with self._lock:
            _repeated(lambda: self._add(schema, columns, progress, properties, mode))
            assert self._shared is not None
            return self._table(self._shared, shard)

    def _add(
        self,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: str,
        properties: Mapping[str, str],
        mode: Mode,
    ) -> None:
        shared = self._load()
        if shared is not None:
            shared.await_turn()
            self._join(shared, schema, columns, progress, mode)
            return
        delta = self._create(schema, columns, progress, properties, mode)
        self._shared = SharedDelta(delta, self._lock, is_stopping=self._is_stopping)

    def _load(self) -> SharedDelta | None:
        """Return the newest version of the table; None if there is none."""
        seen = Moment.here()
        if self._shared is not None:
            self._shared.delta.refresh()
        elif (delta := DeltaTable.open(self._storage, self.path)) is not None:
            self._shared = SharedDelta(delta, self._lock, is_stopping=self._is_stopping)
        self._seen = seen
        return self._shared

    @property
    def delta(self) -> DeltaTable | None:
        """The table, if any of its shards was opened."""
        return None if self._shared is None else self._shared.delta

    @property
    def is_old(self) -> bool:
        """Whether the newest version was read so long ago that a cut must not name it.

        Other processes delete versions that are older than the retention of the table. Raises
        MirrorError for a property that is no time.
        """
        seen_ms = math.inf if self._seen is None else self._seen.age_ms
        return seen_ms > self._retention_ms * SEEN_SHARE

    @property
    def kept_ms(self) -> float:
        """How long a cut can be read that names this table. Raises MirrorError as `is_old`."""
        return self._retention_ms * (1 - SEEN_SHARE)

    @property
    def _retention_ms(self) -> float:
        if self._shared is None:
            return math.inf
        delta = self._shared.delta
        return Retention.of(delta.path, delta.snapshot.configuration).versions

    def see(self) -> None:
        """Read the newest version, if that was long ago. Raises MirrorError as `is_old`."""
        with self._lock:
            if self.is_old:
                self._load()

    def _create(
        self,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: str,
        properties: Mapping[str, str],
        mode: Mode,
    ) -> DeltaTable:
        shard = schema.chosen.shard
        assert shard is not None
        about = (shard.column, pa.string(), {"comment": _COMMENT})
        own = {**properties, **_properties(schema, mode)}
        partition_by = (shard.column, *schema.chosen.partition_by)
        made = new_columns([about], highest_id(columns))
        metadata = Metadata((*made, *columns), own, partition_by)
        domains = _domains(schema, columns, progress)
        return DeltaTable.create(self._storage, self.path, metadata, domains)

    def _join(
        self,
        shared: SharedDelta,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: str,
        mode: Mode,
    ) -> None:
        shard = schema.chosen.shard
        assert shard is not None
        snapshot = shared.delta.snapshot
        metadata = snapshot.metadata
        self._refuse_taken(snapshot, shard, schema.name, self.path)
        if _has(snapshot, shard):
            # A newer process of the pipeline goes on with it.
            version = snapshot.version
            raise ShardOvertaken(delta_errors.COMMIT_CONFLICT, path=self.path, version=version)
        lists = shard_view.shard_lists(snapshot)
        if not lists:
            # The last shard has left.
            metadata = metadata.with_properties(_properties(schema, mode))
        self._refuse_other_choices(metadata, schema, mode)
        shard_table.refuse_other_key(snapshot, "", schema)
        union = ColumnUnion.of(metadata, lists, shard.value, schema.name, self.path)
        described = [(column.name, column.type, column.metadata) for column in columns]
        made = new_columns(described, metadata.last_id)
        change = union.united(ColumnChange(made, frozenset(), frozenset()))
        # A wider type comes with the first rows: those of the others are written again for it.
        types = {column.field_id: column.type for column in metadata.columns}
        own = [c._replace(type=types.get(c.field_id, c.type)) for c in change.columns]
        united = union.with_columns(own)
        assert united is not None
        domains = _domains(schema, own, progress)
        ended = (TURN,) if shared.ends_turn(is_mine=False) else ()
        joined = TableCommit(metadata=united, domains=domains, removed_domains=ended)
        shared.delta.commit(joined, "ADD SHARD")

    def _refuse_other_choices(self, metadata: Metadata, schema: TableSchema, mode: Mode) -> None:
        """Raise MirrorError if the mirror was made with another mode, or other partitions."""
        before = metadata.configuration[mirror_metadata.MODE_PROPERTY]
        facts: dict[str, object] = {"table": schema.name, "path": self.path}
        if before != mode.name:
            raise MirrorError(job_errors.MODE_CHANGED, **facts, before=before, now=mode.name)
        own, chosen = metadata.partition_columns[1:], schema.chosen.partition_by
        if own != chosen:
            raise MirrorError(setting_errors.OTHER_PARTITIONS, **facts, before=own, now=chosen)


def _repeated(commit: Callable[[], None]) -> None:
    """Call `commit` until no other writer comes in between; raises CommitConflict at some time."""
    for _ in range(TRIES - 1):
        try:
            commit()
        except ShardOvertaken:
            raise
        except CommitConflict:
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - not a secret
            continue
        return
    commit()


def _has(snapshot: Snapshot, shard: Shard) -> bool:
    return shard_view.LISTS + shard.value in snapshot.domains


def _properties(schema: TableSchema, mode: Mode) -> dict[str, str]:
    """Return what the mirror says about itself, apart from its shards."""
    shard = schema.chosen.shard
    assert shard is not None
    key = [shard.column, *schema.key] if schema.key else []
    return {
        mirror_metadata.TABLE_PROPERTY: schema.mirror_name,
        mirror_metadata.KEY_PROPERTY: json.dumps(key, ensure_ascii=False),
        mirror_metadata.PLACE_PROPERTY: json.dumps(schema.place, ensure_ascii=False),
        mirror_metadata.SHARD_PROPERTY: shard.column,
        mirror_metadata.MODE_PROPERTY: mode.name,
    }


def _domains(schema: TableSchema, columns: Sequence[Column], progress: str) -> dict[str, str]:
    """Return what the log holds of a shard."""
    shard = schema.chosen.shard
    assert shard is not None
    own = mirror_metadata.shard_properties(mirror_metadata.properties_of(schema))
    return {
        shard_view.LISTS + shard.value: ShardList.of(columns, own).write(),
        shard_view.PROGRESS + shard.value: progress,
    }


class MergedTables:
    """The mirrors of shards of one storage, by their paths."""

    def __init__(self, storage: Storage, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Open them when they are asked for; the process may be `is_stopping`."""
        self._is_stopping = is_stopping
        self._storage = storage
        self._lock = threading.Lock()
        self._tables: dict[str, MergedTable] = {}

    def at(self, path: str) -> MergedTable:
        """Return the mirror at `path`, which may not exist yet."""
        with self._lock:
            return self._tables.setdefault(
                path, MergedTable(self._storage, path, self._is_stopping)
            )

    def every(self) -> list[MergedTable]:
        """Return those that were asked for."""
        with self._lock:
            return list(self._tables.values())

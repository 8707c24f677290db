"""The messages between the driver and its tasks: what a task has to do, and what it did.

They are plain values, which Spark sends between processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_jobs.source.column_types import ColumnType, holds_all_values
from stream_jobs.source.table_schema import OWN_PREFIX

if TYPE_CHECKING:
    import pyarrow as pa

    from connector.foundation.contract import SchemaColumn
    from stream_jobs.apply.changes import LastChange
    from stream_jobs.apply.column_values import ZeroDates
    from stream_jobs.apply.key_index import IndexFolder
    from stream_jobs.apply.table_failures import RecordPosition
    from stream_jobs.delta.actions import DataFile
    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.storage import Storage
    from stream_jobs.errors import MirrorError
    from stream_jobs.source.sequence import PackedSequence, Truncate
    from stream_jobs.source.table_schema import TableSchema
    from stream_jobs.source.topics import BrokerConfig, OffsetRange


# Mirrors that a worker remembers; each takes some kilobytes.
_MIRRORS_MAX: Final = 4096


class RecordMapping(NamedTuple):
    """How records of one schema id become rows of the mirror."""

    schema: TableSchema
    # Columns of the mirror that `schema` lacks, with the value of such rows in them.
    added: Mapping[str, SchemaColumn]
    # Columns of `schema` that have another name in the mirror: it keeps those of older types.
    renamed: Mapping[str, str] = {}


@dataclass(frozen=True)
class MirrorDescription:
    """What a task sees of the mirror of a table, and what is mostly the same in each batch.

    So it is packed once, and a worker unpacks it once. All else of a task is new in each batch.
    """

    path: str  # below the root of the storage
    schema: TableSchema
    columns: tuple[Column, ...]  # of the Delta table, with those of the mode and the sequence
    # By schema id. A record with another id is not applied: the driver decides first.
    parses: Mapping[str, RecordMapping]
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _unpacked, (self._packed,)

    @cached_property
    def source_columns(self) -> tuple[Column, ...]:
        """The columns that come from the source."""
        return tuple(column for column in self.columns if not column.name.startswith(OWN_PREFIX))

    @cached_property
    def file_columns(self) -> tuple[Column, ...]:
        """The columns that data files have: those that do not partition the table."""
        return tuple(column for column in self.columns if column.name not in self.partition_by)

    @cached_property
    def stored_types(self) -> Mapping[str, pa.DataType]:
        """By column, the type in which its values are written."""
        types = {column.name: column.type for column in self.columns}
        for name in types.keys() & self.schema.by_name.keys():
            own = ColumnType.of(self.schema.by_name[name]).stored
            # Other shards of the mirror may need a wider type.
            if not holds_all_values(types[name], own):
                types[name] = own
        return types

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps([getattr(self, field.name) for field in fields(self)])


@lru_cache(_MIRRORS_MAX)
def _unpacked(packed: bytes) -> MirrorDescription:
    return MirrorDescription(*pickle.loads(packed))  # noqa: S301 - Spark unpickles the task, too


@dataclass(frozen=True, slots=True)
class TablePart:
    """Records of one table that a task applies."""

    topic: str
    ranges: tuple[OffsetRange, ...]
    # By partition, the sequence up to which changes were applied.
    marks: Mapping[int, PackedSequence]
    # The sequence of the last truncate; what becomes of rows below it, the mode says.
    floor: PackedSequence | None
    # The sequence from which on the table has the mirror's schema.
    since: PackedSequence | None
    # None: the records are only summarized.
    mirror: MirrorDescription | None
    # The data files of the mirror.
    files: tuple[DataFile, ...] = ()
    # Whether the floor is new, in a mode in which rows of data files below it die.
    floor_is_new: bool = False
    # Records that a user has told the job to leave out: partition and offset.
    skipped: frozenset[tuple[int, int]] = frozenset()
    mode: str = "current"
    # The truncates that may be above rows which are still to come, in order.
    truncates: tuple[Truncate, ...] = ()
    # In their partition: the offset up to which they are known, and the one up to which a part must
    # know them to know all; None if more can come.
    truncates_read: int = 0
    truncates_end: int | None = None
    # Records from this sequence on belong to a later cut: in each partition, the part ends before
    # the first one. None: all are applied.
    bound: PackedSequence | None = None


@dataclass(frozen=True, slots=True)
class RewrittenFile:
    """A data file whose live rows a task writes anew: for other columns, or after a truncate."""

    topic: str
    path: str  # of the table
    columns: tuple[Column, ...]
    # Columns that the file lacks, with the value of its rows in them.
    added: Mapping[str, SchemaColumn]
    key: tuple[str, ...]  # columns whose texts get statistics, too
    mode: str
    # A file that has no rows below them stays.
    truncates: tuple[Truncate, ...]
    file: DataFile


@dataclass(frozen=True, slots=True)
class CompactedFiles:
    """Data files whose live rows a task writes into one file, or one that is large into several."""

    topic: str
    path: str  # of the table
    files: tuple[DataFile, ...]
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    clustering: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one Spark task."""

    kafka: BrokerConfig
    storage: Storage
    index: IndexFolder
    zero_dates: ZeroDates
    # Of values that are held at once; what is above waits for the next round.
    bytes_max: int
    parts: tuple[TablePart, ...] = ()
    rewritten: tuple[RewrittenFile, ...] = ()
    compacted: tuple[CompactedFiles, ...] = ()

    def doing(
        self,
        *,
        parts: tuple[TablePart, ...] = (),
        rewritten: tuple[RewrittenFile, ...] = (),
        compacted: tuple[CompactedFiles, ...] = (),
    ) -> Task:
        """Return a task like this one with other work."""
        return replace(self, parts=parts, rewritten=rewritten, compacted=compacted)


@dataclass(slots=True)
class SchemaUse:
    """The sequences of the rows to apply that have one schema id."""

    lowest: PackedSequence
    highest: PackedSequence
    # The lowest one above the sequence from which on the mirror has its schema.
    lowest_since: PackedSequence | None


@dataclass(slots=True)
class PartResult:
    """What a task did with a part."""

    topic: str
    records: int = 0  # including tombstones
    changes: int = 0  # without tombstones
    rows: int = 0  # changes to one row: without tombstones and truncates
    applied: int = 0  # rows that were not applied before, and are above the floor
    upserts: int = 0  # keys whose last change is an insert or an update
    deletes: int = 0  # keys whose last change is a delete
    missing: int = 0  # rows to take away that a truncate has taken before, in mode `rows`
    changed_bytes: int = 0  # of the values of these rows, and of the keys that are deleted
    source_ts_ms: int | None = None  # when the source committed the latest of the applied rows
    # The same without copied rows, which have the time of the change before them, however old.
    streamed_ts_ms: int | None = None
    # By partition: the end of what was read, and the highest sequence of a change.
    offsets: dict[int, int] = field(default_factory=dict)
    highest: dict[int, PackedSequence] = field(default_factory=dict)
    schemas: dict[str, SchemaUse] = field(default_factory=dict)  # of the rows to apply
    # The partitions whose next record is not below the bound of the part.
    held: set[int] = field(default_factory=set)
    # The lowest offset of a row to apply that no truncate has followed, by partition.
    first_row: dict[int, int] = field(default_factory=dict)
    truncated: PackedSequence | None = None  # the latest `t` that the driver does not know
    truncates: list[Truncate] = field(default_factory=list)  # all that it does not know
    keyless: RecordPosition | None = None  # the first row to apply without a key
    error: MirrorError | None = None
    # Whether the rows were written; if not, the driver has to decide something first.
    is_applied: bool = False
    last: LastChange | None = None  # of the applied rows
    # One file, or one of each partition of the table.
    files: tuple[DataFile, ...] = ()
    # The files whose rows are in `files` now.
    replaced: tuple[DataFile, ...] = ()
    # By path of a data file, the positions of rows that die: a Roaring bitmap.
    dead: dict[str, bytes] = field(default_factory=dict)


def results_by_topic(results: Iterable[PartResult]) -> dict[str, list[PartResult]]:
    """Return the results of each table."""
    groups: dict[str, list[PartResult]] = {}
    for result in results:
        groups.setdefault(result.topic, []).append(result)
    return groups

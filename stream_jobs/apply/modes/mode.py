"""The interface of a mode, and its input: the changes of one table, its mirror, and the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.changes import TRUNCATE, Changes
from stream_jobs.apply.key_index import IndexColumns
from stream_jobs.apply.row_lookup import Lookup
from stream_jobs.apply.rows import RowReader, Rows
from stream_jobs.apply.task_messages import MirrorDescription, PartResult, TablePart, Task
from stream_jobs.delta.columns import Column
from stream_jobs.delta.compaction import in_key_order
from stream_jobs.delta.data_skipping import partition_rows
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate
from stream_jobs.source.table_schema import TableSchema


class Truncation(Enum):
    """What a truncate does to the rows of a mirror that are below it.

    The driver makes it the floor of the table, except with IS_A_ROW. If a mode needs a key, rows
    below the floor that have none are left out: they are from before the table had its key. So a
    mode that needs a key and ignores truncates has CHANGES, and its `after_truncates` returns None.
    """

    KILLS = auto()  # they die, and those that are still to come are left out
    # `after_truncates` gets the rows of the mirror; `apply` gets those that are still to come.
    CHANGES = auto()
    IS_A_ROW = auto()  # nothing; the truncate is a change to apply


class ModeColumn(NamedTuple):
    """A column that the source does not have."""

    name: str
    type: pa.DataType
    comment: str


class CurrentRows(NamedTuple):
    """The rows of a mirror that the source has now: all, or those with a value in a column."""

    column: str | None = None
    value: bool = True


class LastChanges:
    """The last change of each key since the last truncate, without deletes; no column says which.

    Rows have the operation in the column `OP` of `stream_jobs/apply/modes/journal.py`.
    """


class Mode:
    """A mode without state; each name has one instance, in the driver and in every worker."""

    name: ClassVar[str]
    # Between the source's columns and the sequence.
    columns: ClassVar[tuple[ModeColumn, ...]] = ()
    # Whether only tables with a key, or only tables without one, can have such a mirror.
    needs_key: ClassVar[bool] = True
    refuses_key: ClassVar[bool] = False
    # Whether columns that the source lost or retyped stay, with the values that they had.
    keeps_columns: ClassVar[bool] = False
    # Whether rows from before ADD COLUMN get the value that the server gave them: yes, if a row is
    # what the source has; no, if it is what the log has, as in a journal.
    is_filling: ClassVar[bool] = True
    truncation: ClassVar[Truncation] = Truncation.KILLS
    # Whether a record that comes twice in a batch has to be left out: yes, unless `apply` compares
    # the sequences of changes with those of rows, so that it changes nothing.
    is_counting: ClassVar[bool] = True
    # `verify` compares them with the source; None if the mirror does not say which they are. Of
    # the modes of tables without a key, it compares `rows` alone.
    current_rows: ClassVar[CurrentRows | LastChanges | None] = None

    def suits(self, schema: TableSchema) -> bool:
        """Return whether the table can have such a mirror."""
        return not self.refuses_key if schema.key else not self.needs_key

    def are_due(
        self, changes: Changes, are_above_mark: NDArray[np.bool_], floor: PackedSequence | None
    ) -> NDArray[np.bool_]:
        """Return which changes are to be applied.

        A batch without any commits no progress. So a mode ignores changes in `apply`, not here.
        """
        due = changes.are_rows & are_above_mark
        if self.truncation is Truncation.IS_A_ROW:
            due |= (changes.ops == TRUNCATE) & are_above_mark
        if self.is_counting:
            due &= changes.are_first()
        if floor is not None and self.truncation is Truncation.KILLS:
            due &= changes.sequences.are_above(floor)
        elif floor is not None and self.needs_key and None in changes.keys:
            # Rows from before the table had its key.
            have_key = np.fromiter((key is not None for key in changes.keys), np.bool_)
            due &= have_key | changes.sequences.are_above(floor)
        return due

    def apply(self, work: "ModeInput", due: NDArray[np.intp]) -> None:
        """Apply the changes at `due`: fill in the result of `work`.

        Their `ops` are c, u, d, r (a copied row) and t. An r may come at any time, also for a key
        that the mirror has. A d from a copy has the key alone. A change of the key comes as d and
        c. Changes of a key are in order within a partition, but a task may read several, and if the
        topic got more partitions, an older change can come later: compare sequences.

        Raises InvalidRecordError for a record that is wrong, MirrorError if the storage fails.
        """
        raise NotImplementedError

    def after_truncates(self, data: pa.Table, truncates: Sequence[Truncate]) -> pa.Table | None:
        """Return the rows of a data file as they are after truncates; None if none is below them.

        Only asked if a truncate changes rows.
        """
        raise NotImplementedError

    def indexed(self, mirror: MirrorDescription) -> IndexColumns:
        """Return what the indexes of data files have."""
        named = {column.name: column for column in mirror.columns}
        key = tuple(named[name] for name in mirror.schema.key)
        return IndexColumns(key, sequence_columns(named), may_lack_key=self.keeps_columns)

    def file_order(self, schema: TableSchema) -> tuple[str, ...]:
        """Return the columns by which rows of a file are found, which have statistics."""
        return schema.key


def sequence_columns(named: dict[str, Column]) -> tuple[Column, ...]:
    """Return the two columns of the sequence."""
    return named[HI], named[LO]


@dataclass(frozen=True, slots=True)
class ModeInput:
    """The changes of one part of a table."""

    task: Task
    part: TablePart
    mirror: MirrorDescription
    changes: Changes
    # Whether a missing column of a row gets its default, and the columns that order a file.
    is_filling: bool
    file_order: tuple[str, ...]
    # Its `dead` has the rows that die: by path of a file, a serialized `BitMap` of positions.
    result: PartResult

    @property
    def reader(self) -> RowReader:
        """Reads the images of the changes."""
        mirror = self.mirror
        return RowReader(
            self.changes,
            mirror.parses,
            mirror.schema,
            mirror.stored_types,
            self.is_filling,
            self.task.zero_dates,
        )

    @property
    def source_columns(self) -> Sequence[Column]:
        """The columns of the mirror that come from the source."""
        return self.mirror.source_columns

    def lookup(self, indexed: IndexColumns) -> Lookup:
        """Return the data files of the mirror.

        `find` returns the `dead` rows, those that changes with higher sequences replace. For
        another order, take `live_rows`, and make `dead` of the positions of those that die, as
        `StoredVersions.dead` in `stream_jobs/apply/modes/versions.py` does.
        """
        task, mirror = self.task, self.mirror
        return Lookup(task.storage, task.index, mirror.path, indexed, self.part.files)

    def in_order(self, data: pa.Table) -> pa.Table:
        """Return rows in the order that a file has."""
        return in_key_order(data, self.file_order)

    def write(self, data: pa.Table, indexed: IndexColumns | None) -> None:
        """Write rows into a new file of each partition, if there are any, and keep the indexes."""
        if not data.num_rows:
            return
        task, mirror = self.task, self.mirror
        names = set(data.column_names)
        for column in mirror.columns:
            if column.name not in names:
                data = data.append_column(column.name, pa.nulls(data.num_rows, column.type))
        order = (*self.file_order, *mirror.cluster_by)
        files = []
        for values, rows in partition_rows(mirror.path, mirror.columns, mirror.partition_by, data):
            file = write_file(
                task.storage,
                mirror.path,
                mirror.file_columns,
                rows,
                key=order,
                partition_values=values,
            )
            if indexed is not None:
                task.index.keep(mirror.path, file, indexed, rows)
            files.append(file)
        self.result.files = tuple(files)

    def count(self, upserts: int, deletes: int, *rows: Rows) -> None:
        """Note what was applied, and when the source committed the latest of it.

        `upserts` and `deletes` are keys, `rows` what was read for them. Metrics count changes that
        are due and not among them as superseded. Only `rows` set the time up to which the mirror
        has the source: if changes are ignored, its lag grows until one is not.
        """
        times = [part.source_ts_ms for part in rows if part.source_ts_ms is not None]
        self.result.upserts, self.result.deletes = upserts, deletes
        self.result.source_ts_ms = max(times, default=None)
        streamed = [part.streamed_ts_ms(self.changes.ops) for part in rows]
        self.result.streamed_ts_ms = max((at for at in streamed if at is not None), default=None)
        tables = [part.data for part in rows if part.data.num_rows]
        # Nothing of these is a slice, for which `nbytes` looks at each value.
        self.result.changed_bytes = sum(data.get_total_buffer_size() for data in tables)

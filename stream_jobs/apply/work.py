"""What a mode works with: the changes of one table, its mirror, and the result to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from stream_jobs.apply.lookup import Lookup
from stream_jobs.apply.rows import RowReader, Rows
from stream_jobs.delta.compaction import in_key_order
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.partitions import divide
from stream_jobs.schema.table_schema import OWN_PREFIX

if TYPE_CHECKING:
    from stream_jobs.apply.changes import Changes
    from stream_jobs.apply.facts import MirrorFacts, PartResult, TablePart, Task
    from stream_jobs.apply.key_index import Indexed
    from stream_jobs.delta.columns import Column


@dataclass(frozen=True, slots=True)
class Work:
    """The changes of one part of a table."""

    task: Task
    part: TablePart
    mirror: MirrorFacts
    changes: Changes
    # Whether a missing column of a row gets its default, and the columns that order a file.
    is_filling: bool
    file_order: tuple[str, ...]
    result: PartResult

    @property
    def reader(self) -> RowReader:
        """Reads the images of the changes."""
        mirror = self.mirror
        return RowReader(
            self.changes,
            mirror.parses,
            mirror.schema,
            self.is_filling,
            self.task.zero_dates,
        )

    @property
    def source_columns(self) -> list[Column]:
        """The columns of the mirror that come from the source."""
        return [each for each in self.mirror.columns if not each.name.startswith(OWN_PREFIX)]

    def lookup(self, indexed: Indexed) -> Lookup:
        """Return the data files of the mirror."""
        task, mirror = self.task, self.mirror
        return Lookup(task.storage, task.index, mirror.path, indexed, self.part.files)

    def in_order(self, data: pa.Table) -> pa.Table:
        """Return rows in the order that a file has."""
        return in_key_order(data, self.file_order)

    def write(self, data: pa.Table, indexed: Indexed | None) -> None:
        """Write rows into a new file of each partition, if there are any, and keep the indexes."""
        if not data.num_rows:
            return
        task, mirror = self.task, self.mirror
        names = set(data.column_names)
        for column in mirror.columns:
            if column.name not in names:
                data = data.append_column(column.name, pa.nulls(data.num_rows, column.type))
        columns = [column for column in mirror.columns if column.name not in mirror.partition_by]
        order = (*self.file_order, *mirror.cluster_by)
        files = []
        for values, rows in divide(mirror.path, mirror.columns, mirror.partition_by, data):
            file = write_file(
                task.storage, mirror.path, columns, rows, key=order, partition_values=values
            )
            if indexed is not None:
                task.index.keep(mirror.path, file, indexed, rows)
            files.append(file)
        self.result.files = tuple(files)

    def count(self, upserts: int, deletes: int, *rows: Rows) -> None:
        """Note what was applied, and when the source committed the latest of it."""
        times = [each.source_ts_ms for each in rows if each.source_ts_ms is not None]
        self.result.upserts, self.result.deletes = upserts, deletes
        self.result.source_ts_ms = max(times, default=None)
        streamed = [each.streamed_ts_ms(self.changes.ops) for each in rows]
        self.result.streamed_ts_ms = max((at for at in streamed if at is not None), default=None)
        self.result.changed_bytes = sum(each.data.nbytes for each in rows)

"""A table with two columns that partition it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.table import DeltaTable, TableCommit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_jobs.delta.actions import DataFile
    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.storage import Storage


class Partitioned:
    """The columns `id`, `a` and `b`, and the partitions `by`."""

    def __init__(self, storage: Storage, path: str, *by: str) -> None:
        kinds = {"id": pa.int64(), "a": pa.string(), "b": pa.string()}
        columns = new_columns([(name, kind, {}) for name, kind in kinds.items()])
        self.path = path
        self.table = DeltaTable.create(storage, path, Metadata(columns, partition_columns=by))

    def add(self, number: int) -> DataFile:
        """Commit a file with three rows, whose other values have this number."""
        snapshot = self.table.snapshot
        data = pa.table({"id": pa.array(range(3 * number, 3 * number + 3), pa.int64())})
        values = {c.physical_name: f"{c.name}{number}" for c in snapshot.columns if c.name != "id"}
        own = snapshot.metadata.file_columns
        file = write_file(self.table.storage, self.path, own, data, partition_values=values)
        self.table.commit(TableCommit(new=[file]), "WRITE")
        return file

    def columns(self) -> dict[str, Column]:
        return {column.name: column for column in self.table.snapshot.columns}

    def change(self, columns: Iterable[Column]) -> None:
        """Commit other columns, or the same ones in another order."""
        metadata = self.table.snapshot.metadata.with_columns(columns)
        self.table.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")

    def arrange(self, *names: str) -> None:
        """Commit the columns in this order."""
        columns = self.columns()
        self.change([columns[name] for name in names])

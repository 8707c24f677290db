"""A Delta table that is published to Iceberg, and what its readers see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, TableHead, reader_uri
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    delta_rs_rows,
    opened,
    polars_rows,
    pyiceberg_rows,
)

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

    from stream_jobs.delta.storages import LocalStorage
    from stream_jobs.delta.table import DeltaTable


class Published:
    """The Iceberg side of the table at `path`."""

    def __init__(self, storage: LocalStorage, path: str, snapshots: int = 60) -> None:
        self.root = Path(storage.root)
        self.path = path
        self.at = 1_800_000_000_000
        self._snapshots = snapshots
        self.files = TableFiles(storage, reader_uri(storage.root))
        self.publisher = TablePublisher(self.files, path, snapshots)

    @property
    def delta(self) -> Path:
        return self.root / self.path

    @property
    def folder(self) -> Path:
        return self.root / "_iceberg" / self.path

    def publish(self, table: DeltaTable, **facts: Any) -> TableHead:
        """Publish ten seconds after the time before."""
        self.at += 10_000
        return self.publisher.publish(table.snapshot, Occasion(self.at, **facts))

    def keep_snapshots(self, count: int) -> None:
        """Keep so many from now on."""
        self._snapshots = count
        self.restart()

    def restart(self, storage: LocalStorage | None = None) -> None:
        """Begin with what is stored, as another process does."""
        if storage is not None:
            self.files = TableFiles(storage, self.files.uri)
        self.publisher = TablePublisher(self.files, self.path, self._snapshots)

    def snapshot(self) -> IcebergSnapshot:
        found = opened(self.folder).current_snapshot()
        assert found is not None
        return found

    def agree(self, duckdb: DuckDB) -> int:
        """Compare all readers, and return the number of rows."""
        rows = delta_rs_rows(self.delta)
        assert pyiceberg_rows(self.folder) == rows
        assert duckdb.rows(self.folder) == rows
        assert polars_rows(self.folder) == rows
        return len(rows)

"""What readers of Iceberg see of tables that several pipelines publish."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from stream_jobs.cuts.reader import mirror_at
from tests.stream_jobs.iceberg.readers import DuckDB, delta_rs_rows, opened, pyiceberg_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PAUSE_SECONDS = 0.3


def published(mirror: Path, tables: Iterable[str]) -> dict[str, Path]:
    """Return the folders of the Iceberg tables that can be read, by table."""
    folders = {table: mirror / "_iceberg" / "lake" / table for table in tables}
    return {
        table: folder
        for table, folder in folders.items()
        if (folder / "metadata" / "version-hint.text").exists()
    }


class Looker(threading.Thread):
    """Opens the tables until it is stopped: each has the rows of its version."""

    def __init__(self, mirror: Path, tables: Iterable[str]) -> None:
        """Read the tables of a mirror."""
        super().__init__(daemon=True)
        self._mirror = mirror
        self._tables = list(tables)
        self._stopped = threading.Event()
        self.looks = 0
        self.problems: list[str] = []

    def run(self) -> None:
        """Look at one table after the other."""
        while not self._stopped.wait(_PAUSE_SECONDS):
            for table, folder in published(self._mirror, self._tables).items():
                try:
                    self._look(table, folder)
                except Exception as error:  # noqa: BLE001 - readers have errors of their own
                    self.problems.append(f"{table}: {type(error).__name__}: {error}")

    def _look(self, table: str, folder: Path) -> None:
        own = opened(folder)
        snapshot = own.current_snapshot()
        if snapshot is None or not snapshot.snapshot_id:
            return
        count = own.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows
        if count != len(delta_rs_rows(self._mirror / "lake" / table, snapshot.snapshot_id)):
            self.problems.append(f"{table} has other rows at version {snapshot.snapshot_id}")
        self.looks += 1

    def stop(self) -> list[str]:
        """End; return what was wrong."""
        self._stopped.set()
        self.join()
        return self.problems[:20]


def differences(mirror: Path, tables: Iterable[str], prefixes: Iterable[str]) -> Iterator[str]:
    """Yield what readers see that delta-rs does not, now and at the newest cuts."""
    duckdb = DuckDB()
    folders = published(mirror, tables)
    for table in tables:
        if table not in folders:
            yield f"{table} is not published"
            continue
        rows = delta_rs_rows(mirror / "lake" / table)
        if pyiceberg_rows(folders[table]) != rows:
            yield f"{table} has other rows in PyIceberg"
        if duckdb.rows(folders[table]) != rows:
            yield f"{table} has other rows in DuckDB"
    for prefix in prefixes:
        at = mirror_at(str(mirror), prefix=prefix, format="iceberg")
        if at.tables.keys() != at.cut.tables.keys():
            yield f"{at.tag} is not in all tables"
        for name, (_, snapshot) in at.tables.items():
            table = name.removeprefix("lake.")
            rows = delta_rs_rows(mirror / "lake" / table, at.cut.tables[name].version)
            for read in (pyiceberg_rows, duckdb.rows):
                if read(folders[table], snapshot) != rows:
                    yield f"{table} has other rows at {at.tag}"

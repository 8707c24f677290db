"""A mirror with a past: each step is a version of its table, and cuts name some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyroaring import BitMap

from stream_jobs.cuts import Cut, CutTable
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.parquet_file import live_positions, rows_at, write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.topics import column
from verification.mirror_side import MirrorSide

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.delta.actions import DataFile

NAME = "shop.t"
COLUMNS = (Column("id", pa.int32(), 1, "c1"), Column("v", pa.int32(), 2, "c2"))
PROGRESS = Progress("a", PackedSequence(0, 0), 1)


class Past:
    """The table `shop.t` with the columns `id` and `v`."""

    def __init__(self, folder: Path, *, keys: int = 1) -> None:
        """Make the table in `folder`, with the first column as its key, or with `keys` = 0 none."""
        self._keys = keys
        self.storage = LocalStorage(str(folder))
        domains = {DOMAIN: PROGRESS.write()}
        self.delta = DeltaTable.create(self.storage, "shop/t", Metadata(COLUMNS), domains)
        self.store = CutStore(self.storage)
        self._cuts = 0

    @property
    def side(self) -> MirrorSide:
        """The mirror, as a comparison reads it."""
        columns = (column("id", "int", key=self._keys), column("v", "int"))
        schema = TableSchema("shop", "t", "a", PackedSequence(0, 0), columns)
        opened = DeltaTable.open(self.storage, "shop/t")
        assert opened is not None
        return MirrorSide(MirrorTable(opened, PROGRESS), schema)

    def write(self, rows: dict[int, int | None], *, cut: bool = True) -> int:
        """Give keys a value, or no row with None; return the version."""
        dead = {}
        for path, (positions, data) in self._live().items():
            found = zip(positions, data["id"].to_pylist(), strict=True)
            gone = BitMap(position for position, key in found if key in rows)
            if gone:
                dead[path] = gone.serialize()
        new = {key: value for key, value in rows.items() if value is not None}
        self.delta.commit(TableCommit(new=self._files(new), dead=dead), "MERGE")
        if cut:
            self.add_cut()
        return self.delta.snapshot.version

    def rewrite(self, *, data_change: bool) -> int:
        """Write all rows into one new file; return the version."""
        rows: dict[int, int] = {}
        for _, data in self._live().values():
            rows |= zip(data["id"].to_pylist(), data["v"].to_pylist(), strict=True)
        old = tuple(self.delta.snapshot.files.values())
        change = TableCommit(new=self._files(rows), removed=old, data_change=data_change)
        self.delta.commit(change, "OPTIMIZE")
        return self.delta.snapshot.version

    def add_cut(self, *, has_table: bool = True) -> None:
        """Write a cut with the newest version."""
        self._cuts += 1
        snapshot = self.delta.snapshot
        own = CutTable(self.delta.path, snapshot.version, snapshot.metadata.table_id)
        number = self._cuts
        cut = Cut(
            seq=f"{number:038d}",
            flavour="mysql",
            gtid=f"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-{number}",
            position=f"binlog.000007:{number}00",
            source_time_ms=number * 1000,
            written_ms=number * 1000 + 5,
            tables={NAME: own} if has_table else {},
            left_out={} if has_table else {NAME: "the connector is copying it"},
            number=number,
        )
        assert self.store.put(cut)

    def _live(self) -> dict[str, tuple[list[int], pa.Table]]:
        found = {}
        for path, file in self.delta.snapshot.files.items():
            positions = live_positions(self.storage, self.delta.path, file, COLUMNS)
            data = rows_at(self.storage, self.delta.path, file, COLUMNS, positions)
            found[path] = positions.tolist(), data
        return found

    def _files(self, rows: dict[int, int]) -> list[DataFile]:
        if not rows:
            return []
        schema = pa.schema([(each.name, each.type) for each in COLUMNS])
        data = pa.table({"id": list(rows), "v": list(rows.values())}, schema=schema)
        return [write_file(self.storage, self.delta.path, COLUMNS, data)]

"""What the ranges of a load commit to its mirror."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.modes import MODES
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.load.range_task import RangeResult
from stream_jobs.load.table_loading import TableLoading, WantedLoad
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.load_state import LoadPart, SourceMoment, TableLoad
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

MOMENT = SourceMoment("server", "mysql", None, "binlog.000003:400")
SEQ = PackedSequence(7, 8)
PARTS = (LoadPart(high="10"), LoadPart(low="10"))
LOAD = TableLoad("a1", "reading", SEQ, MOMENT, ("id int",), PARTS)
SCHEMA = TableSchema("shop", "t", "s", SEQ, ())


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(LocalStorage(str(tmp_path)), "t", {"delta.checkpointInterval": "3"})


def loading_of(sample: Sample) -> TableLoading:
    own = MirrorTable(sample.table, Progress("s", SEQ, 1, load=LOAD))
    return TableLoading(
        WantedLoad("topic", SCHEMA, "a1", MODES["current"]), own, lambda: None, nullcontext()
    )


def commit(loading: TableLoading, sample: Sample, number: int, *, done: bool = False) -> None:
    place = loading.take_part()
    assert place is not None
    part = replace(loading.load.parts[place], last=(f"{number:02x}",), done=done)
    result = RangeResult(part, 10, (sample.write(range(number * 10, number * 10 + 10)),))
    loading.commit(place, result, lambda: MOMENT)


def test_a_long_load_writes_checkpoints(sample: Sample, tmp_path: Path) -> None:
    """Without them, each start would read all commits, and the first batch waits for them."""
    loading = loading_of(sample)
    for number in range(7):
        commit(loading, sample, number)
    log = tmp_path / "t" / "_delta_log"
    assert sorted(path.name[:20] for path in log.glob("*.checkpoint.parquet")) == [
        f"{3:020}",
        f"{6:020}",
    ]
    again = DeltaTable.open(sample.storage, "t")
    assert again is not None
    assert again.snapshot.live_rows == 70
    assert again.snapshot.checkpoint == 6


def test_the_last_range_asks_for_the_end(sample: Sample) -> None:
    loading = loading_of(sample)
    commit(loading, sample, 0, done=True)
    assert loading.load.phase == "reading"
    commit(loading, sample, 1, done=True)
    assert (loading.load.phase, loading.load.end, loading.load.rows) == ("catching up", MOMENT, 20)
    assert loading.take_part() is None

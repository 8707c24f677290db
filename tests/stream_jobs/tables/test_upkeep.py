"""Small files of a mirror become one, unless somebody else is writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task import run_task
from stream_jobs.apply.task_messages import PartResult, Task
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import delta_errors
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import BrokerConfig
from stream_jobs.tables.maintenance import ChangedTable, TableMaintenance
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.tables.storage_requests import CountedStorage, apply_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TARGET = 1 << 20


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(LocalStorage(str(tmp_path)), "t", {})


def run_here(tasks: Sequence[Task]) -> list[PartResult]:
    return [result for task in tasks for result in run_task(task)]


def do_upkeep(
    sample: Sample, run: Callable[[Sequence[Task]], list[PartResult]] = run_here
) -> DeltaTable:
    """Do what is due after a batch, and return the table."""
    own = MirrorTable(sample.table, Progress("schema", PackedSequence(0, 0), 1))
    index = IndexFolder("unused", 0)
    template = Task(BrokerConfig((), 1.0, ()), sample.storage, index, "error", TARGET)
    TableMaintenance(template, run, lambda: 2, 2, TARGET).after(
        [ChangedTable("topic", own, ("id",))]
    )
    return own.delta


def test_eight_small_files_become_one(sample: Sample) -> None:
    for number in range(7):
        sample.append([number])
    assert len(do_upkeep(sample).snapshot.files) == 7
    sample.append([7])
    assert len(do_upkeep(sample).snapshot.files) == 1
    assert sample.ids() == list(range(8))


def test_two_cores_share_a_large_group(sample: Sample) -> None:
    rows = 600
    tasks: list[Task] = []

    def run(own: Sequence[Task]) -> list[PartResult]:
        tasks.extend(own)
        return run_here(own)

    for number in range(16):
        sample.append(range(number * rows, (number + 1) * rows))
        if number < 15:
            assert len(do_upkeep(sample, run).snapshot.files) == number + 1
    assert sum(file.size for file in sample.table.snapshot.files.values()) > TARGET // 16
    files = do_upkeep(sample, run).snapshot.files.values()
    assert [file.rows for file in files] == [8 * rows, 8 * rows]
    assert [len(task.compacted) for task in tasks] == [1, 1]
    assert sample.ids() == list(range(16 * rows))


def test_files_without_live_rows_become_nothing(sample: Sample) -> None:
    for _ in range(8):
        sample.append([])
    assert do_upkeep(sample).snapshot.files == {}


def test_a_table_with_a_lost_file_fails_alone(sample: Sample, tmp_path: Path) -> None:
    for number in range(8):
        sample.append([number])
    next(tmp_path.glob("t/*.parquet")).unlink()
    own = MirrorTable(sample.table, Progress("schema", PackedSequence(0, 0), 1))
    template = Task(BrokerConfig((), 1.0, ()), sample.storage, IndexFolder("x", 0), "error", TARGET)
    upkeep = TableMaintenance(template, run_here, lambda: 2, 2, TARGET)
    failed = upkeep.after([ChangedTable("topic", own, ("id",))])
    assert {topic: error.code for topic, error in failed.items()} == {
        "topic": delta_errors.FILE_MISSING
    }


def test_what_somebody_else_commits_meanwhile_stays(sample: Sample, tmp_path: Path) -> None:
    def run_beside_another(tasks: Sequence[Task]) -> list[PartResult]:
        results = run_here(tasks)
        other = DeltaTable.open(sample.storage, sample.path)
        assert other is not None
        other.commit(TableCommit(domains={"a": "b"}), "WRITE")
        return results

    for number in range(8):
        sample.append([number])
    files = set(tmp_path.glob("t/*.parquet"))
    table = do_upkeep(sample, run_beside_another)
    assert set(tmp_path.glob("t/*.parquet")) == files
    table.refresh()
    assert len(table.snapshot.files) == 8
    assert do_upkeep(sample).snapshot.domains["a"] == "b"
    assert len(table.snapshot.files) == 1
    assert sample.ids() == list(range(8))


def test_a_batch_of_a_table_costs_two_puts_and_two_gets(tmp_path: Path) -> None:
    """The file and its commit; the hint of a checkpoint, and the commit before."""
    counts = []
    for batches in (2, 7):
        storage = CountedStorage(LocalStorage(str(tmp_path / str(batches))))
        apply_batches(storage, batches)
        counts.append(storage.counts)
    assert counts[1] - counts[0] == {"put": 10, "get": 10}

"""A process that is told to stop waits for no turn of another one, and commits nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task import run_task
from stream_jobs.apply.task_messages import Task
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import StopRequested
from stream_jobs.source.table_schema import Shard
from stream_jobs.source.topics import BrokerConfig
from stream_jobs.tables.maintenance import ChangedTable, TableMaintenance
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.tables.test_shard_commits import PATH, commit, joined, opened, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.tables.shard_table import ShardTable

US = Shard("shard", "us", "b")
TARGET = 1 << 20

WAITING: dict[str, Callable[[MergedTable, ShardTable], object]] = {
    "commit": lambda _, us: commit(us, 2, 2),
    "turn": lambda _, us: us.take_turn(),
    "join": lambda merged, _: joined(merged, "new", "b"),
    "leave": lambda merged, _: merged.remove(US, "shop_us.orders", ""),
}


def with_turn(folder: Path, stopping: threading.Event) -> tuple[ShardTable, MergedTable]:
    """Return a shard whose process has a turn, and the mirror as the process of `us` sees it."""
    eu = opened(folder, "eu", "a")
    merged = MergedTable(LocalStorage(str(folder)), PATH, stopping.is_set)
    joined(merged, "us", "b")
    eu.refresh()
    eu.take_turn()
    return eu, merged


def shard_of(merged: MergedTable) -> ShardTable:
    us = merged.open(US, "shop_us.orders", "")
    assert us is not None
    return us


@pytest.mark.parametrize("wait", WAITING.values(), ids=WAITING)
def test_what_waits_ends_at_once_without_a_commit(
    tmp_path: Path, wait: Callable[[MergedTable, ShardTable], object]
) -> None:
    stopping, ended = threading.Event(), threading.Event()
    eu, merged = with_turn(tmp_path, stopping)
    us = shard_of(merged)

    def go_on() -> None:
        try:
            wait(merged, us)
        except StopRequested:
            ended.set()

    waiter = threading.Thread(target=go_on, daemon=True)
    waiter.start()
    waiter.join(0.5)
    assert waiter.is_alive()
    stopping.set()
    assert ended.wait(10)
    version = eu.snapshot.version
    assert eu.refresh().version == version
    eu.commit(rewritten(eu), "CHANGE COLUMNS")
    # Without a turn, it ends what it has begun.
    wait(merged, shard_of(merged))


def test_a_batch_whose_rows_are_committed_ends_without_a_compaction(tmp_path: Path) -> None:
    stopping = threading.Event()
    eu, merged = with_turn(tmp_path, stopping)
    eu.commit(rewritten(eu), "CHANGE COLUMNS")
    us = shard_of(merged)
    for number in range(8):
        commit(us, number, number)
    eu.refresh()
    eu.take_turn()
    stopping.set()
    written: list[Path] = []

    def run(tasks: Sequence[Task]) -> list[PartResult]:
        results = [result for task in tasks for result in run_task(task)]
        written.extend(tmp_path / PATH / file.location for own in results for file in own.files)
        assert all(path.exists() for path in written)
        return results

    task = Task(BrokerConfig((), 1.0, ()), us.storage, IndexFolder("unused", 0), "error", TARGET)
    own = MirrorTable(us, Progress.read(us.snapshot.domains[DOMAIN]))
    changed = ChangedTable("topic", own, ("id",))
    assert TableMaintenance(task, run, lambda: 1, 1, TARGET).after([changed]) == {}
    assert len(written) == 1
    assert not written[0].exists()
    assert len(us.snapshot.files) == 8

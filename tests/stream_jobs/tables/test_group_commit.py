"""Commits of shards that wait at the same time: what they share, and what fails alone."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
from pyroaring import BitMap

from stream_jobs.apply.changes import LastChange
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import (
    CommitConflict,
    MirrorError,
    ShardOvertaken,
    StopRequested,
    delta_errors,
)
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard
from stream_jobs.tables import group_commit
from stream_jobs.tables.commit_threads import map_tables
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from tests.stream_jobs.tables.test_shard_commits import (
    SEQ,
    commit,
    file_of,
    joined,
    merged_of,
    opened,
    progress,
    rewritten,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stream_jobs.delta.actions import DataFile
    from stream_jobs.tables.merged_table import MergedTable
    from stream_jobs.tables.shard_table import ShardTable

NAMES = ("asia", "eu", "us")
SECONDS = 20.0


@pytest.fixture
def merged(tmp_path: Path) -> MergedTable:
    return merged_of(tmp_path)


@pytest.fixture
def shards(merged: MergedTable) -> dict[str, ShardTable]:
    """Three shards of one process; each has a file with the rows 1 and 2."""
    found = {name: joined(merged, name) for name in NAMES}
    for own in found.values():
        commit(own, 1, 1, 2)
    return found


def with_row(own: ShardTable, offset: int, key: int) -> TableCommit:
    return TableCommit(new=[file_of(own, key)], domains=progress(offset))


def together(
    commits: Mapping[ShardTable, Callable[[], object]], meanwhile: Callable[[], object] = int
) -> list[BaseException | None]:
    """Let commits wait at the same time, in this order; return the error of each.

    All have begun to wait when `meanwhile` is called.
    """
    shared = next(iter(commits))._shared
    with ThreadPoolExecutor(len(commits)) as pool:
        with shared.lock:
            done = []
            for number, own in enumerate(commits.values(), 1):
                done.append(pool.submit(own))
                ends_at = time.monotonic() + SECONDS
                while len(shared.waiting) < number:
                    assert time.monotonic() < ends_at
                    time.sleep(0.001)
            meanwhile()
        return [each.exception(SECONDS) for each in done]


def merges(changes: Mapping[ShardTable, TableCommit]) -> dict[ShardTable, Callable[[], object]]:
    return {own: partial(own.commit, change, "MERGE") for own, change in changes.items()}


def version_of(own: ShardTable) -> int:
    return own.whole.snapshot.version


def test_commits_that_wait_share_a_version(shards: dict[str, ShardTable], tmp_path: Path) -> None:
    before = version_of(shards["eu"])
    changes = {own: with_row(own, 2, 10 + n) for n, own in enumerate(shards.values())}
    assert together(merges(changes)) == [None] * 3
    for name, own in shards.items():
        assert own.snapshot.version == before + 1
        assert own.snapshot.domains == progress(2)
        newest = opened(tmp_path, name)
        assert newest.snapshot.files == own.snapshot.files
        assert (newest.snapshot.domains, rows(newest)) == (progress(2), 3)


def test_the_shards_of_a_round_share_a_version(shards: dict[str, ShardTable]) -> None:
    before = version_of(shards["eu"])

    def finish(name: str) -> None:
        # One of them may take longer to decide.
        time.sleep(0.05 * (name == "us"))
        shards[name].commit(with_row(shards[name], 2, 10), "MERGE")

    with ThreadPoolExecutor(1) as pool:
        map_tables(pool, NAMES, lambda _: "t", finish)
    assert version_of(shards["eu"]) == before + 1
    assert [rows(own) for own in shards.values()] == [3, 3, 3]


def test_dead_rows_of_each_shard_are_its_own(shards: dict[str, ShardTable], tmp_path: Path) -> None:
    changes = {}
    for number, own in enumerate(shards.values()):
        (path,) = own.snapshot.files
        dead = {path: BitMap(range(number)).serialize()} if number else {}
        changes[own] = TableCommit(new=[file_of(own, 7)], dead=dead, domains=progress(2))
    assert together(merges(changes)) == [None] * 3
    for number, (name, own) in enumerate(shards.items()):
        assert rows(opened(tmp_path, name)) == rows(own) == 3 - number
    # A file without live rows is gone.
    assert len(shards["us"].snapshot.files) == 1


def test_the_version_tells_of_the_newest_change(shards: dict[str, ShardTable]) -> None:
    changes = {}
    for number, own in zip((8, 9, 7), shards.values(), strict=True):
        last = LastChange(PackedSequence(1, number), f"0-1-{number}")
        told = Progress("s", SEQ, 1, offsets={0: 2}, last=last)
        domains = {DOMAIN: told.write()}
        changes[own] = TableCommit(new=[file_of(own, 9)], domains=domains, note=told.note())
    assert together(merges(changes)) == [None] * 3
    whole = shards["eu"].whole
    info = json.loads(whole.log.content(whole.snapshot.version).splitlines()[0])["commitInfo"]
    assert json.loads(info["userMetadata"])["cdc.gtid"] == "0-1-9"


def test_what_the_version_has_cost_counts_once(shards: dict[str, ShardTable]) -> None:
    for own in shards.values():
        own.take_costs()
    changes = {own: with_row(own, 2, 10) for own in shards.values()}
    assert together(merges(changes)) == [None] * 3
    costs = [own.take_costs() for own in shards.values()]
    assert [each.commits for each in costs] == [1, 0, 0]
    assert costs[0].bytes > sum(file.size for c in changes.values() for file in c.new)
    assert len({each.changed_ms for each in costs}) == 1
    assert costs[0].changed_ms is not None


def gone(own: ShardTable) -> TableCommit:
    """Return a commit that names a file that the table does not have."""
    dead = {"gone.parquet": BitMap([0]).serialize()}
    return TableCommit(new=[file_of(own, 10)], dead=dead, domains=progress(2))


def test_a_commit_that_names_a_missing_file_fails_alone(shards: dict[str, ShardTable]) -> None:
    asia, eu, us = shards.values()
    changes = {asia: with_row(asia, 2, 10), eu: gone(eu), us: with_row(us, 2, 10)}
    first, error, last = together(merges(changes))
    assert (first, last) == (None, None)
    assert isinstance(error, MirrorError)
    assert error.code is delta_errors.FILES_GONE
    assert (rows(asia), rows(eu), rows(us)) == (3, 2, 3)
    assert eu.snapshot.domains == progress(1)


def test_a_shard_that_another_process_has_changed_fails_alone(
    shards: dict[str, ShardTable], tmp_path: Path
) -> None:
    asia, eu, us = shards.values()
    changes = {own: with_row(own, 2, 10) for own in (asia, eu, us)}
    other = opened(tmp_path, "eu")
    first, error, last = together(merges(changes), lambda: commit(other, 5, 5))
    assert (first, last) == (None, None)
    # Who has read the version says that it is a conflict, and not one of this process.
    assert isinstance(error, CommitConflict)
    assert not isinstance(error, ShardOvertaken)
    assert (rows(asia), rows(eu), rows(us)) == (3, 3, 3)
    assert eu.snapshot.domains == progress(5)


def test_all_are_tried_again_when_another_writer_was_faster(
    shards: dict[str, ShardTable], tmp_path: Path
) -> None:
    changes = {own: with_row(own, 2, 10) for own in shards.values()}
    other = opened(tmp_path, "africa")
    assert together(merges(changes), lambda: commit(other, 1, 1)) == [None] * 3
    assert [rows(own) for own in shards.values()] == [3, 3, 3]
    assert rows(opened(tmp_path, "africa")) == 1


def test_all_fail_when_other_writers_are_always_faster(
    shards: dict[str, ShardTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "TRIES", 2)
    other, delta = opened(tmp_path, "africa"), shards["eu"].whole
    write = delta.write

    def late(*arguments: object) -> object:
        commit(other, 1, 1)
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(delta, "write", late)
    changes = {own: with_row(own, 2, 10) for own in shards.values()}
    errors = together(merges(changes))
    assert [type(error) for error in errors] == [CommitConflict] * 3
    assert [rows(own) for own in shards.values()] == [2, 2, 2]


def test_an_error_of_the_storage_is_raised_for_each(
    shards: dict[str, ShardTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = MirrorError(delta_errors.STORAGE_FAILED, path="p", said="no route")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(shards["eu"].whole, "write", fail)
    changes = {own: with_row(own, 2, 10) for own in shards.values()}
    assert together(merges(changes)) == [failure] * 3
    assert [own.snapshot.domains for own in shards.values()] == [progress(1)] * 3


def test_a_stop_ends_each_commit_that_waits_for_a_turn(
    shards: dict[str, ShardTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise StopRequested

    monkeypatch.setattr(shards["eu"]._shared, "await_turn", stop)
    changes = {own: with_row(own, 2, 10) for own in shards.values()}
    assert [type(error) for error in together(merges(changes))] == [StopRequested] * 3


def test_the_second_commit_of_a_shard_has_to_see_the_first(
    shards: dict[str, ShardTable], merged: MergedTable
) -> None:
    eu, us = shards["eu"], shards["us"]
    again = merged.open(Shard("shard", "eu"), "shop_eu.orders", "")
    assert again is not None
    assert again is not eu
    changes = {own: with_row(own, 2, 10) for own in (eu, again, us)}
    first, error, last = together(merges(changes))
    assert (first, last) == (None, None)
    assert isinstance(error, ShardOvertaken)
    assert (rows(eu), rows(us)) == (3, 3)


def test_another_operation_has_its_own_version(shards: dict[str, ShardTable]) -> None:
    eu, us = shards["eu"], shards["us"]
    before: list[DataFile] = list(us.snapshot.files.values())
    smaller = TableCommit(
        new=[file_of(us, 1, 2)], removed=before, data_change=False, domains=progress(1)
    )
    one = with_row(eu, 2, 10)
    version = version_of(eu)
    both = {eu: lambda: eu.commit(one, "MERGE"), us: lambda: us.commit(smaller, "OPTIMIZE")}
    assert together(both) == [None, None]
    assert version_of(eu) == version + 2
    assert (rows(eu), rows(us)) == (3, 2)


def test_columns_are_changed_alone_and_first(shards: dict[str, ShardTable]) -> None:
    """A commit of columns may be part of a turn, in which nobody else may commit."""
    asia, eu, us = shards.values()
    changes = {own: with_row(own, 2, 10) for own in (asia, us)}
    eu.refresh()
    change = rewritten(eu)
    columns_at: list[int] = []

    def widen() -> None:
        eu.commit(change, "CHANGE COLUMNS")
        columns_at.append(version_of(eu))

    before = version_of(eu)
    errors = together(merges(changes), widen)
    assert columns_at == [before + 1]
    # The types of columns are others: both rounds run again.
    assert [type(error) for error in errors] == [ShardOvertaken] * 2

"""The threads that commit: which tables and shards are under way together."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from stream_jobs.tables import commit_threads
from stream_jobs.tables.commit_threads import await_others, map_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 20.0


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def table_of(work: str) -> str:
    return work.partition(".")[0]


def test_each_work_has_its_result(pool: ThreadPoolExecutor) -> None:
    works = ["a.1", "b.1", "a.2", "c.1", "b.2"]
    assert sorted(map_tables(pool, works, table_of, str.upper)) == [
        ("a.1", "A.1"), ("a.2", "A.2"), ("b.1", "B.1"), ("b.2", "B.2"), ("c.1", "C.1"),
    ]  # fmt: skip
    assert map_tables(pool, [], table_of, str.upper) == []


def test_the_shards_of_a_table_wait_for_each_other(pool: ThreadPoolExecutor) -> None:
    begun: list[str] = []

    def commit(work: str) -> int:
        begun.append(work)
        await_others()
        return len([other for other in begun if table_of(other) == table_of(work)])

    works = [f"{table}.{shard}" for table in "ab" for shard in range(10)]
    assert {seen for _, seen in map_tables(pool, works, table_of, commit)} == {10}


def test_nobody_waits_for_a_shard_without_a_commit(pool: ThreadPoolExecutor) -> None:
    commits = []

    def commit(work: str) -> None:
        if work.endswith("!"):
            raise ValueError(work)
        if not work.endswith("-"):
            await_others()
            commits.append(work)

    with pytest.raises(ValueError, match=r"a\.3!"):
        map_tables(pool, ["a.1", "a.2-", "a.3!", "a.4"], table_of, commit)
    assert sorted(commits) == ["a.1", "a.4"]


def test_a_second_commit_does_not_wait(pool: ThreadPoolExecutor) -> None:
    first = threading.Event()

    def commit(work: str) -> None:
        await_others()
        if work == "a.1":
            await_others()
            first.set()
        else:
            assert first.wait(SECONDS)
            await_others()

    map_tables(pool, ["a.1", "a.2"], table_of, commit)


def test_a_thread_is_free_again_after_its_work(pool: ThreadPoolExecutor) -> None:
    """A thread of the pool, or that of the caller, belongs to no group between two works."""
    map_tables(pool, ["a.1", "a.2"], table_of, lambda _: None)
    for _ in range(3):
        assert pool.submit(await_others).result(SECONDS) is None
    await_others()


def test_only_some_shards_of_a_table_have_threads(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_threads, "_SHARDS", 3)
    running, most, lock = 0, 0, threading.Lock()

    def commit(_: str) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        await_others()
        time.sleep(0.01)
        with lock:
            running -= 1

    map_tables(pool, [f"a.{shard}" for shard in range(8)], table_of, commit)
    assert most == 3


def test_only_some_tables_are_written_at_a_time(pool: ThreadPoolExecutor) -> None:
    running, most, lock = set[str](), 0, threading.Lock()

    def commit(work: str) -> None:
        nonlocal most
        with lock:
            running.add(work)
            most = max(most, len({table_of(own) for own in running}))
        await_others()
        time.sleep(0.01)
        with lock:
            running.discard(work)

    works = [f"{table}.{shard}" for table in "abcdef" for shard in range(2)]
    map_tables(pool, works, table_of, commit)
    assert most == 2

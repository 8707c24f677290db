"""The threads that commit: some tables at a time, and all shards of a table together.

A version can have the commits of many shards (`group_commit.py`). So each shard of a table has a
thread, and its commit waits until the others have theirs, too, or need none. The table is still
written by one of these threads: a storage has as many requests under way as there are tables.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

# Shards of one table that have threads at the same time.
_SHARDS: Final = 64

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


class _Group:
    """Threads whose commits wait for each other."""

    def __init__(self, size: int) -> None:
        self._missing = size
        self._lock = threading.Lock()
        self._is_complete = threading.Event()

    def arrive(self) -> None:
        with self._lock:
            self._missing -= 1
            if not self._missing:
                self._is_complete.set()

    def wait(self) -> None:
        self._is_complete.wait()


class _Thread(threading.local):
    # The group that waits for this thread.
    group: _Group | None = None


_thread: Final = _Thread()


def await_others() -> None:
    """Wait until each shard of the table that has a thread beside this one has come so far.

    Only the first commit of a thread waits.
    """
    group, _thread.group = _thread.group, None
    if group is not None:
        group.arrive()
        group.wait()


def map_tables(
    tables: ThreadPoolExecutor,
    works: Iterable[_Work],
    table_of: Callable[[_Work], str],
    do: Callable[[_Work], _Result],
) -> list[tuple[_Work, _Result]]:
    """Return what `do` returns for each of `works`, of as many tables at a time as `tables` has.

    Raises what `do` raises, after all of them have ended.
    """
    by_table: dict[str, list[_Work]] = {}
    for work in works:
        by_table.setdefault(table_of(work), []).append(work)
    running = [(own, tables.submit(_map_shards, own, do)) for own in by_table.values()]
    wait([results for _, results in running])
    return [pair for own, results in running for pair in zip(own, results.result(), strict=True)]


def _map_shards(works: Sequence[_Work], do: Callable[[_Work], _Result]) -> list[_Result]:
    if len(works) == 1:
        return [do(works[0])]
    results: list[_Result] = []
    with ThreadPoolExecutor(min(len(works), _SHARDS)) as shards:
        for start in range(0, len(works), _SHARDS):
            own = works[start : start + _SHARDS]
            group = _Group(len(own))
            running = [shards.submit(_do_in, group, do, work) for work in own]
            wait(running)
            results += [each.result() for each in running]
    return results


def _do_in(group: _Group, do: Callable[[_Work], _Result], work: _Work) -> _Result:
    _thread.group = group
    try:
        return do(work)
    finally:
        if _thread.group is not None:
            _thread.group = None
            group.arrive()

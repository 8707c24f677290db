"""Tables that are compared at the same time, each in a thread.

Most of their time, small tables wait for pipeline and mirror, so many are compared at once. Of all
others, only one: it may need much memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:
    from verification.report import TableResult
    from verification.table_definitions import DefinedTable, TableName


class Compare(Protocol):
    """Compares a table."""

    def __call__(
        self, database: str, table: str, defined: DefinedTable | None, *, is_small: bool
    ) -> TableResult:
        """Return what was found."""
        ...


_SMALL_AT_A_TIME: Final = 64


class TableQueue:
    """Compares tables in threads; a context manager leaves what has not begun."""

    def __init__(self, compare: Compare) -> None:
        """Compare each table by `compare`."""
        self._compare = compare
        self._small = ThreadPoolExecutor(_SMALL_AT_A_TIME, "verify-small")
        self._large = ThreadPoolExecutor(1, "verify-large")
        self._ended: SimpleQueue[Future[TableResult]] = SimpleQueue()
        self._left = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for threads in (self._small, self._large):
            threads.shutdown(wait=False, cancel_futures=True)

    def add(self, name: TableName, defined: DefinedTable | None, *, is_small: bool) -> None:
        """Compare a table when there is a thread for it."""
        threads = self._small if is_small else self._large
        future = threads.submit(self._compare, *name, defined, is_small=is_small)
        self._left += 1
        future.add_done_callback(self._ended.put)

    def results(self, most: int) -> Iterator[TableResult]:
        """Yield what is there, until at most `most` tables are left; raises what a table raises."""
        while self._left > most or not self._ended.empty():
            future = self._ended.get()
            self._left -= 1
            yield future.result()

"""Tables that are compared at the same time, each in a thread.

Most of their time, tables with few rows to read wait for pipeline and mirror, so many are compared
at once. Tables that need more memory are compared a few at a time, and large ones one after the
other.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, Literal, NamedTuple, Self

from verification.report import TableResult
from verification.table_comparison import Scope
from verification.table_definitions import DefinedTable, TableName

Compare = Callable[[TableName, DefinedTable | None, Scope], TableResult]

# How much a table needs: few rows; a part of its rows, or a connection of its own; all.
Size = Literal["small", "medium", "large"]
# So many are compared at a time.
_THREADS: Final[dict[Size, int]] = {"small": 64, "medium": 8, "large": 1}


class QueuedTable(NamedTuple):
    """A table that was compared."""

    name: TableName
    size: Size
    compared: Future[TableResult]


class TableQueue:
    """Compares tables in threads; a context manager leaves what has not begun."""

    def __init__(self, compare: Compare) -> None:
        """Compare each table by `compare`."""
        self._compare = compare
        self._threads = {
            size: ThreadPoolExecutor(count, f"verify-{size}") for size, count in _THREADS.items()
        }
        self._ended: SimpleQueue[QueuedTable] = SimpleQueue()
        # Tables that wait or are compared, and of these the large ones.
        self.left = 0
        self.large: set[TableName] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    def add(self, name: TableName, defined: DefinedTable | None, scope: Scope, size: Size) -> None:
        """Compare a table when there is a thread for it."""
        future = self._threads[size].submit(self._compare, name, defined, scope)
        self.left += 1
        if size == "large":
            self.large.add(name)
        future.add_done_callback(lambda ended: self._ended.put(QueuedTable(name, size, ended)))

    def ended(self, most: int, *, waits_for_large: bool = True) -> Iterator[QueuedTable]:
        """Yield what is there, until at most `most` tables are left.

        Unless it `waits_for_large`, large ones do not count.
        """
        while self._count(waits_for_large=waits_for_large) > most or not self._ended.empty():
            table = self._ended.get()
            self.left -= 1
            if table.size == "large":
                self.large.discard(table.name)
            yield table

    def _count(self, *, waits_for_large: bool) -> int:
        return self.left if waits_for_large else self.left - len(self.large)

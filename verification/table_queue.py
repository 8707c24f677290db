"""Tables that are compared at the same time, each in a thread.

Most of their time, tables with few rows to read wait for pipeline and mirror, or for the log of the
source, so many are compared at once. Tables that need more memory are compared a few at a time, and
large ones one after the other.
"""

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, Generic, Literal, NamedTuple, Self, TypeVar

# How much a table needs: few rows; a part of its rows, or a connection of its own; all.
Size = Literal["small", "medium", "large"]
# So many are compared at a time.
_THREADS: Final[dict[Size, int]] = {"small": 64, "medium": 8, "large": 1}

Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")


class QueuedTable(NamedTuple, Generic[Name, Result]):
    """A table that was compared."""

    name: Name
    size: Size
    compared: Future[Result]


class TableQueue(Generic[Name, Result]):
    """Compares tables in threads; a context manager leaves what has not begun."""

    def __init__(self) -> None:
        self._threads = {
            size: ThreadPoolExecutor(count, f"verify-{size}") for size, count in _THREADS.items()
        }
        self._ended: SimpleQueue[QueuedTable[Name, Result]] = SimpleQueue()
        # Tables that wait or are compared, and of these the large ones.
        self.left = 0
        self.large: set[Name] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    def add(self, name: Name, size: Size, compare: Callable[[], Result]) -> None:
        """Compare a table by `compare` when there is a thread for it."""
        future = self._threads[size].submit(compare)
        self.left += 1
        if size == "large":
            self.large.add(name)
        future.add_done_callback(lambda ended: self._ended.put(QueuedTable(name, size, ended)))

    def ended(
        self, most: int, *, waits_for_large: bool = True
    ) -> Iterator[QueuedTable[Name, Result]]:
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

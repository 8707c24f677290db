"""What can be fetched: only what is on the disk. A reader never sees what a crash could take back.

Each write notes which offsets are visible once it is on the disk. Long polls wait here.
"""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from connector.kafka.folder.frames import Key


class Limits(NamedTuple):
    """The offsets after the last visible record, and after the last one that no end can change."""

    high_watermark: int
    stable: int


@dataclass(slots=True)
class Waiter:
    """A thread that waits for a record at one of these offsets, or after it."""

    wanted: Mapping[Key, int]
    committed: bool
    news: threading.Event = field(default_factory=threading.Event)


class Visibility:
    """The limits of all partitions; callers hold the lock, but to wait for `Waiter.news`."""

    def __init__(self) -> None:
        """Begin without partitions."""
        self._limits: dict[Key, Limits] = {}
        self._pending: deque[tuple[int, Key, Limits]] = deque()
        # By their identities, because they are compared by what they want.
        self._waiters: dict[int, Waiter] = {}

    def begin_partition(self, key: Key, limits: Limits) -> None:
        """Set the limits of a partition that has none yet to what is on the disk."""
        self._limits.setdefault(key, limits)

    def limits(self, key: Key) -> Limits:
        """Return the limits of a partition."""
        return self._limits[key]

    def expect(self, end: int, key: Key, limits: Limits) -> None:
        """Set the limits once all is on the disk up to `end`."""
        self._pending.append((end, key, limits))

    def on_disk(self, end: int) -> None:
        """Let be seen what is on the disk now."""
        changed = set()
        while self._pending and self._pending[0][0] <= end:
            _, key, limits = self._pending.popleft()
            if key in self._limits:
                self._limits[key] = limits
                changed.add(key)
        for waiter in self._waiters.values():
            if any(self._is_ready(waiter, key) for key in changed & waiter.wanted.keys()):
                waiter.news.set()

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget partitions, and wake those who wait for them."""
        gone = set(keys)
        for key in gone:
            self._limits.pop(key, None)
        for waiter in self._waiters.values():
            if gone & waiter.wanted.keys():
                waiter.news.set()

    def begin_wait(self, waiter: Waiter) -> None:
        """Let a waiter have news; `end_wait` must follow."""
        self._waiters[id(waiter)] = waiter
        if self.is_ready(waiter):
            waiter.news.set()

    def end_wait(self, waiter: Waiter) -> None:
        """Forget a waiter."""
        del self._waiters[id(waiter)]

    def is_ready(self, waiter: Waiter) -> bool:
        """Return whether one of its fetches would return at once."""
        return any(self._is_ready(waiter, key) for key in waiter.wanted)

    def wake_all(self) -> None:
        """Wake all who wait."""
        for waiter in self._waiters.values():
            waiter.news.set()

    def _is_ready(self, waiter: Waiter, key: Key) -> bool:
        limits = self._limits.get(key)
        if limits is None:
            return True
        limit = limits.stable if waiter.committed else limits.high_watermark
        return limit > waiter.wanted[key]

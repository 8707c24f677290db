"""When the workload has changed each table, and how long a change waits for the mirror."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ChangeTimes:
    """The changes that are not in the mirror yet; all times are milliseconds since 1970."""

    def __init__(self, unit_ms: int = 1) -> None:
        """The source knows its times to `unit_ms`."""
        self._unit_ms = unit_ms
        self._waiting: dict[str, deque[int]] = {}

    @property
    def tables(self) -> set[str]:
        """The tables that have changed."""
        return set(self._waiting)

    def add(self, tables: Iterable[str], at_ms: int) -> None:
        """Note that `tables` change now: a commit begins `at_ms`."""
        for table in tables:
            self._waiting.setdefault(table, deque()).append(at_ms - at_ms % self._unit_ms)

    def lag_ms(self, table: str, applied_ms: int, now_ms: int) -> int | None:
        """Return how long the oldest change has waited; None if `table` never changed.

        The mirror has the changes up to `applied_ms`.
        """
        waiting = self._waiting.get(table)
        if waiting is None:
            return None
        while waiting and waiting[0] <= applied_ms:
            waiting.popleft()
        return max(0, now_ms - waiting[0]) if waiting else 0

"""When the source committed the transactions of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from mypy_extensions import i64

_US_PER_MS: Final = 1000


@final
class CommitTimes:
    """Counts transactions by the millisecond of their commit, in the order of the log.

    Transactions that follow each other within a millisecond are one entry, so a busy source costs
    a comparison for each of its transactions.
    """

    def __init__(self) -> None:
        self._ms: i64 = 0
        self._count: i64 = 0
        self._earlier: list[tuple[int, int]] = []

    def add(self, committed_us: i64) -> None:
        """Count a transaction that the source committed then, in microseconds since the epoch."""
        ms: i64 = committed_us // _US_PER_MS
        if ms != self._ms:
            if self._count:
                self._earlier.append((self._ms, self._count))
            self._ms = ms
            self._count = 0
        self._count += 1

    def take(self) -> list[tuple[int, int]]:
        """Return each time, in milliseconds since the epoch, with its count; then begin again."""
        taken = self._earlier
        if self._count:
            taken.append((self._ms, self._count))
        self._earlier = []
        self._count = 0
        return taken

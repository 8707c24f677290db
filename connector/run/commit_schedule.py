"""When the changes that wait become visible: at once where nothing follows, else in batches.

A lone change waits for nobody. While a commit takes its time, what comes gathers and is committed
next, so that batches grow with the load by themselves: where a source sends nearly as fast as its
changes are delivered, it takes many times the time of a commit to catch up with it.
"""

from __future__ import annotations

# Transactions of tables that are not followed move the position; it is kept this fresh.
_POSITION_SECONDS = 5.0


class CommitSchedule:
    """Times the commits of one stream; every time is in seconds, of one clock that never goes back.

    `records` says whether the batch has any, or transactions of tables alone that are not followed.
    """

    def __init__(self, interval_seconds: float, now: float) -> None:
        """Let no change wait for longer than `interval_seconds`, once its transaction is complete.

        A commit has just ended.
        """
        self._interval_seconds = interval_seconds
        self._batch_started = now
        self._committed_at = now

    def started(self, now: float) -> None:
        """Take note of a batch that will have its first record now."""
        self._batch_started = now

    def committed(self, now: float) -> None:
        """Take note of a commit that has ended now."""
        self._committed_at = now

    def due(self, *, records: bool) -> float:
        """Return when to commit, where the source has nothing more to send."""
        return self._committed_at if records else self._committed_at + _POSITION_SECONDS

    def overdue(self, *, records: bool) -> float:
        """Return when to commit, whatever the source sends."""
        return self._batch_started + self._interval_seconds if records else self.due(records=False)

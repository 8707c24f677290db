"""Says when waiting changes become visible: at once if no more follow, else in batches.

A single change does not wait. Changes that arrive during a commit are committed next, so batches
grow with the load. If a source sends nearly as fast as its changes are delivered, the stream needs
many commits to catch up.
"""

from __future__ import annotations

# Transactions of unfollowed tables only move the position; it is at most this old.
_POSITION_SECONDS = 5.0


class CommitSchedule:
    """Times the commits of one stream; all times are seconds of one monotonic clock.

    `records` says whether the batch has records; without, it has only transactions of unfollowed
    tables.
    """

    def __init__(self, interval_seconds: float, now: float) -> None:
        """Commit complete transactions within `interval_seconds`; a commit has just ended."""
        self._interval_seconds = interval_seconds
        self._batch_started = now
        self._committed_at = now

    def started(self, now: float) -> None:
        """Note that a batch gets its first record now."""
        self._batch_started = now

    def committed(self, now: float) -> None:
        """Note that a commit has ended now."""
        self._committed_at = now

    def due(self, *, records: bool) -> float:
        """Return when to commit if the source has nothing more to send."""
        return self._committed_at if records else self._committed_at + _POSITION_SECONDS

    def overdue(self, *, records: bool) -> float:
        """Return when to commit even if the source sends more."""
        return self._batch_started + self._interval_seconds if records else self.due(records=False)

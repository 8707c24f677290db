"""A line a minute: what was done since the last one, and how the stream stands.

The lines are written when the minute of the clock is full. So those of several pipelines stand
beside each other, and what happened at 03:12 lies between two of them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog

from connector.status.words import abbreviated, busiest_tables
from connector.system.background import Background

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.status.facts import Facts

SUMMARY = "summary"
_MINUTE_SECONDS = 60.0


class Summaries(Background):
    """Writes the line from a thread, so that there is one while the stream is stuck, too."""

    def __init__(self, facts: Callable[[], Facts], every_seconds: float = _MINUTE_SECONDS) -> None:
        """Count from the facts as they are now."""
        super().__init__("summaries")
        self._facts = facts
        self._every_seconds = every_seconds
        self._before = facts()

    def _run(self) -> None:
        due = self._full(time.time()) + self._every_seconds
        while not self._closed.wait(due - time.time()):
            now = self._facts()
            structlog.get_logger().info(SUMMARY, **summary(self._before, now))
            self._before = now
            due = max(due, self._full(time.time())) + self._every_seconds

    def _full(self, at: float) -> float:
        """Return when the last minute before `at` was full."""
        return at // self._every_seconds * self._every_seconds


def summary(before: Facts, now: Facts) -> dict[str, object]:
    """Return the fields of the line; what is not known is None."""
    state, lag, position, purge = now.state, now.lag, now.position, now.purge
    seconds = max(now.at - before.at, 1e-3)
    then, done = before.throughput, now.throughput
    assert then is not None  # both are facts of this process
    assert done is not None
    records = done.records - then.records
    return {
        "state": state.state.value,
        "reason": state.reason,
        "code": state.code,
        "seconds": round(seconds, 1),
        "transactions": done.transactions - then.transactions,
        "records": records,
        "records_per_second": round(records / seconds),
        "bytes": done.bytes - then.bytes,
        "commits": done.commits - then.commits,
        "interruptions": done.interruptions - then.interruptions,
        "tables": busiest_tables(_counted(before, now)),
        "lag_seconds": None if lag is None else round(lag.seconds, 1),
        "lag_bytes": None if lag is None else lag.bytes,
        "lag_transactions": None if lag is None else lag.transactions,
        "time_to_purge_seconds": None
        if purge is None or purge.seconds is None
        else round(purge.seconds),
        "position": None if position is None else f"{position.file}:{position.position}",
        "gtid_set": None if position is None else abbreviated(position.gtid_set),
    }


def _counted(before: Facts, now: Facts) -> dict[str, int]:
    """Return the records of each table since `before`."""
    earlier = {table.name: table.records for table in before.tables}
    counts = {table.name: table.records - earlier.get(table.name, 0) for table in now.tables}
    return {name: count for name, count in counts.items() if count}

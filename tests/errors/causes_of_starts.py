"""Where a stream begins or goes on: start points, failover, and what a server says to a dump."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_OVER = "give the pipeline a new name and start over"
_START = 'give the pipeline a new name and set source.start = "snapshot"'

POINTS = Group(
    "Start points",
    "Of `source.start`, before the first row.",
    (
        Cause(
            "start.no_tables",
            "no table is followed yet: source.tables matches none that the account may see",
            ": look at the names in it, and at the grants",
            End.LOGGED,
        ),
    ),
)

FAILOVER = Group(
    "Going on: lagging, purged, reset, diverged and foreign servers",
    "Asked of each server of `source.host` and `source.failover_hosts` before each dump; "
    "docs/failover.md tells how they are told apart.",
    (
        Cause(
            "",
            End.RETRIED,
        ),
        Cause(),
    ),
)


STARTS = (POINTS, FAILOVER)

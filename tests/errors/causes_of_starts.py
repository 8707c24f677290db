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
            "failover.doubt_file",
            "source {address}: {file} does not come behind transactions that were read: {gtids}: "
            "the logs may have been reset, which is looked at now",
            "",
            End.RETRIED,
        ),
        Cause(
            "failover.doubt_end",
            "{place}: the log ends at {end}, and went up to {before}: the logs may have been "
            "reset, which is looked at now",
            "",
            End.RETRIED,
        ),
        Cause(
            "failover.doubt_size",
            "{place}: {file} ends at {size}, and was read up to {position}: the logs may have been "
            "reset, which is looked at now",
            "",
            End.RETRIED,
        ),
        Cause(
            "failover.flavour",
            "{place}: the stream was read from {before}, this is {now}",
            f": {_START}",
        ),
        Cause(
            "failover.position",
            "{place}: the stream stands at {file}:{position} of server {before}, but this is "
            "server {now}, and positions mean nothing on another server",
            f": go back to the first, or {_START}; only with gtid_mode = ON from its start on can "
            "a stream change the server",
        ),
        Cause(
            "failover.gtid_mode",
            "{place}: the stream has been read by GTID, but the server's gtid_mode is off",
            ": SET GLOBAL gtid_mode back to ON, or give the pipeline a new name and set "
            'source.start = "{start}"',
        ),
    ),
)


STARTS = (POINTS, FAILOVER)

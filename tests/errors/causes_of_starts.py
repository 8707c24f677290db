"""Where a stream begins or goes on: start points, failover, and what a server says to a dump."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_OVER = "give the pipeline a new name and start over"
_START = 'give the pipeline a new name and set source.start = "snapshot"'
_GONE = ". What was written since cannot be told from what was read"

POINTS = Group(
    "Start points",
    "Of `source.start`, before the first row.",
    (
        Cause(
            "start.word",
            "source.start {start!r} is not snapshot, earliest, latest, gtid:SET, position:FILE:POS "
            "or timestamp:TIME",
            "",
        ),
        Cause(
            "start.no_tables",
            "no table is followed yet: source.tables matches none that the account may see",
            ": look at the names in it, and at the grants",
            End.LOGGED,
        ),
        Cause(
            "start.zone",
            "source.start timestamp:{time} is not a time with its zone",
            ": write it like timestamp:2026-11-21T10:00:00Z",
        ),
        Cause(
            "start.future",
            "{place}: source.start timestamp:{time} is in the future: it is {now} there",
            ": choose a time that has come, or set source.start to latest",
        ),
        Cause(
            "start.before",
            "{place}: source.start timestamp:{time} lies before the oldest log, {file}, which "
            "begins at {begins}",
            ": choose a time from then on, or set source.start to earliest",
        ),
        Cause(
            "start.hangs",
            "{place}: a dump of {file} was not answered within {seconds} seconds",
            ": look whether the server hangs",
            End.RETRIED,
        ),
        Cause(
            "start.gtid_set",
            "source.start: cannot read GTID set member {member!r}: {why}",
            "; it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7",
        ),
        Cause(
            "start.mariadb_gtid",
            "source.start: {member!r} is not a MariaDB GTID",
            "; it looks like 0-1-5",
        ),
        Cause(
            "start.no_gtids",
            "{place}: source.start names GTIDs, but the server has gtid_mode {mode}",
            ": set gtid_mode = ON, or start by position",
        ),
        Cause(
            "start.no_log",
            "{place}: the binary log is off",
            ": start the server with log_bin",
        ),
        Cause(
            "start.inside",
            "{place}: {file}:{position} is a {event} event inside a transaction",
            ": start where a transaction starts, at a Gtid or Anonymous_Gtid event of SHOW BINLOG "
            "EVENTS IN '{file}'",
        ),
        Cause(
            "start.no_event",
            "{place}: {file}:{position} is not the start of an event",
            ": choose a position that SHOW BINLOG EVENTS IN '{file}' prints",
        ),
        Cause(
            "start.no_file",
            "{place}: the server does not have {file}; its logs go from {first} to {last}",
            f". If it was purged, changes are lost: {_OVER}; keep logs longer with "
            "binlog_expire_logs_seconds",
        ),
        Cause(
            "start.behind_end",
            "{place}: {file} ends at {end}, before position {position}: the logs were reset, or "
            "this is another server",
            f"; {_OVER}",
        ),
        Cause(
            "start.far",
            "{place}: {file}:{position} lies behind 4 GiB, where a dump cannot start without GTIDs",
            ": start at position 4 of the next file",
        ),
    ),
)

FAILOVER = Group(
    "Going on: lagging, purged, reset, diverged and foreign servers",
    "Asked of each server of `source.host` and `source.failover_hosts` before each dump; "
    "docs/failover.md tells how they are told apart.",
    (
        Cause(
            "failover.none_now",
            "source: no server of source.host and source.failover_hosts can go on with the stream "
            "now:\n  {first}\n  {second}",
            "",
            End.RETRIED,
        ),
        Cause(
            "failover.none_now_reset",
            "source: no server of source.host and source.failover_hosts can go on with the stream "
            "now:\n  {first}\n  {second}\n  A reset was seen. If the logs of all were reset, no "
            "server will ever have what was read",
            f": {_OVER}",
            End.RETRIED,
        ),
        Cause(
            "failover.none",
            "source: no server of source.host and source.failover_hosts can go on with the "
            "stream:\n  {first}\n  {second}",
            "",
        ),
        Cause(
            "failover.lags",
            "{place}: the server does not have transactions that were already read: {gtids}. It is "
            "a replica that lags, and is waited for",
            ": look at SHOW REPLICA STATUS, or name a server that has them in "
            "source.failover_hosts",
            End.RETRIED,
        ),
        Cause(
            "failover.committing",
            "{place}: the server is still committing transactions that it has sent: {gtids}. They "
            "are waited for",
            ": if that lasts, look for sessions that wait for the acknowledgement of a "
            "semi-synchronous replica",
            End.RETRIED,
        ),
        Cause(
            "failover.purged",
            "{place}: the server has purged transactions that were not read: {gtids}",
            f". To go on without them is to lose changes: {_OVER}, or point it at a replica that "
            "still has them; keep logs longer with binlog_expire_logs_seconds",
        ),
        Cause(
            "failover.purged_mariadb",
            "{place}: the server's first log starts behind {purged}, but only {read} was read",
            f". To go on without the transactions between is to lose changes: {_OVER}, or point it "
            "at a replica that still has them; keep logs longer with expire_logs_days",
        ),
        Cause(
            "failover.reset",
            "{place}: the server's logs were reset, or its data was put back: it lacks "
            "transactions of its own that were already read: {gtids}",
            f"{_GONE}: {_OVER}, or point it at a server that has them",
        ),
        Cause(
            "failover.lost",
            "{place}: the server has received transactions that were already read, but its logs do "
            "not have them: {gtids}. They were reset, or its data was put back or copied",
            f": {_OVER}, or point it at a server that has them",
        ),
        Cause(
            "failover.sources_reset",
            "{place}: the server does not have transactions that were already read: {gtids}. It is "
            "a replica of servers whose logs were reset, so it will not receive them",
            f": point the pipeline at a server that has them, or {_OVER}",
        ),
        Cause(
            "failover.reset_file",
            "{place}: the logs were reset since {file}:{position} was read: {found}",
            f"{_GONE}: {_OVER}",
        ),
        Cause(
            "failover.lacks",
            "{place}: the server does not have transactions that were already read: {gtids}. It is "
            "no replica, so it will not receive them: it belongs to another topology, its logs "
            "were reset, or they were lost when it took over",
            f": point the pipeline at a server that has them, or {_OVER}",
        ),
        Cause(
            "failover.diverged",
            "{place}: the server has another transaction in the place of {gtid}, which was already "
            "read; domain {domain} goes up to {last} there. It has diverged from the server that "
            "was read",
            f": point the pipeline at a server that has it, or {_OVER}",
        ),
        Cause(
            "failover.prepared",
            "{place}: XA transactions wait for XA COMMIT, and their rows must be read again "
            "({xids}), but the server does not have them any more",
            f": {_START}, and keep logs longer than XA transactions stay prepared ({{why}})",
        ),
    ),
)


def _dump(key: str, fix: str, said: str = "{said}") -> Cause:
    return Cause(f"dump.{key}", f"{{place}}: error 1236: {said}", f": {fix}")


_UNIQUE_ID = "give each replica and each pipeline a source.server_id of its own"

DUMP = Group(
    "What a server says to a dump",
    "Number 1236 is all that MySQL has for it; its text picks what to do. Where there are "
    "`source.failover_hosts`, these are asked first, and the text is one line of the error; but "
    "another reader with the same server_id is the end.",
    (
        _dump("server_id", _UNIQUE_ID),
        Cause("server.4052", "{place}: error 4052: {said}", f": {_UNIQUE_ID}"),
        _dump(
            "purged",
            f"what was not read is gone from this server: {_OVER}, or point it at a replica that "
            "still has the log",
        ),
        _dump(
            "reset",
            f"the server's logs were reset, or their end was lost: {_OVER}, or point it at a "
            "server that has the transactions",
        ),
        _dump(
            "not_there",
            "this server does not have what was read last: point the pipeline at the server that "
            "has it, or give it a new name and start over",
        ),
        _dump("gtid_mode", f"SET GLOBAL gtid_mode back to ON, or {_OVER}"),
        _dump("position", "choose a position inside the file"),
        _dump(
            "packet",
            "SET GLOBAL max_allowed_packet = 1073741824 on the server; where it is that already, "
            "no event starts at the position",
        ),
        _dump(
            "damaged",
            "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog",
        ),
        _dump("no_id", "set server_id on the server"),
        _dump("no_log", "start the server with log_bin"),
        _dump("unknown", "look the number up in the server's error reference"),
    ),
)

STARTS = (POINTS, FAILOVER, DUMP)

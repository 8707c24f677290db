"""Where to start: the words of the configuration to a place in the source's log.

A start point that has a GTID set is complete: it names everything that is not to be read, also what
the server has purged since. So a set that is stored later is never partial, and another server of
the same topology can take over with it.

Before a dump, `validate_start` compares the point with what the server has. A server that lacks
something is refused with what is missing; nothing is ever skipped over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from connector.errors import DecodeError, SourceRefused
from connector.gtid import GtidSet, MariadbGtidSet
from connector.wire.commands import FIRST_POSITION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.source.mysql_server import MysqlServer

# MySQL 8.2 renamed SHOW MASTER STATUS, 8.4 dropped the old name.
_BINARY_LOG_STATUS_SINCE = (8, 2, 0)
_GTID_NEXT = re.compile(r"GTID_NEXT= '([^']+)'")
_EVENTS_PER_QUERY = 10_000
# Of a GTID set in an error message.
_SHOWN_CHARACTERS_MAX = 300
# Event types between transactions, beside those that begin with "Gtid".
_BETWEEN_TRANSACTIONS = frozenset(
    {"Anonymous_Gtid", "Binlog_checkpoint", "Format_desc", "Previous_gtids", "Rotate", "Stop"}
)


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A place in the source's log: behind `gtid_set` where there is one, else the position."""

    flavour: Literal["mysql", "mariadb"]
    gtid_set: GtidSet | MariadbGtidSet | None
    file: str  # "" where only the set is known
    position: int


def resolve_start(server: MysqlServer, start: str) -> StartPoint:
    """Return the place that `start` of the configuration names.

    "snapshot" (the tables are copied as they are now, so the stream begins here), "earliest",
    "latest", "gtid:SET" or "position:FILE:POS". Raises SourceRefused when the server has no such
    place, SourceUnavailable when the connection breaks.
    """
    match start.split(":", 1):
        case ["earliest"]:
            return _earliest(server)
        case ["latest" | "snapshot"]:
            return _latest(server)
        case ["gtid", text]:
            return _behind_gtids(server, text)
        case ["position", place]:
            file, _, position = place.rpartition(":")
            return _at_position(server, file, int(position))
    reason = f"source.start {start!r} is not earliest, latest, gtid:SET or position:FILE:POS"
    raise SourceRefused(reason)


def validate_start(server: MysqlServer, point: StartPoint) -> None:
    """Ask the server whether it has everything behind `point`.

    Raises SourceRefused when it has not, with what is missing and what to do.
    """
    gtids = point.gtid_set
    if isinstance(gtids, GtidSet):
        _validate_gtids(server, gtids)
    elif isinstance(gtids, MariadbGtidSet):
        _validate_mariadb_gtids(server, gtids)
    else:
        _validate_position(server, point.file, point.position)


def binary_log_status(server: MysqlServer) -> dict[str, object] | None:
    """Return the row of SHOW BINARY LOG STATUS; None where the binary log is off.

    Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    modern = server.identity.flavour == "mysql" and (
        server.identity.version_number >= _BINARY_LOG_STATUS_SINCE
    )
    rows = server.query("SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS")
    return rows[0] if rows else None


def _earliest(server: MysqlServer) -> StartPoint:
    first = next(iter(_binary_logs(server)))
    if server.identity.flavour == "mariadb":
        return _mariadb_point(server, first, FIRST_POSITION)
    gtids = None
    if server.identity.gtid:
        gtids = GtidSet.parse(server.global_value("gtid_purged") or "")
    return StartPoint("mysql", gtids, first, FIRST_POSITION)


def _latest(server: MysqlServer) -> StartPoint:
    status = binary_log_status(server)
    if status is None:
        reason = f"{server.place}: the binary log is off: start the server with log_bin"
        raise SourceRefused(reason)
    file, position = str(status["File"]), int(str(status["Position"]))
    if server.identity.flavour == "mariadb":
        return _mariadb_point(server, file, position)
    gtids = None
    if server.identity.gtid:
        # Of the same row, so of the same moment, as file and position.
        gtids = GtidSet.parse(str(status["Executed_Gtid_Set"]))
    return StartPoint("mysql", gtids, file, position)


def _behind_gtids(server: MysqlServer, text: str) -> StartPoint:
    try:
        if server.identity.flavour == "mariadb":
            return StartPoint("mariadb", MariadbGtidSet.parse(text), "", FIRST_POSITION)
        if server.identity.gtid:
            return StartPoint("mysql", GtidSet.parse(text), "", FIRST_POSITION)
    except DecodeError as error:
        reason = f"source.start: {error}"
        raise SourceRefused(reason) from error
    reason = (
        f"{server.place}: source.start names GTIDs, but the server has gtid_mode "
        f"{server.variable('gtid_mode')}: set gtid_mode = ON, or start by position"
    )
    raise SourceRefused(reason)


def _at_position(server: MysqlServer, file: str, position: int) -> StartPoint:
    file_bytes = _validate_position(server, file, position)
    # Of a position between two events, MySQL shows the second; MariaDB answers with error 1220.
    events = server.query(f"SHOW BINLOG EVENTS IN %s FROM {position} LIMIT 1", (file,))
    found = int(str(events[0]["Pos"])) if events else file_bytes
    if found != position:
        raise SourceRefused(_no_event(server, file, position))
    event_type = str(events[0]["Event_type"]) if events else ""
    if event_type and not (event_type in _BETWEEN_TRANSACTIONS or event_type.startswith("Gtid")):
        reason = (
            f"{server.place}: {file}:{position} is a {event_type} event inside a transaction: "
            "start where a transaction starts, at a Gtid or Anonymous_Gtid event of "
            f"SHOW BINLOG EVENTS IN '{file}'"
        )
        raise SourceRefused(reason)
    if server.identity.flavour == "mariadb":
        return _mariadb_point(server, file, position)
    gtids = _gtids_before(server, file, position) if server.identity.gtid else None
    return StartPoint("mysql", gtids, file, position)


def _mariadb_point(server: MysqlServer, file: str, position: int) -> StartPoint:
    """Return a position as the GTIDs before it, which MariaDB itself knows."""
    (row,) = server.query(f"SELECT BINLOG_GTID_POS(%s, {position}) AS gtids", (file,))
    if row["gtids"] is None:
        raise SourceRefused(_no_event(server, file, position))
    return StartPoint("mariadb", MariadbGtidSet.parse(str(row["gtids"])), file, position)


def _no_event(server: MysqlServer, file: str, position: int) -> str:
    return (
        f"{server.place}: {file}:{position} is not the start of an event: choose a position that "
        f"SHOW BINLOG EVENTS IN '{file}' prints"
    )


def _gtids_before(server: MysqlServer, file: str, position: int) -> GtidSet:
    """Return every transaction before a position of MySQL's log, by reading that file's events."""
    gtids = GtidSet()
    for row in _events(server, file):
        if int(str(row["Pos"])) >= position:
            break
        info = str(row["Info"])
        if row["Event_type"] == "Previous_gtids":
            gtids = GtidSet.parse(info)
        elif str(row["Event_type"]).startswith("Gtid") and (match := _GTID_NEXT.search(info)):
            for gtid in GtidSet.parse(match[1]):
                gtids.add(gtid)
    return gtids


def _events(server: MysqlServer, file: str) -> Iterator[dict[str, object]]:
    position = FIRST_POSITION
    while True:
        sql = f"SHOW BINLOG EVENTS IN %s FROM {position} LIMIT {_EVENTS_PER_QUERY}"
        rows = server.query(sql, (file,))
        yield from rows
        if len(rows) < _EVENTS_PER_QUERY:
            return
        position = int(str(rows[-1]["End_log_pos"]))


def _validate_gtids(server: MysqlServer, gtids: GtidSet) -> None:
    purged = GtidSet.parse(server.global_value("gtid_purged") or "")
    if missing := purged - gtids:
        reason = (
            f"{server.place}: the server has purged transactions that were not read: "
            f"{_shown(missing)}. To go on without them is to lose changes: give the pipeline a new "
            "name and start over, or point it at a replica that still has them; keep logs longer "
            "with binlog_expire_logs_seconds"
        )
        raise SourceRefused(reason)
    executed = GtidSet.parse(server.global_value("gtid_executed") or "")
    if ahead := gtids - executed:
        raise SourceRefused(_is_behind(server, ahead))


def _validate_mariadb_gtids(server: MysqlServer, gtids: MariadbGtidSet) -> None:
    first = next(iter(_binary_logs(server)))
    purged = _mariadb_point(server, first, FIRST_POSITION).gtid_set
    assert isinstance(purged, MariadbGtidSet)
    if not purged <= gtids:
        reason = (
            f"{server.place}: the server's first log starts behind {_shown(purged)}, but only "
            f"{_shown(gtids) or 'nothing'} was read. To go on without the transactions between is "
            "to lose changes: give the pipeline a new name and start over, or point it at a "
            "replica that still has them; keep logs longer with expire_logs_days"
        )
        raise SourceRefused(reason)
    written = MariadbGtidSet.parse(server.global_value("gtid_binlog_pos") or "")
    if ahead := MariadbGtidSet.of(gtid for gtid in gtids if gtid not in written):
        raise SourceRefused(_is_behind(server, ahead))


def _is_behind(server: MysqlServer, ahead: GtidSet | MariadbGtidSet) -> str:
    return (
        f"{server.place}: the server does not have transactions that were already read: "
        f"{_shown(ahead)}. It is a replica that lags, or its logs were reset: wait until it has "
        "caught up, or point the pipeline at the server that has them"
    )


def _validate_position(server: MysqlServer, file: str, position: int) -> int:
    """Return the size of the file in bytes."""
    logs = _binary_logs(server)
    if file and file not in logs:
        reason = (
            f"{server.place}: the server does not have {file}; its logs go from {next(iter(logs))} "
            f"to {next(reversed(logs))}. If it was purged, changes are lost: give the pipeline a "
            "new name and start over; keep logs longer with binlog_expire_logs_seconds"
        )
        raise SourceRefused(reason)
    if file and position > logs[file]:
        reason = (
            f"{server.place}: {file} ends at {logs[file]}, before position {position}: the logs "
            "were reset, or this is another server; give the pipeline a new name and start over"
        )
        raise SourceRefused(reason)
    return logs.get(file, 0)


def _binary_logs(server: MysqlServer) -> dict[str, int]:
    """Return the size of each log file in bytes, oldest first.

    A server that logs has at least one; the others answer with error 1381.
    """
    rows = server.query("SHOW BINARY LOGS")
    return {str(row["Log_name"]): int(str(row["File_size"])) for row in rows}


def _shown(gtids: GtidSet | MariadbGtidSet) -> str:
    text = str(gtids)
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[:_SHOWN_CHARACTERS_MAX]}... ({len(text)} characters)"

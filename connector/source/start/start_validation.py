"""A start point and a server: whether the server has everything that comes behind the point.

Asked before each dump, because the servers' own answers are not enough: MySQL leaves out what it
takes for read already, also where its history began anew, and MariaDB waits in silence behind a
position that its log has not come to. What is wrong is told apart by its cause:

- the server *lags*: it may still receive what it lacks. That passes, so it is waited for;
- it has *purged* what was not read;
- its logs were *reset*, or its data put back: it lacks transactions of its own, or such as it has
  received, or its files are not those that were read. Also where it has committed so much since
  that no number is missing. Where they are, it is but about to finish commits that it has sent:
  that passes, too;
- it has *diverged*, or belongs to another topology.

The last three are definite. Nothing is ever skipped over.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from connector.errors import SourceRefused, SourceUnavailable
from connector.gtid import GtidSet, MariadbGtid, MariadbGtidSet
from connector.progress.order import file_number
from connector.progress.start_point import StartPoint, shown
from connector.source.server.binary_logs import binary_logs, no_event
from connector.source.server.topology import channels, replicates
from connector.source.stream.log_search import log_head
from connector.wire.replication_commands import FIRST_POSITION

if TYPE_CHECKING:
    from connector.source.server.mysql_server import MysqlServer

_START_OVER = "give the pipeline a new name and start over"
_PURGED = (
    f"To go on without them is to lose changes: {_START_OVER}, or point it at a replica that still "
    "has them; keep logs longer with "
)


def validate_start(server: MysqlServer, point: StartPoint) -> StartPoint:
    """Ask the server whether it has everything behind `point`; return the point to dump from.

    That is another one where MariaDB has deleted a domain that has been read to its end. Raises
    SourceUnavailable where the server lags, SourceRefused where it will never have what it lacks.
    """
    logs = binary_logs(server)
    same_files = _is_place_known(server, point, logs)
    gtids = point.gtid_set
    if isinstance(gtids, GtidSet):
        _validate_gtids(server, gtids, same_files=same_files)
    elif isinstance(gtids, MariadbGtidSet):
        return replace(
            point, gtid_set=_validate_mariadb_gtids(server, gtids, logs, same_files=same_files)
        )
    elif point.file:
        require_position(server, point.file, point.position)
    return point


def require_position(server: MysqlServer, file: str, position: int) -> int:
    """Return the size of the file in bytes.

    Raises SourceRefused where the server has no such file, or the file no such place.
    """
    logs = binary_logs(server)
    if file not in logs:
        reason = (
            f"{server.place}: the server does not have {file}; its logs go from {next(iter(logs))} "
            f"to {next(reversed(logs))}. If it was purged, changes are lost: {_START_OVER}; keep "
            "logs longer with binlog_expire_logs_seconds"
        )
        raise SourceRefused(reason)
    if position > logs[file]:
        reason = (
            f"{server.place}: {file} ends at {logs[file]}, before position {position}: the logs "
            f"were reset, or this is another server; {_START_OVER}"
        )
        raise SourceRefused(reason)
    return logs[file]


def mariadb_point(server: MysqlServer, file: str, position: int) -> StartPoint:
    """Return a position as the GTIDs before it, which MariaDB itself knows.

    Raises SourceRefused for a position where no event starts.
    """
    (row,) = server.query(f"SELECT BINLOG_GTID_POS(%s, {position}) AS gtids", (file,))
    if row["gtids"] is None:
        raise SourceRefused(no_event(server.place, file, position))
    return StartPoint("mariadb", MariadbGtidSet.parse(str(row["gtids"])), file, position)


def _is_place_known(server: MysqlServer, point: StartPoint, logs: dict[str, int]) -> bool:
    """Return whether the server still has the very file that the point is in.

    Raises SourceRefused where its files show that its history began anew.
    """
    file = point.file
    if not file or not point.file_created:
        return False
    newest = next(reversed(logs))
    if file not in logs:
        # A file with a lower number was purged; whether that matters, the GTIDs tell. Another name
        # before the number is another log_bin.
        same_name = file.rpartition(".")[0] == newest.rpartition(".")[0]
        if same_name and file_number(file) > file_number(newest):
            raise _reset(server, point, f"its newest file is {newest}")
        return False
    if point.position > logs[file]:
        raise _reset(server, point, f"the file ends at {logs[file]}")
    head = log_head(server, file)
    if head.created != point.file_created:
        reason = f"the file was begun at {_iso(head.created)}, not at {_iso(point.file_created)}"
        raise _reset(server, point, reason)
    return True


def _reset(server: MysqlServer, point: StartPoint, found: str) -> SourceRefused:
    error = SourceRefused(
        f"{server.place}: the logs were reset since {point.file}:{point.position} was read: "
        f"{found}. What was written since cannot be told from what was read: {_START_OVER}"
    )
    error.reset_server = server.identity.server_uuid
    return error


def _validate_gtids(server: MysqlServer, gtids: GtidSet, *, same_files: bool) -> None:
    purged = GtidSet.parse(server.global_value("gtid_purged") or "")
    if missing := purged - gtids:
        reason = (
            f"{server.place}: the server has purged transactions that were not read: "
            f"{shown(missing)}. {_PURGED}binlog_expire_logs_seconds"
        )
        raise SourceRefused(reason)
    executed = GtidSet.parse(server.global_value("gtid_executed") or "")
    if ahead := gtids - executed:
        if ahead.has_server(UUID(server.identity.server_uuid)):
            raise _lacks_its_own(server, ahead, same_files=same_files)
        raise _lacks_mysql(server, ahead)


def _validate_mariadb_gtids(
    server: MysqlServer, gtids: MariadbGtidSet, logs: dict[str, int], *, same_files: bool
) -> MariadbGtidSet:
    """Return the GTIDs without those of domains that the server has deleted."""
    first = next(iter(logs))
    purged = mariadb_point(server, first, FIRST_POSITION).gtid_set
    assert isinstance(purged, MariadbGtidSet)
    if not purged <= gtids:
        reason = (
            f"{server.place}: the server's first log starts behind {shown(purged)}, but only "
            f"{shown(gtids) or 'nothing'} was read. To go on without the transactions between is "
            f"to lose changes: {_START_OVER}, or point it at a replica that still has them; keep "
            "logs longer with expire_logs_days"
        )
        raise SourceRefused(reason)
    # A replica that was made from a backup logs what comes behind the place of the backup. What it
    # receives now is logged before it counts here, so this is asked first.
    received = _gtids(server, "gtid_slave_pos")
    # Of each domain and server the last one.
    written = _gtids(server, "gtid_binlog_state")
    domains = {gtid.domain_id for gtid in written}
    kept, ahead = MariadbGtidSet(), MariadbGtidSet()
    for gtid in gtids:
        if gtid in received or any(
            last.domain_id == gtid.domain_id
            and last.server_id == gtid.server_id
            and last.sequence >= gtid.sequence
            for last in written
        ):
            kept.add(gtid)
        elif gtid.domain_id not in domains and same_files:
            # FLUSH BINARY LOGS DELETE_DOMAIN_ID: allowed only where no file names the domain, and
            # the file that was read last is still there. So it ended before our place.
            continue
        elif later := [
            last
            for last in written
            if last.domain_id == gtid.domain_id and last.sequence >= gtid.sequence
        ]:
            raise _diverged(server, gtid, max(later, key=lambda last: last.sequence))
        else:
            ahead.add(gtid)
    if ahead:
        if any(gtid.server_id == server.identity.server_id for gtid in ahead):
            raise _lacks_its_own(server, ahead, same_files=same_files)
        gone = MariadbGtidSet.of(
            gtid
            for gtid in ahead
            if any(
                last.domain_id == gtid.domain_id and last.sequence >= gtid.sequence
                for last in received
            )
        )
        raise _lost(server, gone) if gone else _lacks(server, ahead)
    return kept


def _gtids(server: MysqlServer, variable: str) -> list[MariadbGtid]:
    text = server.global_value(variable) or ""
    return [MariadbGtid.parse(part) for part in text.split(",") if part.strip()]


def _lacks_its_own(
    server: MysqlServer, ahead: GtidSet | MariadbGtidSet, *, same_files: bool
) -> SourceRefused | SourceUnavailable:
    if same_files:
        # A commit is in the log, and sent, before it counts as executed: with semi-synchronous
        # replication, for as long as the server waits for a replica.
        return SourceUnavailable(
            f"{server.place}: the server is still committing transactions that it has sent: "
            f"{shown(ahead)}. They are waited for: if that lasts, look for sessions that wait for "
            "the acknowledgement of a semi-synchronous replica",
            answered=True,
        )
    error = SourceRefused(
        f"{server.place}: the server's logs were reset, or its data was put back: it lacks "
        f"transactions of its own that were already read: {shown(ahead)}. What was written since "
        f"cannot be told from what was read: {_START_OVER}, or point it at a server that has them"
    )
    error.reset_server = server.identity.server_uuid
    return error


def _lost(server: MysqlServer, gone: GtidSet | MariadbGtidSet) -> SourceRefused:
    error = SourceRefused(
        f"{server.place}: the server has received transactions that were already read, but its "
        f"logs do not have them: {shown(gone)}. They were reset, or its data was put back or "
        f"copied: {_START_OVER}, or point it at a server that has them"
    )
    error.reset_server = server.identity.server_uuid
    return error


def _lacks_mysql(server: MysqlServer, ahead: GtidSet) -> SourceRefused | SourceUnavailable:
    found = channels(server)
    done = [channel for channel in found if channel.is_done]
    # Once more: what the channels have committed meanwhile.
    executed = GtidSet.parse(server.global_value("gtid_executed") or "")
    for channel in done:
        if gone := (ahead - executed) - (ahead - channel.received):
            return _lost(server, gone)
    error = _lacks(server, ahead)
    if isinstance(error, SourceUnavailable) and len(done) == len(found):
        error.awaits = frozenset(channel.source_uuid for channel in found)
    return error


def _lacks(
    server: MysqlServer, ahead: GtidSet | MariadbGtidSet
) -> SourceRefused | SourceUnavailable:
    said = (
        f"{server.place}: the server does not have transactions that were already read: "
        f"{shown(ahead)}"
    )
    if replicates(server):
        error = SourceUnavailable(
            f"{said}. It is a replica that lags, and is waited for: look at SHOW REPLICA STATUS, "
            "or name a server that has them in source.failover_hosts",
            answered=True,
        )
        error.otherwise = (
            f"{said}. It is a replica of servers whose logs were reset, so it will not receive "
            f"them: point the pipeline at a server that has them, or {_START_OVER}"
        )
        return error
    return SourceRefused(
        f"{said}. It is no replica, so it will not receive them: it belongs to another topology, "
        "its logs were reset, or they were lost when it took over: point the pipeline at a server "
        f"that has them, or {_START_OVER}"
    )


def _diverged(server: MysqlServer, gtid: MariadbGtid, last: MariadbGtid) -> SourceRefused:
    return SourceRefused(
        f"{server.place}: the server has another transaction in the place of {gtid}, which was "
        f"already read; domain {gtid.domain_id} goes up to {last} there. It has diverged from the "
        f"server that was read: point the pipeline at a server that has it, or {_START_OVER}"
    )


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

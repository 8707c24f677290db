"""A start point and a server: whether the server has everything after the point.

These checks come before each dump, because the servers' own answers are not enough. MySQL leaves
out the transactions that it takes for read, also after its logs were reset. MariaDB waits silently
after a position that its log has not reached. The errors distinguish the causes:

- the server *lags*: it may still receive what it lacks, so the connector waits;
- it has *purged* transactions that were not read;
- its logs were *reset*, or a backup was restored: it lacks its own transactions or those that it
  has received. Its GTID set may look complete, if it has committed as many transactions since; then
  its files show the reset. If it is only about to finish commits that it has sent, the connector
  waits;
- it has *diverged*, or belongs to another topology.

The last three are definite. Nothing is ever skipped.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from connector.binlog.gtid import GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import FIRST_POSITION, file_number
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.code import ErrorCode
from connector.foundation.record_formats import utc_text
from connector.replication import dump_errors, server_errors
from connector.replication.log_search import log_head
from connector.replication.protocol.commands import ComBinlogDump
from connector.replication.server import replication_status
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint, shortened_gtids


def validate_start(
    server: MysqlServer, point: StartPoint, deleted: frozenset[int] = frozenset()
) -> StartPoint:
    """Check that the server has everything after `point`; return the point to dump from.

    The two differ if MariaDB has deleted a domain that was read to its end: one of those that are
    known to be `deleted`, or one that ended before the file of the point. Raises SourceUnavailable
    if the server lags, SourceRefused if it will never have what it lacks.
    """
    logs = replication_status.binary_logs(server)
    same_files = _is_position_known(server, point, logs)
    gtids = point.gtid_set
    if isinstance(gtids, GtidSet):
        _validate_gtids(server, gtids, same_files=same_files)
        # A configured start names no time of its file.
        if same_files or (point.file in logs and not point.file_created):
            require_gtids(server, list(logs), point.file, point.position)
    elif isinstance(gtids, MariadbGtidSet):
        kept = _validate_mariadb_gtids(server, gtids, deleted, same_files=same_files)
        return replace(point, gtid_set=kept)
    elif point.file:
        require_position(server, point.file, point.position)
    return point


def deleted_domains(point: StartPoint, validated: StartPoint) -> frozenset[int]:
    """Return the domains of `point` that MariaDB has deleted; `validated` is what to dump from."""
    before, after = point.gtid_set, validated.gtid_set
    if not (isinstance(before, MariadbGtidSet) and isinstance(after, MariadbGtidSet)):
        return frozenset()
    return frozenset(gtid.domain_id for gtid in before - after)


def require_position(server: MysqlServer, file: str, position: int) -> dict[str, int]:
    """Return the size of each log file in bytes, oldest first, if one has this position.

    Raises SourceRefused if the server has no such file, or the file no such position.
    """
    logs = replication_status.binary_logs(server)
    if file not in logs:
        raise SourceRefused(
            dump_errors.NO_FILE,
            server=server.name,
            file=file,
            first=next(iter(logs)),
            last=next(reversed(logs)),
        )
    if position > logs[file]:
        raise SourceRefused(
            dump_errors.AFTER_END,
            server=server.name,
            file=file,
            end=logs[file],
            position=position,
        )
    return logs


def mariadb_point(server: MysqlServer, file: str, position: int) -> StartPoint:
    """Return a position as the GTIDs before it, which MariaDB itself computes.

    Raises SourceRefused for a position at which no event starts, and for one above 4 GiB.
    """
    gtids = _gtids_before(server, file, position)
    if gtids is not None:
        return StartPoint("mariadb", gtids, file, position)
    if position > ComBinlogDump.POSITION_MAX:
        raise SourceRefused(
            dump_errors.ABOVE_4_GIB, server=server.name, file=file, position=position
        )
    raise replication_status.no_event(server.name, file, position)


def first_mariadb_point(server: MysqlServer) -> StartPoint:
    """Return the start of MariaDB's log, with the GTIDs that were purged."""
    first = ""
    while True:
        # The server may purge the file before it is asked about it.
        before, first = first, next(iter(replication_status.binary_logs(server)))
        gtids = _gtids_before(server, first, FIRST_POSITION)
        if gtids is not None:
            return StartPoint("mariadb", gtids, first, FIRST_POSITION)
        if first == before:
            raise replication_status.no_event(server.name, first, FIRST_POSITION)


def _gtids_before(server: MysqlServer, file: str, position: int) -> MariadbGtidSet | None:
    """Return the GTIDs before a position; None if MariaDB does not find the position."""
    (row,) = server.query(f"SELECT BINLOG_GTID_POS(%s, {position}) AS gtids", (file,))
    return None if row["gtids"] is None else MariadbGtidSet.parse(str(row["gtids"]))


def _is_position_known(server: MysqlServer, point: StartPoint, logs: dict[str, int]) -> bool:
    """Return whether the server still has the file of the point, and not another of its name.

    Raises SourceRefused if its files show that its logs were reset.
    """
    file = point.file
    if not file or not point.file_created:
        return False
    newest = next(reversed(logs))
    if file not in logs:
        # A file with a lower number was purged; the GTIDs say whether that matters. Another name
        # before the number means another log_bin.
        same_name = file.rpartition(".")[0] == newest.rpartition(".")[0]
        if same_name and file_number(file) > file_number(newest):
            raise _reset(server, point, server_errors.RESET_NEWEST_FILE, newest=newest)
        return False
    if point.position > logs[file]:
        raise _reset(server, point, server_errors.RESET_FILE_END, end=logs[file])
    head = log_head(server, file)
    if head.created != point.file_created:
        raise _reset(
            server,
            point,
            server_errors.RESET_FILE_TIME,
            begun=utc_text(head.created),
            before=utc_text(point.file_created),
        )
    return True


def _reset(server: MysqlServer, point: StartPoint, code: ErrorCode, **facts: Any) -> SourceRefused:
    return SourceRefused(
        code,
        reset_server=server.identity.server_uuid,
        server=server.name,
        file=point.file,
        position=point.position,
        **facts,
    )


def _validate_gtids(server: MysqlServer, gtids: GtidSet, *, same_files: bool) -> None:
    purged = GtidSet.parse(server.global_value("gtid_purged") or "")
    if missing := purged - gtids:
        raise SourceRefused(
            server_errors.PURGED, server=server.name, gtids=shortened_gtids(missing)
        )
    executed = GtidSet.parse(server.global_value("gtid_executed") or "")
    if ahead := gtids - executed:
        if ahead.has_server(UUID(server.identity.server_uuid)):
            raise _lacks_its_own(server, ahead, same_files=same_files)
        raise _lacks_mysql(server, ahead)


def require_gtids(server: MysqlServer, files: list[str], file: str, position: int) -> None:
    """Raise SourceRefused if a transaction without a GTID may come next, in one of the files."""
    transaction = replication_status.transaction_without_gtid(server, files, file, position)
    if transaction is not None:
        file, position = transaction
        raise SourceRefused(
            server_errors.NO_GTID_NEXT, server=server.name, file=file, position=position
        )


def _validate_mariadb_gtids(
    server: MysqlServer,
    gtids: MariadbGtidSet,
    deleted: frozenset[int],
    *,
    same_files: bool,
) -> MariadbGtidSet:
    """Return the GTIDs without those of domains that the server has deleted."""
    _require_unpurged(server, gtids)
    # A replica that was made from a backup logs what comes after the backup. It logs what it
    # receives before gtid_slave_pos counts it, so that is read first.
    received = _gtids(server, "gtid_slave_pos")
    # The last one of each domain and server.
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
        elif gtid.domain_id not in domains and (same_files or gtid.domain_id in deleted):
            # FLUSH BINARY LOGS DELETE_DOMAIN_ID works only if no file names the domain, and the
            # file that was read last still exists. So the domain ended before our position.
            continue
        elif later := [
            last
            for last in written
            if last.domain_id == gtid.domain_id and last.sequence >= gtid.sequence
        ]:
            raise _diverged(server, gtid, max(later, key=lambda last: last.sequence))
        else:
            ahead.add(gtid)
    if not ahead:
        return kept
    unknown = not any(gtid.domain_id in domains for gtid in ahead)
    if kept and unknown and not replication_status.replicates(server):
        raise SourceRefused(
            server_errors.DOMAINS_GONE,
            server=server.name,
            gtids=shortened_gtids(ahead),
            start=f"gtid:{kept}",
        )
    if any(gtid.server_id == server.identity.server_id for gtid in ahead):
        raise _lacks_its_own(server, ahead, same_files=same_files)
    gone = MariadbGtidSet.of(
        gtid
        for gtid in ahead
        if any(
            last.domain_id == gtid.domain_id and last.sequence >= gtid.sequence for last in received
        )
    )
    raise _lost(server, gone) if gone else _lacks(server, ahead)


def _require_unpurged(server: MysqlServer, gtids: MariadbGtidSet) -> None:
    """Raise SourceRefused if the server has purged transactions that are not in `gtids`."""
    purged = first_mariadb_point(server).gtid_set
    assert isinstance(purged, MariadbGtidSet)
    if purged <= gtids:
        return
    if not gtids:
        raise SourceRefused(
            server_errors.PURGED_ALL_MARIADB, server=server.name, purged=shortened_gtids(purged)
        )
    raise SourceRefused(
        server_errors.PURGED_MARIADB,
        server=server.name,
        purged=shortened_gtids(purged),
        read=shortened_gtids(gtids),
    )


def _gtids(server: MysqlServer, variable: str) -> list[MariadbGtid]:
    text = server.global_value(variable) or ""
    return [MariadbGtid.parse(part) for part in text.split(",") if part.strip()]


def _lacks_its_own(
    server: MysqlServer, ahead: GtidSet | MariadbGtidSet, *, same_files: bool
) -> SourceRefused | SourceUnavailable:
    if same_files:
        # A commit is logged and sent before it counts as executed. With semi-synchronous
        # replication the server waits for a replica in between.
        return SourceUnavailable(
            server_errors.COMMITTING,
            answered=True,
            server=server.name,
            gtids=shortened_gtids(ahead),
        )
    return SourceRefused(
        server_errors.RESET,
        reset_server=server.identity.server_uuid,
        server=server.name,
        gtids=shortened_gtids(ahead),
    )


def _lost(server: MysqlServer, missing: GtidSet | MariadbGtidSet) -> SourceRefused:
    return SourceRefused(
        server_errors.LOST,
        reset_server=server.identity.server_uuid,
        server=server.name,
        gtids=shortened_gtids(missing),
    )


def _lacks_mysql(server: MysqlServer, ahead: GtidSet) -> SourceRefused | SourceUnavailable:
    replica_channels = replication_status.channels(server)
    done = [channel for channel in replica_channels if channel.is_done]
    # Read again, because the channels may have committed more.
    executed = GtidSet.parse(server.global_value("gtid_executed") or "")
    for channel in done:
        if missing := (ahead - executed) - (ahead - channel.received):
            return _lost(server, missing)
    if len(done) < len(replica_channels):
        return _lacks(server, ahead)
    return _lacks(server, ahead, frozenset(channel.source_uuid for channel in replica_channels))


def _lacks(
    server: MysqlServer,
    ahead: GtidSet | MariadbGtidSet,
    awaits: frozenset[str] = frozenset(),
) -> SourceRefused | SourceUnavailable:
    server_name, gtids = server.name, shortened_gtids(ahead)
    if replication_status.replicates(server):
        return SourceUnavailable(
            server_errors.LAGS,
            awaits=awaits,
            otherwise=SourceRefused(server_errors.SOURCES_RESET, server=server_name, gtids=gtids),
            answered=True,
            server=server_name,
            gtids=gtids,
        )
    return SourceRefused(server_errors.LACKS, server=server_name, gtids=gtids)


def _diverged(server: MysqlServer, gtid: MariadbGtid, last: MariadbGtid) -> SourceRefused:
    return SourceRefused(
        server_errors.DIVERGED,
        server=server.name,
        gtid=gtid,
        domain=gtid.domain_id,
        last=last,
    )

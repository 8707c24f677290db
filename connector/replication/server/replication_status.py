"""What SHOW statements tell about replication: the server's binary log, and its own sources.

The log has files, an end, a retention and events. The sources are the channels of a replica, with
the transactions that it has received.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from connector.binlog.gtid import GtidSet
from connector.binlog.header import FIRST_POSITION
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.replication.server.identity import RDS_TABLE, Cloud
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import ServerIdentity

# MySQL 8.2 renamed SHOW MASTER STATUS, 8.4 dropped the old name.
_BINARY_LOG_STATUS_SINCE = (8, 2, 0)
# A file of MySQL begins with two of them, one of MariaDB with some more.
_BETWEEN_TRANSACTIONS = frozenset(
    {"Format_desc", "Previous_gtids", "Rotate", "Stop"}
    | {"Binlog_checkpoint", "Gtid_list", "Start_encryption"}  # of MariaDB
)
_EVENTS_BEFORE_TRANSACTIONS = 2
# The variables that say how long the log is kept.
RETENTION = ("binlog_expire_logs_seconds", "binlog_expire_logs_auto_purge", "expire_logs_days")
_DAY_SECONDS = 86_400
_HOUR_SECONDS = 3600
# https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/mysql-stored-proc-configuring.html
RDS_RETENTION = "binlog retention hours"
_RDS_HOURS = "SELECT value FROM mysql.rds_configuration WHERE name = %s"
# Without hours, RDS drops a file as soon as its backup has it, every five minutes.
_AT_ONCE_SECONDS = 300


def binary_log_status(server: MysqlServer) -> dict[str, object] | None:
    """Return the row of SHOW BINARY LOG STATUS; None if the binary log is off.

    Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    rows = server.query(status_query(server.identity))
    return rows[0] if rows else None


def status_query(identity: ServerIdentity) -> str:
    """Return the statement that shows the end of the log, in the words of this version."""
    modern = identity.flavour == "mysql" and identity.version_number >= _BINARY_LOG_STATUS_SINCE
    return "SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS"


def binary_logs(server: MysqlServer) -> dict[str, int]:
    """Return the size of each log file in bytes, oldest first.

    A server with a binary log has at least one file; others answer with error 1381.
    """
    rows = server.query("SHOW BINARY LOGS")
    return {str(row["Log_name"]): int(str(row["File_size"])) for row in rows}


def retention(server: MysqlServer) -> tuple[str, int]:
    """Return the setting that keeps logs, and its seconds; 0 means for ever.

    Amazon RDS and Aurora purge by a setting of their own and ignore the server's variables. Azure
    purges at once what no replica of its own needs, unless a variable says otherwise.
    """
    hours = _rds_retention_hours(server)
    if hours is not None:
        return RDS_RETENTION, hours * _HOUR_SECONDS or _AT_ONCE_SECONDS
    seconds = int(server.variable("binlog_expire_logs_seconds") or 0)
    if seconds and server.variable("binlog_expire_logs_auto_purge") != "OFF":
        return "binlog_expire_logs_seconds", seconds
    days = float(server.variable("expire_logs_days") or 0)
    if days or server.variable("binlog_expire_logs_seconds") is None:
        return "expire_logs_days", int(days * _DAY_SECONDS)
    at_once = server.cloud is Cloud.AZURE
    return "binlog_expire_logs_seconds", _AT_ONCE_SECONDS if at_once else 0


def _rds_retention_hours(server: MysqlServer) -> int | None:
    """Return for how many hours Amazon RDS keeps logs; 0 means no longer than RDS needs them.

    Returns None on other servers, and if the account may not read the table of settings.
    """
    if not server.query(RDS_TABLE):
        return None
    try:
        rows = server.query(_RDS_HOURS, (RDS_RETENTION,))
    except SourceRefused:
        # The account has rights on another column of the table.
        return None
    if not rows:
        return None
    hours = str(rows[0]["value"] or 0)
    return int(hours) if hours.isdigit() else None


def set_rds_retention(hours: str) -> str:
    """Return the statement by which Amazon RDS keeps logs for so many hours."""
    return f"CALL mysql.rds_set_configuration('{RDS_RETENTION}', {hours})"


def next_events(
    server: MysqlServer, file: str, position: int, count: int
) -> list[dict[str, object]]:
    """Return at most `count` rows of SHOW BINLOG EVENTS, from `position` on.

    `Info` has statements in the character sets of their sessions: what is not UTF-8 is replaced.
    """
    rows = server.query_bytes(f"SHOW BINLOG EVENTS IN %s FROM {position} LIMIT {count}", (file,))
    return [
        {
            name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def _listed_events(server: MysqlServer, file: str, position: int) -> Iterator[dict[str, object]]:
    """Yield the rows of SHOW BINLOG EVENTS for one file from `position` on.

    A few at a time: a row can have a large statement.
    """
    page = _EVENTS_BEFORE_TRANSACTIONS + 1
    while True:
        rows = next_events(server, file, position, page)
        yield from rows
        if len(rows) < page:
            return
        position = int(str(rows[-1]["End_log_pos"]))


def has_transaction(
    server: MysqlServer, files: Mapping[str, int], file: str, position: int
) -> bool:
    """Return whether the log has a transaction from `position` on.

    `files` are those of the log, oldest first, with the bytes that are looked at.
    """
    names = list(files)
    for name in names[names.index(file) :]:
        if position < files[name]:
            for row in _listed_events(server, name, position):
                if row["Event_type"] not in _BETWEEN_TRANSACTIONS:
                    return True
                if int(str(row["End_log_pos"])) >= files[name]:
                    break
        position = FIRST_POSITION
    return False


def transaction_without_gtid(
    server: MysqlServer, files: list[str], file: str, position: int
) -> tuple[str, int] | None:
    """Return file and position of the next transaction from `position` on, if it has no GTID.

    MySQL logs such transactions while gtid_mode is not ON. By GTID, it begins with the last file
    before which nothing but the wanted set was logged, and they do not count for that. `files` are
    those of the log, oldest first.
    """
    for name in files[files.index(file) :]:
        for row in next_events(server, name, position, _EVENTS_BEFORE_TRANSACTIONS + 1):
            event_type = str(row["Event_type"])
            if event_type.startswith("Gtid"):
                return None
            if event_type not in _BETWEEN_TRANSACTIONS:
                return name, int(str(row["Pos"]))
        position = FIRST_POSITION
    return None


def no_event(server_name: str, file: str, position: int) -> SourceRefused:
    """Return the refusal of a position at which no event starts."""
    return SourceRefused(dump_errors.NO_EVENT, server=server_name, file=file, position=position)


# MySQL 8.0.22 renamed SHOW SLAVE STATUS and its columns, 8.4 dropped the old name.
_REPLICA_STATUS_SINCE = (8, 0, 22)


@dataclass(frozen=True, slots=True)
class Channel:
    """One source of a MySQL replica."""

    source_uuid: str  # "" before the first connection
    # Since its relay logs were begun, also those that were committed since.
    received: GtidSet
    is_done: bool  # everything received is committed, or was


def replicates(server: MysqlServer) -> bool:
    """Return whether the server may still receive transactions of others.

    True if it has a channel, also a stopped one, or if it is read-only: replication that is run by
    other means shows no channel. Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    if server.variable("read_only") not in (None, "OFF"):
        return True
    if server.identity.flavour == "mariadb":
        # SHOW ALL SLAVES STATUS would need one more grant.
        return bool(server.global_value("gtid_slave_pos"))
    return bool(channels(server))


def channels(server: MysqlServer) -> list[Channel]:
    """Return the channels of a MySQL server, also those that are stopped.

    Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    modern = server.identity.version_number >= _REPLICA_STATUS_SINCE
    kind, name = ("REPLICA", "Source") if modern else ("SLAVE", "Master")
    listed = []
    for row in server.query(f"SHOW {kind} STATUS"):
        received = row[f"{name}_Log_File"], row[f"Read_{name}_Log_Pos"]
        committed = row[f"Relay_{name}_Log_File"], row[f"Exec_{name}_Log_Pos"]
        listed.append(
            Channel(
                source_uuid=str(row[f"{name}_UUID"] or ""),
                received=GtidSet.parse(str(row["Retrieved_Gtid_Set"] or "")),
                # Without a file, as in group replication, the positions say nothing.
                is_done=bool(received[0]) and received == committed,
            )
        )
    return listed


def replica_status_query(identity: ServerIdentity) -> str:
    """Return the statement that shows the replication channels, in the words of this version."""
    modern = identity.flavour == "mysql" and identity.version_number >= _REPLICA_STATUS_SINCE
    return "SHOW REPLICA STATUS" if modern else "SHOW SLAVE STATUS"


def lag_of(channels: Iterable[Mapping[str, str | None]]) -> float | None:
    """Return by how many seconds a replica is later than it is meant to be; None if unknown.

    A channel that is stopped says nothing.
    """
    lags = []
    for row in channels:
        lag = row.get("Seconds_Behind_Source", row.get("Seconds_Behind_Master"))
        if lag is not None:
            lags.append(max(0.0, float(lag) - float(row.get("SQL_Delay") or 0)))
    return max(lags, default=None)

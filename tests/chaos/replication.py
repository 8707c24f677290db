"""What the two kinds of servers call the parts of replication."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pymysql.constants import ER
from pymysql.cursors import DictCursor
from pymysql.err import OperationalError

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from local_stack import MariadbServer, MysqlServer, connect
from tests.chaos.failure import ChaosFailure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_stack import Endpoint, Server

# A replica notices within so many seconds that its source is gone.
_HEARTBEAT_SECONDS = 0.5
_READ_TIMEOUT_SECONDS = 2
# For a lock of a table, which the server's own threads may hold for a while.
_LOCK_WAIT_SECONDS = 5
_LOCK_WAITS = 6


def ask(endpoint: Endpoint, *statements: str) -> list[dict[str, Any]]:
    """Run statements as the administrator; return the rows of the last one."""
    rows: list[dict[str, Any]] = []
    with (
        closing(connect(endpoint, read_timeout_seconds=30)) as connection,
        connection.cursor(DictCursor) as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


def alter(endpoint: Endpoint, *statements: str) -> None:
    """Run DDL as the administrator; locks of a table are waited for several times.

    Raises ChaosFailure with the sessions of the server where one is never given.
    """
    with (
        closing(connect(endpoint, read_timeout_seconds=30)) as connection,
        connection.cursor(DictCursor) as cursor,
    ):
        cursor.execute(f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_SECONDS}")
        for statement in statements:
            for attempt in range(_LOCK_WAITS):
                try:
                    cursor.execute(statement)
                    break
                except OperationalError as error:
                    if error.args[0] != ER.LOCK_WAIT_TIMEOUT:
                        raise
                    if attempt + 1 == _LOCK_WAITS:
                        sessions = ask(endpoint, "SHOW FULL PROCESSLIST")
                        prepared = ask(endpoint, "XA RECOVER")
                        reason = (
                            f"{statement}: {error.args[1]}; sessions: {sessions}; "
                            f"prepared: {prepared}"
                        )
                        raise ChaosFailure(reason) from error


class Flavour(ABC):
    """One kind of server."""

    name: str
    shown: str
    reset: str
    # Whether XA transactions are after a crash what the server's own log says.
    recovers_xa: bool

    @abstractmethod
    def server(self, directory: Path, server_id: int) -> Server:
        """Return a server that can be source and replica; it is not started."""

    @abstractmethod
    def follow(self, replica: Endpoint, source: Endpoint) -> None:
        """Make a server the replica of another, from what it has."""

    @abstractmethod
    def promote(self, server: Endpoint) -> None:
        """Make a replica the source."""

    @abstractmethod
    def has_all_of(self, replica: Endpoint, source: Endpoint) -> bool:
        """Return whether everything that the source has committed is on the replica, too."""

    @abstractmethod
    def replica_error(self, replica: Endpoint) -> str:
        """Return why replication has stopped, "" while it runs."""

    def demote(self, server: Endpoint) -> None:
        """Let nobody write to a source any more."""
        ask(server, "SET GLOBAL read_only = ON")


def _settings(server_id: int, more: Mapping[str, str | None]) -> dict[str, str | None]:
    return {
        "server_id": str(server_id),
        "log_slave_updates": "ON",
        "slave_net_timeout": str(_READ_TIMEOUT_SECONDS),
        "skip_slave_start": "ON",
        "innodb_lock_wait_timeout": "20",
        # Logs that change by themselves.
        "max_binlog_size": "16M",
    } | dict(more)


class Mysql(Flavour):
    """MySQL with GTIDs and auto position."""

    name = "mysql"
    shown = "MySQL 9.7"
    reset = "RESET BINARY LOGS AND GTIDS"
    recovers_xa = True

    def server(self, directory: Path, server_id: int) -> Server:
        renamed = {
            "log_slave_updates": None,
            "log_replica_updates": "ON",
            "slave_net_timeout": None,
            "replica_net_timeout": str(_READ_TIMEOUT_SECONDS),
            "skip_slave_start": None,
            "skip_replica_start": "ON",
        }
        return MysqlServer(directory, version="9", settings=_settings(server_id, renamed))

    def follow(self, replica: Endpoint, source: Endpoint) -> None:
        ask(
            replica,
            "STOP REPLICA",
            "SET GLOBAL super_read_only = ON",
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{source.host}', "
            f"SOURCE_PORT = {source.port}, SOURCE_USER = '{source.user}', "
            f"SOURCE_PASSWORD = '{source.password}', SOURCE_AUTO_POSITION = 1, "
            "SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100000, GET_SOURCE_PUBLIC_KEY = 1, "
            f"SOURCE_HEARTBEAT_PERIOD = {_HEARTBEAT_SECONDS}",
            "START REPLICA",
        )

    def promote(self, server: Endpoint) -> None:
        ask(
            server,
            "STOP REPLICA",
            "RESET REPLICA ALL",
            "SET GLOBAL super_read_only = OFF",
            "SET GLOBAL read_only = OFF",
        )

    def demote(self, server: Endpoint) -> None:
        ask(server, "SET GLOBAL super_read_only = ON")

    def has_all_of(self, replica: Endpoint, source: Endpoint) -> bool:
        executed = "SELECT @@GLOBAL.gtid_executed AS gtids"
        (on_source,), (on_replica,) = ask(source, executed), ask(replica, executed)
        return GtidSet.parse(on_source["gtids"]) <= GtidSet.parse(on_replica["gtids"])

    def replica_error(self, replica: Endpoint) -> str:
        (status,) = ask(replica, "SHOW REPLICA STATUS")
        return str(status["Last_SQL_Error"] or _fatal_io_error(status))


class Mariadb(Flavour):
    """MariaDB, whose replicas know where they are by their gtid_slave_pos."""

    name = "mariadb"
    shown = "MariaDB 11.8"
    reset = "RESET MASTER"
    recovers_xa = False

    def server(self, directory: Path, server_id: int) -> Server:
        settings = {
            # Else logs are kept while no replica, or not enough of them, are connected.
            "slave_connections_needed_for_purge": "0",
        }
        return MariadbServer(directory, settings=_settings(server_id, settings))

    def follow(self, replica: Endpoint, source: Endpoint) -> None:
        (log,) = ask(replica, "SELECT @@GLOBAL.gtid_binlog_pos AS gtids")
        ask(
            replica,
            "STOP SLAVE",
            "SET GLOBAL read_only = ON",
            f"SET GLOBAL gtid_slave_pos = '{log['gtids']}'",
            f"CHANGE MASTER TO MASTER_HOST = '{source.host}', MASTER_PORT = {source.port}, "
            f"MASTER_USER = '{source.user}', MASTER_PASSWORD = '{source.password}', "
            "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_SSL = 0, "
            f"MASTER_HEARTBEAT_PERIOD = {_HEARTBEAT_SECONDS}",
            "START SLAVE",
        )

    def promote(self, server: Endpoint) -> None:
        ask(server, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")

    def has_all_of(self, replica: Endpoint, source: Endpoint) -> bool:
        written = "SELECT @@GLOBAL.gtid_binlog_pos AS gtids"
        (on_source,), (on_replica,) = ask(source, written), ask(replica, written)
        return MariadbGtidSet.parse(on_source["gtids"]) <= MariadbGtidSet.parse(on_replica["gtids"])

    def replica_error(self, replica: Endpoint) -> str:
        (status,) = ask(replica, "SHOW SLAVE STATUS")
        return str(status["Last_SQL_Error"] or _fatal_io_error(status))


def _fatal_io_error(status: Mapping[str, Any]) -> str:
    """Return what stopped the receiver; that it cannot connect for now is no error."""
    running = status.get("Replica_IO_Running", status.get("Slave_IO_Running"))
    return str(status["Last_IO_Error"]) if running == "No" else ""


FLAVOURS: dict[str, type[Flavour]] = {"mysql": Mysql, "mariadb": Mariadb}

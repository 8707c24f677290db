"""Two servers of one product, the second a replica of the first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.harness import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from local_stack import Endpoint


class ReplicationPair(ABC):
    """A source and its replica, which may change roles."""

    reset: str  # the statement that lets a history begin anew
    status: str  # the one that shows how replication stands

    def __init__(
        self, source: MysqlServer | MariadbServer, replica: MysqlServer | MariadbServer
    ) -> None:
        """Take two servers that run."""
        self.source = source
        self.replica = replica

    def ask(self, server: MysqlServer | MariadbServer, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the administrator; return the rows of the last."""
        return ask(server.endpoint, *statements)

    def on_source(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements on the source."""
        return self.ask(self.source, *statements)

    def on_replica(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements on the replica."""
        return self.ask(self.replica, *statements)

    def wait_for_replica(self) -> None:
        """Wait until the replica has committed everything that the source has."""
        wait_until(self._has_caught_up, lambda: f"the replica lags: {self.replication_status()}")

    @abstractmethod
    def follow(self) -> None:
        """Let the replica follow the source."""

    @abstractmethod
    def stop_replication(self) -> None:
        """Let the replica lag from now on."""

    @abstractmethod
    def start_replication(self) -> None:
        """Let the replica catch up."""

    @abstractmethod
    def begin_anew(self) -> None:
        """Let the history of both begin anew."""

    @abstractmethod
    def promote(self) -> None:
        """Make the replica a source that is nobody's replica."""

    @abstractmethod
    def gtids(self, server: MysqlServer | MariadbServer) -> GtidSet | MariadbGtidSet:
        """Return what is in the server's log."""

    def replication_status(self) -> dict[str, Any]:
        """Return what the replica says of itself, without what it has nothing to say of."""
        with connect(self.replica.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute(self.status)
            names = [column[0] for column in cursor.description or ()]
            return {
                name: value
                for row in cursor.fetchall()
                for name, value in zip(names, row, strict=True)
                if value not in ("", None)
            }

    def _has_caught_up(self) -> bool:
        theirs, ours = self.gtids(self.source), self.gtids(self.replica)
        if isinstance(theirs, GtidSet):
            assert isinstance(ours, GtidSet)
            return theirs <= ours
        assert isinstance(ours, MariadbGtidSet)
        return theirs <= ours


class MysqlPair(ReplicationPair):
    """MySQL with GTIDs and auto position; releases before 8.0.23 have the old words."""

    def __init__(
        self, source: MysqlServer | MariadbServer, replica: MysqlServer | MariadbServer
    ) -> None:
        super().__init__(source, replica)
        self._is_old = source.version < (8, 0, 23)
        self._replica = "SLAVE" if self._is_old else "REPLICA"
        self.status = f"SHOW {self._replica} STATUS"
        self.reset = "RESET " + (
            "BINARY LOGS AND GTIDS" if source.version >= (8, 2, 0) else "MASTER"
        )

    def follow(self) -> None:
        source, word = self.source.endpoint, "MASTER" if self._is_old else "SOURCE"
        # 5.7 has no plugin that encrypts passwords.
        key = f", GET_{word}_PUBLIC_KEY = 1" if self.source.version >= (8, 0, 0) else ""
        self.on_replica(
            f"CHANGE {'MASTER' if self._is_old else 'REPLICATION SOURCE'} TO "
            f"{word}_HOST = '{source.host}', {word}_PORT = {source.port}, "
            f"{word}_USER = '{source.user}', {word}_PASSWORD = '{source.password}', "
            f"{word}_AUTO_POSITION = 1, {word}_CONNECT_RETRY = 1{key}",
            f"START {self._replica}",
        )

    def stop_replication(self) -> None:
        self.on_replica(f"STOP {self._replica}")

    def start_replication(self) -> None:
        self.on_replica(f"START {self._replica}")

    def begin_anew(self) -> None:
        self.on_replica(f"STOP {self._replica}", f"RESET {self._replica}", self.reset)
        self.on_source(self.reset)
        self.start_replication()

    def promote(self) -> None:
        self.on_replica(f"STOP {self._replica}", f"RESET {self._replica} ALL")

    def gtids(self, server: MysqlServer | MariadbServer) -> GtidSet:
        ((text,),) = self.ask(server, "SELECT @@GLOBAL.gtid_executed")
        return GtidSet.parse(text)


class MariadbPair(ReplicationPair):
    """MariaDB, whose replica goes on from its gtid_slave_pos."""

    reset = "RESET MASTER"
    status = "SHOW SLAVE STATUS"

    def follow(self) -> None:
        source = self.source.endpoint
        self.on_replica(
            f"CHANGE MASTER TO MASTER_HOST = '{source.host}', MASTER_PORT = {source.port}, "
            f"MASTER_USER = '{source.user}', MASTER_PASSWORD = '{source.password}', "
            "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_SSL = 0",
            "START SLAVE",
        )

    def stop_replication(self) -> None:
        self.on_replica("STOP SLAVE")

    def start_replication(self) -> None:
        self.on_replica("START SLAVE")

    def begin_anew(self) -> None:
        self.on_replica("STOP SLAVE", self.reset, "SET GLOBAL gtid_slave_pos = ''")
        self.on_source(self.reset)
        self.start_replication()

    def promote(self) -> None:
        self.on_replica("STOP SLAVE", "RESET SLAVE ALL")

    def gtids(self, server: MysqlServer | MariadbServer) -> MariadbGtidSet:
        ((text,),) = self.ask(server, "SELECT @@GLOBAL.gtid_binlog_pos")
        return MariadbGtidSet.parse(text)


@contextmanager
def mysql_pair(
    directory: Path, version: str = "9", settings: Mapping[str, str] | None = None
) -> Iterator[MysqlPair]:
    """Run two servers, the second a replica of the first; both have `settings`."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                MysqlServer(
                    directory / f"mysql-{number}",
                    version=version,
                    settings={
                        "server_id": str(number),
                        # The default since 8.0.
                        **({"log_slave_updates": "ON"} if version == "5.7" else {}),
                        **(settings or {}),
                    },
                )
            )
            for number in (1, 2)
        ]
        pair = MysqlPair(*servers)
        pair.follow()
        yield pair


@contextmanager
def mariadb_pair(
    directory: Path, version: str = "11.8", settings: Mapping[str, str] | None = None
) -> Iterator[MariadbPair]:
    """Run two servers, the second a replica of the first; both have `settings`."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                MariadbServer(
                    directory / f"mariadb-{number}",
                    version=version,
                    settings={
                        "server_id": str(number),
                        "log_slave_updates": "ON",
                        # Else logs are kept while no replica is connected; old servers have none.
                        "loose_slave_connections_needed_for_purge": "0",
                        **(settings or {}),
                    },
                )
            )
            for number in (1, 2)
        ]
        pair = MariadbPair(*servers)
        pair.follow()
        yield pair


def ask(endpoint: Endpoint, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as the administrator; return the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    with connect(endpoint) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows

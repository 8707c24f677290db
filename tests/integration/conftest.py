"""A source with a database of its own, and a prefix of its own in Kafka."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from local_stack import MysqlServer, connect
from tests.integration.harness import (
    ConnectorProcess,
    Seen,
    changes,
    read_committed,
    wait_until,
    write_config,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Endpoint, KafkaBroker, Server


@dataclass
class Stream:
    """A source, a broker, and the names that one test uses in them."""

    source: Endpoint
    broker: Endpoint
    directory: Path
    database: str
    prefix: str
    start: str  # of the log that concerns the test; other tests left theirs before it

    def execute(self, *statements: str) -> None:
        """Run statements on the source, each its own transaction."""
        with connect(self.source, self.database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def transaction(self, *statements: str, end: str = "COMMIT") -> None:
        """Run statements on the source in one transaction."""
        self.execute("BEGIN", *statements, end)

    def config(self, **changed: object) -> Path:
        """Write a configuration that follows the database."""
        wanted: dict[str, object] = {"source__start": self.start} | changed
        return write_config(
            self.directory, self.source, self.broker, self.prefix, self.database, **wanted
        )

    def connector(self, **changed: object) -> ConnectorProcess:
        """Return a connector that follows the database, to be entered."""
        return ConnectorProcess(self.config(**changed))

    def changes(self) -> list[Seen]:
        """Return what is committed in Kafka, in order, without tombstones."""
        return changes(read_committed(self.broker, self.prefix))

    def wait_for_changes(self, count: int, connector: ConnectorProcess) -> list[Seen]:
        """Return the changes once there are `count` of them."""
        found: list[Seen] = []

        def enough() -> bool:
            found[:] = self.changes()
            return len(found) >= count

        wait_until(enough, lambda: f"only {len(found)} changes\n{connector.output()}")
        return found


def new_stream(source: Endpoint, broker: Endpoint, directory: Path) -> Stream:
    """Create a database with a name of its own."""
    name = f"it_{uuid.uuid4().hex[:10]}"
    with connect(source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone() or ("",)
        mariadb = "MariaDB" in version
        cursor.execute(f"SELECT {'@@gtid_binlog_pos' if mariadb else '@@gtid_executed'}")
        (gtid_set,) = cursor.fetchone() or ("",)
        cursor.execute(f"CREATE DATABASE {name}")
    start = "gtid:" + gtid_set.replace("\n", "") if gtid_set else "earliest"
    return Stream(source, broker, directory, name, name, start)


@pytest.fixture
def stream(mysql_server: Server, kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Stream]:
    """Follow a new database on MySQL."""
    stream = new_stream(mysql_server.endpoint, kafka_broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")


@pytest.fixture
def mariadb_stream(
    mariadb_server: Server, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[Stream]:
    """Follow a new database on MariaDB."""
    stream = new_stream(mariadb_server.endpoint, kafka_broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")


@pytest.fixture(params=["mysql", "mariadb"])
def either_stream(request: pytest.FixtureRequest) -> Stream:
    """Follow a new database, once on each kind of server."""
    name = "stream" if request.param == "mysql" else "mariadb_stream"
    found: Stream = request.getfixturevalue(name)
    return found


@pytest.fixture
def private_mysql_stream(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[tuple[Stream, MysqlServer]]:
    """Follow a MySQL that this test may kill."""
    with MysqlServer(tmp_path / "mysql") as server:
        yield new_stream(server.endpoint, kafka_broker.endpoint, tmp_path), server


@pytest.fixture
def mysql_without_gtid_stream(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Stream]:
    """Follow a MySQL that has positions only."""
    settings = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        yield new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)

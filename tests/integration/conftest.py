"""Real servers, started when a test first asks, and shared until the last test has run.

A server that cannot be had fails the test that asked. Servers keep their state between tests, so
each test works in a database and under topics of its own. A test that needs other settings, purges
logs or counts files starts a server of its own.
"""

from __future__ import annotations

import os
import shlex
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from local_stack.sql_server import SqlServer
from tests.binlog.source_log import SourceLog
from tests.integration.database_stream import Stream, new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.folder_broker import FolderBroker, use_folders
from tests.integration.foreign_broker import expect_differences, use_program
from tests.integration.replication_pair import mariadb_pair, mysql_pair
from tests.integration.shared_broker import SharedBroker
from tests.integration.source_server import Source, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import Endpoint, Server
    from tests.integration.replication_pair import ReplicationPair


def _kill(server: Server, *_: object) -> None:
    """End a server at the end of its `with`: no test reads its data again.

    After a replica has gone, MySQL takes nine seconds to shut down.
    """
    server.kill()


SqlServer.__exit__ = _kill  # type: ignore[method-assign]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--folder-log"):
        use_folders()
    if program := config.getoption("--foreign-broker"):
        use_program(shlex.split(program))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--foreign-broker"):
        expect_differences(items)


def _server_of(new: Callable[[Path], Server]) -> Any:
    """Return a fixture: a running source; a test that stops it starts it again.

    Tests of one of the other versions run on one worker; each worker has the default ones.
    """

    @pytest.fixture(scope="session")
    def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
        with new(tmp_path_factory.mktemp("server")) as running:
            yield running

    return server


mysql_server = _server_of(MysqlServer)
mariadb_server = _server_of(MariadbServer)
mysql_5_7 = _server_of(partial(MysqlServer, version="5.7"))
mysql_8_0_15 = _server_of(partial(MysqlServer, version="8.0.15"))
mysql_9 = _server_of(partial(MysqlServer, version="9"))
mariadb_10_5 = _server_of(partial(MariadbServer, version="10.5"))
mariadb_10_11 = _server_of(partial(MariadbServer, version="10.11"))


@pytest.fixture(scope="session")
def kafka_broker(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaBroker]:
    """A running Kafka broker, which no test may stop: all workers share it.

    With `--folder-log` it is a log in a folder, one for each worker.
    """
    if pytestconfig.getoption("--folder-log"):
        with FolderBroker(tmp_path_factory.mktemp("kafka")) as folder:
            yield folder
        return
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with SharedBroker(common / "kafka") as broker:
        yield broker


@pytest.fixture
def database(mysql_server: MysqlServer) -> Iterator[str]:
    """The name of an empty database of this test on `mysql_server`; dropped at the end."""
    yield from _database(mysql_server.endpoint)


@pytest.fixture
def mariadb_database(mariadb_server: MariadbServer) -> Iterator[str]:
    """The name of an empty database of this test on `mariadb_server`; dropped at the end."""
    yield from _database(mariadb_server.endpoint)


@pytest.fixture
def mysql_log(mysql_server: MysqlServer, database: str) -> Iterator[SourceLog]:
    """A connection to MySQL in an empty database."""
    with connect(mysql_server.endpoint, database) as connection:
        yield SourceLog(connection)


@pytest.fixture
def mariadb_log(mariadb_server: MariadbServer, mariadb_database: str) -> Iterator[SourceLog]:
    """A connection to MariaDB in an empty database."""
    with connect(mariadb_server.endpoint, mariadb_database) as connection:
        yield SourceLog(connection)


@pytest.fixture(params=["mysql", "mariadb"])
def source_log(request: pytest.FixtureRequest) -> SourceLog:
    """A connection to each kind of server in an empty database."""
    log = request.getfixturevalue(f"{request.param}_log")
    assert isinstance(log, SourceLog)
    return log


@pytest.fixture(scope="module")
def mysql(mysql_server: MysqlServer) -> Source:
    return source_of(mysql_server)


@pytest.fixture(scope="module")
def mariadb(mariadb_server: MariadbServer) -> Source:
    return source_of(mariadb_server)


@pytest.fixture(params=["mysql", "mariadb"])
def source(request: pytest.FixtureRequest) -> Source:
    """Each product in turn."""
    given: Source = request.getfixturevalue(request.param)
    return given


@pytest.fixture
def schema(source: Source) -> Iterator[str]:
    """A database of this test on `source`."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    source.execute(f"CREATE DATABASE {name}")
    yield name
    source.execute(f"DROP DATABASE {name}")


@pytest.fixture
def stream(mysql_server: Server, kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Stream]:
    """Follow a new database on MySQL."""
    stream = new_stream(mysql_server.endpoint, kafka_broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")
    end_topics(stream.broker, stream.prefix)


@pytest.fixture
def mariadb_stream(
    mariadb_server: Server, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[Stream]:
    """Follow a new database on MariaDB."""
    stream = new_stream(mariadb_server.endpoint, kafka_broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")
    end_topics(stream.broker, stream.prefix)


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
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        yield stream, server
    end_topics(stream.broker, stream.prefix)


@pytest.fixture
def mysql_without_gtid_stream(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Stream]:
    """Follow a MySQL that has positions only."""
    settings = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        yield stream
    end_topics(stream.broker, stream.prefix)


def _database(endpoint: Endpoint) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:12]}"
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture(params=["mysql", "mariadb"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplicationPair]:
    """Two servers of each product in turn, which the test may kill."""
    with (mysql_pair if request.param == "mysql" else mariadb_pair)(tmp_path) as found:
        found.wait_for_replica()
        yield found

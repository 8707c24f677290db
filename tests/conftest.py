"""Real servers for the tests: one of each per worker, started when a test first asks.

A server that cannot be had fails the test that asked. Servers keep their state between tests, so
each test works in a database and under topics of its own.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from connector import compiled
from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from tests import selection
from tests.stale_build import newer_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

PROJECT = Path(__file__).parents[1]

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--differs-by-compilation",
        action="store_true",
        help="only tests of compiled modules that need no servers",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--differs-by-compilation"):
        chosen = [item for item in items if selection.differs_by_compilation(item)]
        left = [item for item in items if not selection.differs_by_compilation(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = chosen
    # The order inside of a kind stays: it is random.
    items.sort(key=selection.order)
    for item in items:
        if isinstance(item, pytest.Function) and (group := selection.group(item)):
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_report_header() -> str:
    return f"connector: {compiled.description()}"


def pytest_sessionstart() -> None:
    newer = newer_sources()
    if newer:
        names = ", ".join(path.relative_to(PROJECT).as_posix() for path in newer)
        reason = f"compiled before its last change: {names}; run `make setup`, or use `make test`"
        pytest.exit(reason, pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def mysql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A running MySQL 8.0 source; a test that stops it starts it again."""
    with MysqlServer(tmp_path_factory.mktemp("mysql")) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbServer]:
    """A running MariaDB 11.8 source; a test that stops it starts it again."""
    with MariadbServer(tmp_path_factory.mktemp("mariadb")) as server:
        yield server


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running Kafka broker; a test that stops it starts it again."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def database(mysql_server: MysqlServer) -> Iterator[str]:
    """The name of an empty database of this test on `mysql_server`; dropped at the end."""
    yield from _database(mysql_server.endpoint)


@pytest.fixture
def mariadb_database(mariadb_server: MariadbServer) -> Iterator[str]:
    """The name of an empty database of this test on `mariadb_server`; dropped at the end."""
    yield from _database(mariadb_server.endpoint)


@pytest.fixture(scope="session")
def shared_binlogs() -> Path:
    """The folder of recorded binlog files with known values, which lies beside the project."""
    folder = PROJECT.parent / "shared" / "binlogs"
    if not folder.is_dir():
        pytest.skip("no recorded binlogs beside the project: ../shared/binlogs is missing")
    return folder


def _database(endpoint: Endpoint) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:12]}"
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")

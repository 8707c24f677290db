"""Servers without GTIDs, and servers whose logs a test may purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.integration.source_server import Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def without_gtids(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """A MySQL that has no GTIDs, which a test may kill."""
    settings = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    with MysqlServer(tmp_path_factory.mktemp("no-gtid"), settings=settings) as server:
        yield source_of(server)


@pytest.fixture(scope="module")
def resettable_mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A MySQL of one test after the other."""
    # As servers are by default.
    settings = {"performance_schema": "ON"}
    with MysqlServer(tmp_path_factory.mktemp("own"), settings=settings) as server:
        yield server


@pytest.fixture(scope="module")
def resettable_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbServer]:
    """A MariaDB of one test after the other."""
    with MariadbServer(tmp_path_factory.mktemp("own")) as server:
        yield server


@pytest.fixture
def own_mysql(resettable_mysql: MysqlServer) -> Source:
    """A MySQL of this test alone, whose logs may be purged and reset."""
    return begun_anew(resettable_mysql)


@pytest.fixture
def own_mariadb(resettable_mariadb: MariadbServer) -> Source:
    """A MariaDB of this test alone, whose logs may be purged and reset."""
    return begun_anew(resettable_mariadb)


def begun_anew(server: MysqlServer | MariadbServer) -> Source:
    """Return a source without databases, and with nothing in its log but its account.

    A new server takes a second of a core.
    """
    administrator = Source(server, "root")
    own = "('mysql', 'sys', 'information_schema', 'performance_schema')"
    databases = administrator.execute(
        f"SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN {own}"
    )
    administrator.execute(*(f"DROP DATABASE `{name}`" for (name,) in databases), "RESET MASTER")
    if administrator.is_mariadb:
        administrator.execute("SET GLOBAL gtid_slave_pos = ''")
    return source_of(server)

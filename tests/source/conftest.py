"""A source server and an account with just the grants of configs/mysql/grants.sql."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from connector.settings.sections import SourceSettings
from local_stack import MariadbServer, MysqlServer, connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEAST_GRANTS = "REPLICATION SLAVE, REPLICATION CLIENT"
ACCOUNT_PASSWORD = "pass word"


@dataclass
class Source:
    """A running server, and how to speak to it as its administrator."""

    server: MysqlServer | MariadbServer
    user: str

    @property
    def is_mariadb(self) -> bool:
        return isinstance(self.server, MariadbServer)

    @property
    def name(self) -> str:
        return f"source 127.0.0.1:{self.server.endpoint.port}"

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the administrator; return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def settings(self, **changes: Any) -> SourceSettings:
        values: dict[str, Any] = {
            "port": self.server.endpoint.port,
            "user": self.user,
            "password": ACCOUNT_PASSWORD,
            "server_id": 4001,
            "read_timeout_seconds": 10,
            # The account may not read tables.
            "start": "latest",
        }
        return SourceSettings(**{**values, **changes})

    def create_account(self, grants: str = "", requirement: str = "") -> str:
        """Create an account with `grants` and return its name."""
        user = f"u{uuid.uuid4().hex[:12]}"
        self.execute(f"CREATE USER {user} IDENTIFIED BY '{ACCOUNT_PASSWORD}' {requirement}")
        if grants:
            self.execute(f"GRANT {grants} ON *.* TO {user}")
        return user


def source_of(server: MysqlServer | MariadbServer) -> Source:
    source = Source(server, "root")
    source.user = source.create_account(LEAST_GRANTS)
    return source


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


@pytest.fixture(scope="session")
def without_gtids(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """A MySQL that has no GTIDs, which a test may kill."""
    settings = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    with MysqlServer(tmp_path_factory.mktemp("no-gtid"), settings=settings) as server:
        yield source_of(server)


@pytest.fixture
def own_mysql(tmp_path: Path) -> Iterator[Source]:
    """A MySQL of this test alone, whose logs may be purged."""
    with MysqlServer(tmp_path / "own") as server:
        yield source_of(server)


@pytest.fixture
def own_mariadb(tmp_path: Path) -> Iterator[Source]:
    """A MariaDB of this test alone, whose logs may be purged."""
    with MariadbServer(tmp_path / "own") as server:
        yield source_of(server)

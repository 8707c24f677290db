"""Servers without GTIDs, and servers whose logs a test may purge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.integration.source_server import Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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

"""Servers and databases of tests that read tables of each server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.integration.source_server import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.source_server import Source

SERVERS = ["mysql_server", "mysql_5_7", "mysql_9", "mariadb_server", "mariadb_10_5"]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Source:
    """Each server in turn."""
    return source_of(request.getfixturevalue(request.param))


@pytest.fixture
def place(server: Source) -> Iterator[str]:
    """A database of this test."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    server.execute(f"CREATE DATABASE {name}")
    yield name
    server.execute(f"DROP DATABASE {name}")

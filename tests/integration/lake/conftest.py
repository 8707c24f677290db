"""The source of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MysqlServer
from tests.integration.lake.shop import Shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Server


@pytest.fixture
def shop(mysql_server: Server) -> Iterator[Shop]:
    own = Shop(mysql_server)
    yield own
    own.drop()


@pytest.fixture
def own_mysql(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may reset."""
    with MysqlServer(tmp_path / "mysql") as server:
        yield server

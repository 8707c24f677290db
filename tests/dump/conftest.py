"""The logs of every server that is carried, written once for the tests of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.dump.server_logs import SERVERS, record
from tests.dump.shop import record_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.dump.server_logs import ServerLog
    from tests.dump.shop import Shop


@pytest.fixture(scope="session", params=SERVERS)
def server_logs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[ServerLog]:
    """The files of a server's log, with what the server shows of them."""
    return record(request.param, tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session", params=[MysqlServer, MariadbServer])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """Two logs of each product in turn, from servers of these tests alone: their logs are short."""
    folder = tmp_path_factory.mktemp("shop")
    with request.param(folder / "server") as server:
        yield record_shop(server, folder)

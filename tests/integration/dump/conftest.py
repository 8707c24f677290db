"""The logs of every server that is carried, written once for the tests of all formats."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.integration.dump.server_logs import SERVERS, record
from tests.integration.dump.shop import record_shop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.dump.server_logs import ServerLog
    from tests.integration.dump.shop import Shop


@pytest.fixture(scope="session")
def recorded_logs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[ServerLog]]:
    """Records the log of a server once, in whatever order tests ask for it."""
    return functools.cache(lambda server: record(server, tmp_path_factory.mktemp("server")))


@pytest.fixture(params=SERVERS)
def server_logs(
    request: pytest.FixtureRequest, recorded_logs: Callable[[str], list[ServerLog]]
) -> list[ServerLog]:
    """The files of a server's log, with what the server shows of them."""
    return recorded_logs(request.param)


@pytest.fixture(scope="session", params=[MysqlServer, MariadbServer])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """Two logs of each product in turn, from servers of these tests alone: their logs are short."""
    folder = tmp_path_factory.mktemp("shop")
    with request.param(folder / "server") as server:
        yield record_shop(server, folder)

"""The logs of every server that is carried, written once for the tests of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dump.server_logs import SERVERS, record
from tests.dump.shop import record_shop

if TYPE_CHECKING:
    from tests.dump.server_logs import ServerLog
    from tests.dump.shop import Shop


@pytest.fixture(scope="session", params=SERVERS)
def server_logs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[ServerLog]:
    """The files of a server's log, with what the server shows of them."""
    return record(request.param, tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Two logs of each product in turn."""
    server = request.getfixturevalue(f"{request.param}_server")
    return record_shop(server, tmp_path_factory.mktemp("shop"))

"""The logs of every server that is carried, written once for the tests of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dump.server_logs import SERVERS, record

if TYPE_CHECKING:
    from tests.dump.server_logs import ServerLog


@pytest.fixture(scope="session", params=SERVERS)
def server_logs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[ServerLog]:
    """The files of a server's log, with what the server shows of them."""
    return record(request.param, tmp_path_factory.mktemp("server"))

"""Prepared XA transactions are told by the names that XA statements take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.server_selection import prepared_transactions

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

NAMES = ["'one'", "X'00FF',X'6272616e6368',7"]


@pytest.mark.parametrize("product", ["own_mysql", "own_mariadb"])
def test_what_is_prepared_can_be_ended_by_its_name(
    product: str, request: pytest.FixtureRequest
) -> None:
    source: Source = request.getfixturevalue(product)
    source.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    for number, name in enumerate(NAMES):
        source.execute(
            f"XA START {name}",
            f"INSERT INTO d.t VALUES ({number})",
            f"XA END {name}",
            f"XA PREPARE {name}",
        )
    if product == "own_mysql":
        with MysqlServer.connect(source.settings()) as server:
            assert prepared_transactions(server) is None
        source.execute(f"GRANT XA_RECOVER_ADMIN ON *.* TO {source.user}")
    with MysqlServer.connect(source.settings()) as server:
        found = prepared_transactions(server)
        assert found is not None
        assert len(found) == len(NAMES)
        for name in found:
            source.execute(f"XA ROLLBACK {name}")
        assert prepared_transactions(server) == []

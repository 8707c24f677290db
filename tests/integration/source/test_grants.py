"""The rights in configs/mysql/grants.sql are enough."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.preflight import check_source

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


FOLDER = Path(__file__).parents[3] / "configs" / "mysql"


def test_the_grants_are_enough_and_the_least(source: Source) -> None:
    user, password = f"u{uuid.uuid4().hex[:12]}", "choose-a-password"
    script = (FOLDER / "grants.sql").read_text().replace("'cdc'", f"'{user}'")
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    source.execute(*filter(str.strip, "\n".join(lines).split(";")))
    settings = source.settings(user=user, password=password, start="snapshot")
    with MysqlServer.connect(settings) as server:
        assert all(f.ok for f in check_source(server, settings) if f.name.startswith("grant "))
        everywhere, shop = server.query("SHOW GRANTS")
    client = "BINLOG MONITOR" if source.is_mariadb else "REPLICATION CLIENT"
    assert f"GRANT REPLICATION SLAVE, {client} ON *.* TO" in str(everywhere)
    assert "GRANT SELECT, LOCK TABLES ON `shop`.* TO" in str(shop)

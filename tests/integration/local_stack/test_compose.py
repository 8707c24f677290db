"""What `docker-compose.yml` fills an empty server with."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.configuration import load_settings
from connector.lake.demo.shop import drop_shop, statements
from connector.replication.server.mysql_server import MysqlServer as MysqlSession
from connector.stream.source.preflight import check_source, require
from local_stack import connect
from tests.compose import CONFIGS, ROOT, SERVICES

if TYPE_CHECKING:
    from local_stack import MysqlServer

pytestmark = pytest.mark.server


def test_the_files_that_fill_an_empty_mysql_run_one_after_the_other(
    mysql_server: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [
        mount.split(":", maxsplit=1)[0]
        for mount in SERVICES["mysql"]["volumes"]
        if "/docker-entrypoint-initdb.d/" in mount
    ]
    assert len(sources) == 3
    connection = connect(mysql_server.endpoint)
    with closing(connection), connection.cursor() as cursor:
        for source in sources:
            for statement in statements((ROOT / source).read_text("utf-8")):
                cursor.execute(statement)
        cursor.execute("SELECT COUNT(*) FROM shop.orders JOIN shop.order_lines ON id = order_id")
        assert cursor.fetchone() == (2,)
    require_account_that_copies(mysql_server, monkeypatch)
    drop_shop(mysql_server.endpoint)


def require_account_that_copies(server: MysqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log in as the connector does, and do what its first start asks for."""
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "shop-cdc")
    endpoint = server.endpoint
    address = {"host": endpoint.host, "port": endpoint.port}
    settings = load_settings(CONFIGS / "connector.toml").source.model_copy(update=address)
    with MysqlSession.connect(settings) as session:
        require(check_source(session, settings))
        # The table without a primary key.
        session.query("LOCK TABLES shop.page_views READ")
        session.query("UNLOCK TABLES")

"""The files of configs/mysql say what the servers of the local stack run with."""

from __future__ import annotations

import uuid
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.source.checks.preflight import check_source
from connector.source.server.mysql_server import MysqlServer
from local_stack import MARIADB_SOURCE_SETTINGS, MYSQL_SOURCE_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integration.source.conftest import Source

FOLDER = Path(__file__).parents[2] / "configs" / "mysql"


@pytest.mark.parametrize(
    ("file", "section", "settings"),
    [
        ("source.cnf", "mysqld", MYSQL_SOURCE_SETTINGS),
        ("mariadb.cnf", "mariadbd", MARIADB_SOURCE_SETTINGS),
    ],
)
def test_an_option_file_has_the_settings_that_the_tests_run_with(
    file: str, section: str, settings: Mapping[str, str]
) -> None:
    options = ConfigParser()
    options.read(FOLDER / file)
    assert dict(options[section]) == dict(settings)


@pytest.mark.server
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

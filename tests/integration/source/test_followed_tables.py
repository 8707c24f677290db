"""Patterns of `source.tables` that match nothing, on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.cli.check import _check_tables
from connector.errors import source_setup
from connector.source.server.mysql_server import MysqlServer
from connector.source.tables.base_tables import base_tables
from tests.integration.source_server import source_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server


def test_a_server_with_names_in_lower_case_is_named_as_the_likely_reason(tmp_path: Path) -> None:
    lower = {"lower_case_table_names": "1"}
    with local_stack.MariadbServer(tmp_path / "m", settings=lower) as server:
        source = source_of(server)
        source.execute("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT)")
        user = source.create_account("SELECT")
        settings = source.settings(user=user, tables=["shop.Orders*x", "shop.orders"])
        with MysqlServer.connect(settings) as session:
            unmatched, matched = _check_tables(session, settings, base_tables(session))
    assert matched.ok
    assert unmatched.problem.code is source_setup.NO_TABLE_IN_LOWER_CASE
    assert unmatched.problem.text == (
        "source.tables is shop.Orders*x: 0 tables, wanted a table; shop.Orders*x matches no "
        "existing table that the account may see; this server has names in lower case"
    )

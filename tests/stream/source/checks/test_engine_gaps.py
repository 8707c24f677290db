"""Engines that no server of the tests has."""

from __future__ import annotations

import pytest

from connector.foundation.server_version import Product, ServerVersion
from connector.stream.source import table_errors
from connector.stream.source.followed_tables import BaseTable
from connector.stream.source.row_logging import engine_gap, engine_gaps
from tests.rules.samples import MARIADB, MYSQL_5_7, MYSQL_8_0


@pytest.mark.parametrize(
    ("engine", "code"),
    [
        ("InnoDB", None),
        ("MEMORY", None),
        ("EXAMPLE", table_errors.NO_ROWS),
        ("FEDERATED", table_errors.REMOTE),
        ("SPIDER", table_errors.REMOTE),
        ("Columnstore", table_errors.UNKNOWN_ENGINE),
    ],
)
def test_an_engine_decides_whether_changes_are_rows(engine: str, code: object) -> None:
    assert engine_gap(engine, MYSQL_8_0) is code
    assert engine_gap(engine, MARIADB) is code


def test_older_servers_log_a_delete_for_a_memory_table_that_a_restart_has_emptied() -> None:
    mariadb_10_5 = ServerVersion(Product.MARIADB, (10, 5, 23))
    assert engine_gap("MEMORY", MYSQL_5_7) is table_errors.EMPTIED
    assert engine_gap("MEMORY", mariadb_10_5) is table_errors.EMPTIED


def test_tables_are_listed_by_engine_with_the_statement_that_changes_it() -> None:
    tables = [
        BaseTable("shop", "a`b", "EXAMPLE"),
        BaseTable("shop", "far", "FEDERATED"),
        BaseTable("shop", "orders", "InnoDB"),
        # The server cannot open it.
        BaseTable("shop", "broken", ""),
    ]
    rowless, far = engine_gaps(tables, MYSQL_8_0)
    assert rowless.rule == "R-log-statement-format (2)"
    assert rowless.places == (("shop.a`b", "ALTER TABLE `shop`.`a``b` ENGINE = InnoDB"),)
    assert rowless.problem.text == (
        "EXAMPLE cannot log rows: the server refuses changes with error 1662, or logs their text "
        "if binlog_format is not ROW"
    )
    assert (far.rule, far.places) == ("R-log-row-format", (("shop.far", ""),))
    assert far.problem.text == (
        "the rows of FEDERATED are on another server: the log has only what is changed through "
        "this one; follow the other server"
    )

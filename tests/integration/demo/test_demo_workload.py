"""The workload of the demo keeps a real source busy, and counts what it did."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import pymysql
import pytest

from connector.lake.demo import demo_errors
from connector.lake.demo.configuration import DemoDirectory, DemoOptions
from connector.lake.demo.shop import (
    DATABASE,
    MIRRORED_TABLES,
    TABLES,
    count_rows,
    create_shop,
    drop_shop,
    require_no_shop,
    statements,
)
from connector.lake.demo.stack import DemoStack
from connector.lake.demo.workload import Workload
from local_stack import connect
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Endpoint, MariadbServer, MysqlServer

pytestmark = pytest.mark.server


@pytest.fixture(params=["mysql_server", "mariadb_server"])
def shop(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """A server of each product, with an empty shop."""
    server: MysqlServer | MariadbServer = request.getfixturevalue(request.param)
    create_shop(server.endpoint, "secret")
    yield server.endpoint
    drop_shop(server.endpoint)


def ask(endpoint: Endpoint, question: str) -> list[tuple[object, ...]]:
    with closing(connect(endpoint)) as connection, connection.cursor() as cursor:
        cursor.execute(question)
        return list(cursor.fetchall())


def wait(workload: Workload, transactions: int) -> None:
    while workload.transactions < transactions:
        workload.check()
        time.sleep(0.01)


def work(workload: Workload, transactions: int) -> None:
    """Run until so many transactions were committed."""
    workload.start()
    wait(workload, transactions // 2)
    workload.add_column()
    wait(workload, transactions)
    workload.stop()
    workload.check()


def test_the_shop_has_five_tables_with_a_key_and_one_without(shop: Endpoint) -> None:
    assert shop.port
    keyed = ask(
        shop,
        "SELECT DISTINCT table_name FROM information_schema.statistics"
        f" WHERE table_schema = '{DATABASE}' AND index_name = 'PRIMARY'",
    )
    assert {name for (name,) in keyed} == set(MIRRORED_TABLES)
    assert set(TABLES) - set(MIRRORED_TABLES) == {"page_views"}


def test_the_shop_has_more_than_ten_column_types_and_a_composite_key(shop: Endpoint) -> None:
    types = ask(
        shop,
        "SELECT DISTINCT data_type FROM information_schema.columns"
        f" WHERE table_schema = '{DATABASE}'",
    )
    assert len(types) > 20
    key = ask(
        shop,
        "SELECT column_name FROM information_schema.statistics WHERE index_name = 'PRIMARY'"
        f" AND table_schema = '{DATABASE}' AND table_name = 'order_lines' ORDER BY seq_in_index",
    )
    assert key == [("order_id",), ("line",)]


def test_it_changes_every_table_and_counts_the_rows(shop: Endpoint) -> None:
    workload = Workload(shop, rate=10_000)
    work(workload, 400)
    rows = count_rows(shop)
    records = workload.records
    assert set(rows) == set(records) == workload.changed_tables == set(TABLES)
    assert all(0 < rows[table] <= records[table] for table in TABLES)
    assert workload.rollbacks


def test_a_column_is_added_on_the_way_and_used(shop: Endpoint) -> None:
    work(Workload(shop, rate=10_000), 400)
    channels = {
        channel for (channel,) in ask(shop, f"SELECT DISTINCT channel FROM {DATABASE}.orders")
    }
    assert channels == {"web", "shop", "phone"}


def test_what_was_rolled_back_is_nowhere_to_be_seen(shop: Endpoint) -> None:
    work(Workload(shop, rate=10_000), 400)
    seen = ask(shop, f"SELECT COUNT(*) FROM {DATABASE}.orders WHERE note = 'never seen'")
    assert seen == [(0,)]


def test_the_same_seed_makes_the_same_rows(shop: Endpoint) -> None:
    # What no update changes: how many of them come before the end is a matter of time.
    rows = f"SELECT id, email FROM {DATABASE}.customers ORDER BY id LIMIT 50"
    work(Workload(shop, rate=10_000, seed=7), 1)
    first = ask(shop, rows)
    assert len(first) == 50
    drop_shop(shop)
    create_shop(shop, "secret")
    work(Workload(shop, rate=10_000, seed=7), 1)
    assert ask(shop, rows) == first


def test_a_source_that_refuses_is_told(shop: Endpoint) -> None:
    drop_shop(shop)
    workload = Workload(shop, rate=1)
    workload.start()
    workload.stop()
    with pytest.raises(LocalStackError) as caught:
        workload.check()
    assert caught.value.code is demo_errors.WORKLOAD
    text = caught.value.text
    assert text.startswith("the source refused the workload: (1049, ")
    assert text.endswith("; see the source's log")


def test_a_shop_that_is_there_already_is_not_touched(shop: Endpoint) -> None:
    with pytest.raises(LocalStackError) as caught:
        require_no_shop(shop)
    assert caught.value.text == (
        f"127.0.0.1:{shop.port} already has user cdc, database shop; drop them there, or give a "
        "server that the demo may use"
    )
    assert count_rows(shop) == dict.fromkeys(TABLES, 0)


def test_a_server_that_refuses_the_user_keeps_nothing_of_the_shop(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    endpoint = mysql_server.endpoint
    ask(endpoint, "CREATE USER clerk@'%' IDENTIFIED BY 'secret'")
    ask(endpoint, f"GRANT ALL ON {DATABASE}.* TO clerk@'%'")
    ask(endpoint, "GRANT SELECT ON mysql.user TO clerk@'%'")
    options = DemoOptions(address=f"clerk:secret@{endpoint.bootstrap}")
    refused = pytest.raises(pymysql.err.OperationalError, match="CREATE USER")
    with refused, DemoStack(options, DemoDirectory(tmp_path)) as stack:
        stack.start_source()
        stack.start_connector()
    require_no_shop(endpoint)
    ask(endpoint, "DROP USER clerk@'%'")


def test_a_script_is_cut_into_statements_and_its_comments_are_left_out() -> None:
    script = "-- One.\nCREATE TABLE a (\n  -- Two.\n  b INT\n);\n\nDROP TABLE a;\n"
    assert statements(script) == ["CREATE TABLE a (\n  b INT\n)", "DROP TABLE a"]

"""Tables that are named one by one, tables that patterns match, and what is remembered of them."""

from __future__ import annotations

import tracemalloc

import pytest

from connector.binlog.table_filter import TableFilter

NAMES = [("shop", "orders"), ("shop", "items"), ("Shop", "orders"), ("crm", "_orders_gho")]


@pytest.mark.parametrize(("database", "table"), NAMES)
def test_a_name_is_followed_and_no_other(database: str, table: str) -> None:
    tables = TableFilter([f"{database}.{table}"])
    assert [name for name in NAMES if tables.follows(*name)] == [(database, table)]


def test_names_and_patterns_are_excluded_alike() -> None:
    wanted = ["shop.orders", "shop.items", "crm.*"]
    by_name = TableFilter(wanted, ["shop.items", "crm.users"])
    by_pattern = TableFilter(wanted, ["shop.item[s]", "crm.user?"])
    for tables in (by_name, by_pattern):
        assert tables.follows("shop", "orders")
        assert tables.follows("crm", "calls")
        assert not tables.follows("shop", "items")
        assert not tables.follows("crm", "users")


def test_the_case_of_names_counts_only_where_the_server_says_so() -> None:
    assert not TableFilter(["Shop.Orders"], ["shop.items"]).follows("shop", "orders")
    tables = TableFilter(["Shop.Orders", "SHOP.items"], ["shop.Items"], ignores_case=True)
    assert tables.follows("shop", "ORDERS")
    assert not tables.follows("shop", "items")


def test_a_statement_may_name_a_table_in_any_case() -> None:
    tables = TableFilter(["Shop.Orders", "crm.call*"], ["crm.Callers"])
    names = [("Shop", "Orders"), ("shop", "orders"), ("CRM", "CallS"), ("SHOP", ""), ("crm", "")]
    assert all(tables.may_name(*name) for name in names)
    # To a server that tells names by their case, this table is not excluded.
    assert tables.may_name("crm", "callers")
    others = [("shop", "items"), ("CRM", "CALLERS"), ("other", "Orders"), ("other", "")]
    assert not any(tables.may_name(*name) for name in others)


def test_a_system_database_is_followed_only_by_its_name() -> None:
    assert TableFilter(["mysql.user"]).follows("mysql", "user")
    assert not TableFilter(["mysq?.user"]).follows("mysql", "user")
    assert not TableFilter(["*.*"]).follows("mysql", "user")
    assert not TableFilter(["mysql.user"]).follows("MYSQL", "user")


def test_helpers_of_online_schema_changes_need_a_name() -> None:
    assert not TableFilter(["shop.*"]).follows("shop", "_orders_gho")
    assert TableFilter(["shop.orders", "sho?._orders_gho"]).follows("shop", "_orders_gho")
    # The table that it is for is not followed.
    assert TableFilter(["shop._*"]).follows("shop", "_orders_gho")


def test_names_that_no_table_has() -> None:
    tables = TableFilter(["shop.orders", "shop.item", "crm.*"])
    assert tables.unmatched_names([("shop", "orders")]) == ["shop.item"]
    lower = TableFilter(["Shop.Orders"], ignores_case=True)
    assert lower.unmatched_names([("SHOP", "orders")]) == []


def test_a_source_that_makes_new_tables_all_the_time_does_not_fill_the_memory() -> None:
    tables = TableFilter(["shop.*"])

    def look(first: int) -> int:
        for number in range(first, first + 20_000):
            assert tables.follows("shop", f"day_{number}")
            assert not tables.follows("other", f"day_{number}")
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        at_first = look(0)
        later = look(20_000)
    finally:
        tracemalloc.stop()
    # 40,000 more names would take 4 MB.
    assert later < at_first + 2_000_000
    assert tables.follows("shop", "day_0")

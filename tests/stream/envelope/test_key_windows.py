"""Keys are kept from a window's opening to its end, and no longer."""

from __future__ import annotations

from connector.binlog.statement import StatementKind
from connector.stream.envelope.key_windows import KeyWindows, TableWindows


def _touch(table: TableWindows, key: bytes) -> None:
    if table.keys is not None:
        table.keys.add(key)


def test_a_window_has_the_keys_that_came_since_it_opened() -> None:
    table = TableWindows()
    _touch(table, b"before")
    first = table.open_window()
    _touch(table, b"1")
    second = table.open_window()
    _touch(table, b"2")

    assert table.touched_since(first) == {b"1", b"2"}
    assert table.touched_since(second) == {b"2"}


def test_keys_are_forgotten_with_the_oldest_window_that_asks_for_them() -> None:
    table = TableWindows()
    first = table.open_window()
    _touch(table, b"1")
    second = table.open_window()
    _touch(table, b"2")
    third = table.open_window()
    _touch(table, b"3")

    table.close_window(second)
    assert table.key_count == 3  # the first still asks for the second's
    table.close_window(first)
    assert table.key_count == 1
    assert table.touched_since(third) == {b"3"}
    table.close_window(third)
    assert table.keys is None
    assert table.key_count == 0


def test_statements_count_for_a_table_or_a_whole_database() -> None:
    watch = KeyWindows()
    orders, lines, other = (watch.table(name) for name in ("a.orders", "a.lines", "ab.orders"))

    watch.changed(StatementKind.ALTER_TABLE, "a", "orders")
    watch.changed(StatementKind.DROP_DATABASE, "a", "")

    assert (orders.changes, lines.changes, other.changes) == (2, 1, 0)
    assert watch.table("a.orders") is orders
    assert watch.statements == {
        ("a", "orders"): StatementKind.ALTER_TABLE,
        ("a", ""): StatementKind.DROP_DATABASE,
    }

"""The SELECT of a chunk."""

from __future__ import annotations

import pytest

from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.snapshot.keyset import after_key, can_be_paged, select_chunk, select_rows
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.source.selected_table import KeyColumn, SelectedTable


def key(name: str, kind: str = "int", *, ordered: bool = True) -> KeyColumn:
    return KeyColumn(
        name,
        f"`{name}`",
        ordered=ordered,
        type=kind,
        charset="utf8mb4",
        packed_type="",
        declared=f"{name} {kind}",
    )


def table(*columns: KeyColumn) -> SelectedTable:
    schema = TableSchema("shop", "orders", "id", (), ())
    return SelectedTable(schema, "`a`, `b`", "`shop`.`orders`", columns, columns)


@pytest.mark.parametrize(
    ("columns", "cells", "condition"),
    [
        ([key("a")], [b"7"], "`a` > 7"),
        ([key("a"), key("b")], [b"7", b"3"], "(`a` > 7 OR (`a` = 7 AND `b` > 3))"),
        (
            [key("a", "varchar"), key("b"), key("c", "binary")],
            [b"x'", b"3", b"\x00\xff"],
            (
                "(`a` > _utf8mb4 X'7827' OR (`a` = _utf8mb4 X'7827' AND "
                "(`b` > 3 OR (`b` = 3 AND `c` > X'00ff'))))"
            ),
        ),
    ],
)
def test_what_follows_a_key(columns: list[KeyColumn], cells: list[bytes], condition: str) -> None:
    assert after_key(columns, cells) == condition


def test_a_chunk_has_the_bounds_of_its_part() -> None:
    orders = table(key("a"), key("b"))
    part = KeyRange(low="10", high="20")
    start = "SELECT `a`, `b` FROM `shop`.`orders` WHERE "
    order = " ORDER BY `a`, `b` LIMIT 5"
    assert select_chunk(orders, part, [], "", 5) == f"{start}`a` >= 10 AND `a` < 20{order}"
    assert select_chunk(orders, part, [b"12", b"1"], "b = 1 OR b = 2", 5) == (
        f"{start}(`a` > 12 OR (`a` = 12 AND `b` > 1)) AND `a` < 20 AND (b = 1 OR b = 2){order}"
    )
    whole = select_chunk(orders, KeyRange(), [], "", 5, "/*+ hint */ ")
    assert whole == f"SELECT /*+ hint */ `a`, `b` FROM `shop`.`orders`{order}"


def test_all_rows_are_read_without_an_order() -> None:
    assert select_rows(table(), (), "a = 1") == "SELECT `a`, `b` FROM `shop`.`orders` WHERE (a = 1)"


@pytest.mark.parametrize(
    ("columns", "paged"),
    [
        ([key("a")], True),
        ([], False),
        ([key("a"), key("b", ordered=False)], False),
    ],
)
def test_only_ordered_keys_part_a_table(columns: list[KeyColumn], paged: bool) -> None:
    assert can_be_paged(table(*columns)) is paged

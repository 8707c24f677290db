"""The SELECT of a chunk."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.snapshot.keyset import can_be_paged, in_bounds, select_chunk, select_rows
from connector.stream.snapshot.table_state import KeyBounds, KeyRange
from connector.stream.source.selected_table import KeyColumn, SelectedTable

AFTER_3_1 = "(`b` > 3 OR (`b` = 3 AND `c` > 1))"


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
    assert in_bounds(columns, KeyBounds(), cells) == ([condition], 0)


@pytest.mark.parametrize(
    ("low", "high", "after", "conditions"),
    [
        (("5",), ("9",), [], ["`a` >= 5", "`a` < 9"]),
        (("5", "2"), (), [], ["(`a` > 5 OR (`a` = 5 AND `b` >= 2))"]),
        (
            (),
            ("5", "2", "7"),
            [],
            ["(`a` < 5 OR (`a` = 5 AND (`b` < 2 OR (`b` = 2 AND `c` < 7))))"],
        ),
        # Within one value of the first columns.
        (("5", "2"), ("5", "9"), [], ["`a` = 5", "`b` >= 2", "`b` < 9"]),
        (("5",), ("5", "9"), [], ["`a` = 5", "`b` < 9"]),
        (("5",), ("5", "9"), [b"5", b"3", b"1"], ["`a` = 5", AFTER_3_1, "`b` < 9"]),
        (("5", "2", "1"), ("5", "2", "8"), [], ["`a` = 5", "`b` = 2", "`c` >= 1", "`c` < 8"]),
        ((), (), [], []),
    ],
)
def test_bounds_have_columns_of_the_key(
    low: tuple[str, ...], high: tuple[str, ...], after: list[bytes], conditions: list[str]
) -> None:
    columns = [key("a"), key("b"), key("c")]
    equal = sum(" = " in condition and " OR " not in condition for condition in conditions)
    assert in_bounds(columns, KeyBounds(low, high), after) == (conditions, equal)


def test_a_column_with_one_value_is_not_sorted_by() -> None:
    sql = select_chunk(table(key("a"), key("b")), KeyBounds(("5", "2"), ("5", "9")), [], "", 5)
    assert sql.endswith(" WHERE `a` = 5 AND `b` >= 2 AND `b` < 9 ORDER BY `b` LIMIT 5")


@pytest.mark.parametrize(
    ("low", "high", "after", "conditions"),
    [
        (("5",), ("1",), [], ["`a` IN (5, 5)", "`a` IN (0, 0)"]),
        (("2",), ("4",), [], ["`a` IN (2, 3, 4, 5)", "`a` IN (0, 1, 2, 3)"]),
        ((), (), [b"3", b"1"], ["(`a` IN (4, 5) OR (`a` IN (3, 3) AND `b` > 1))"]),
        ((), (), [b"5", b"1"], ["(FALSE OR (`a` IN (5, 5) AND `b` > 1))"]),
        ((), ("0",), [], ["FALSE"]),
    ],
)
def test_a_range_of_labels_is_a_list_of_their_numbers(
    low: tuple[str, ...], high: tuple[str, ...], after: list[bytes], conditions: list[str]
) -> None:
    columns = [replace(key("a", "enum"), value_count=6), key("b")]
    assert in_bounds(columns, KeyBounds(low, high), after) == (conditions, 0)


def test_a_chunk_has_the_bounds_of_its_part() -> None:
    orders = table(key("a"), key("b"))
    part = KeyRange(low="10", high="20").bounds
    start = "SELECT `a`, `b` FROM `shop`.`orders` WHERE "
    order = " ORDER BY `a`, `b` LIMIT 5"
    assert select_chunk(orders, part, [], "", 5) == f"{start}`a` >= 10 AND `a` < 20{order}"
    assert select_chunk(orders, part, [b"12", b"1"], "b = 1 OR b = 2", 5) == (
        f"{start}(`a` > 12 OR (`a` = 12 AND `b` > 1)) AND `a` < 20 AND (b = 1 OR b = 2){order}"
    )
    whole = select_chunk(orders, KeyRange().bounds, [], "", 5, "/*+ hint */ ")
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

"""The comparison finds every way in which a mirror can differ, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from connector.lake.demo.canonical_values import family_of
from connector.lake.demo.verdict import Row, compare_rows
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Sequence


COLUMNS = ("order_id", "line", "sku", "quantity")
KEY = ("order_id", "line")
ROWS = [(1, 1, "A", 10), (1, 2, "B", None), (2, 1, "A", 30)]


def told(source: Sequence[Row], mirror: Sequence[Row]) -> list[str]:
    return [str(difference) for difference in compare_rows(source, mirror, COLUMNS, KEY)]


def test_equal_rows_in_another_order_are_equal() -> None:
    assert told(ROWS, ROWS[::-1]) == []


def test_a_changed_value_is_told_by_key_and_column() -> None:
    assert told(ROWS, [ROWS[0], (1, 2, "b", 0), ROWS[2]]) == ["(1, 2) differs in sku, quantity"]


def test_null_is_not_an_empty_value() -> None:
    assert told([(1, 1, "", 0)], [(1, 1, None, 0)]) == ["(1, 1) differs in sku"]


def test_a_missing_row_is_told_by_its_key() -> None:
    assert told(ROWS, ROWS[:2]) == ["(2, 1) is missing from the mirror"]


def test_an_extra_row_is_told_by_its_key() -> None:
    assert told(ROWS[1:], ROWS) == ["(1, 1) is in the mirror alone"]


def test_a_row_that_is_there_twice_is_told() -> None:
    assert told(ROWS, [*ROWS, ROWS[0]]) == ["(1, 1) is in the mirror 2 times"]


def test_a_type_that_cannot_be_compared_is_named() -> None:
    with pytest.raises(LocalStackError) as caught:
        family_of("xml")
    assert caught.value.text == (
        "columns of type xml cannot be compared; extend connector.lake.demo.canonical_values"
    )


@pytest.mark.parametrize(("stored", "expected"), [("1.50", Decimal("1.5")), ("words", "words")])
def test_a_text_of_an_earlier_type_is_no_number_and_differs(stored: str, expected: object) -> None:
    assert family_of("decimal").from_mirror(stored) == expected

"""The state of a table's copy."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_type_hints

import pytest

from connector.foundation.control_records import SnapshotRange, SnapshotRecord
from connector.foundation.errors import DecodeError
from connector.stream.snapshot.table_state import KeyBounds, KeyRange, TableState

STATE = TableState(
    "shop",
    "orders",
    "copying",
    "request 7",
    request=7,
    key=["id"],
    ranges=[KeyRange(high="10", last=["37"]), KeyRange(low="10", done=True)],
    rows=20,
)


def test_what_is_written_is_read_back() -> None:
    assert TableState.decode(STATE.encode(), "here") == STATE
    assert STATE.ranges[0].last_key == [b"7"]


def test_a_part_is_bounded_by_several_columns() -> None:
    bounds = KeyBounds(("7", "_utf8mb4 X'2c20'"), ("7", "CAST(X'2c20' AS UUID)", "'2026-01-01'"))
    state = replace(STATE, ranges=[KeyRange.of_bounds(bounds), KeyRange()])
    read = TableState.decode(state.encode(), "here")
    assert [part.bounds for part in read.ranges] == [bounds, KeyBounds()]
    # A state that was written before has only the first column.
    assert KeyRange(high="10").bounds == KeyBounds(high=("10",))


def test_the_records_have_the_fields_of_the_contract() -> None:
    assert set(get_type_hints(SnapshotRecord)) == {field.name for field in fields(TableState)}
    assert set(get_type_hints(SnapshotRange)) == {field.name for field in fields(KeyRange)}


def test_a_copy_of_some_rows_has_a_key_of_its_own() -> None:
    assert STATE.key_part == "shop.orders"
    assert TableState("shop", "orders", request=9, where="id < 7").key_part == "shop.orders/9"


@pytest.mark.parametrize("value", [b"{}", b"[]", b"\xff", b'{"database": "a", "new": 1}'])
def test_a_record_of_another_version_is_refused(value: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        TableState.decode(value, "shop.snapshot[0]@7")
    assert caught.value.text.startswith("shop.snapshot[0]@7 is not the state of a copy of this")

"""Bitmaps of columns, against Python's own integers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.row_images import all_set, bitmap_length, is_set, set_indexes

_BITS = st.lists(st.booleans(), max_size=70)


def _bitmap(bits: list[bool]) -> bytes:
    number = sum(bit << place for place, bit in enumerate(bits))
    return number.to_bytes(bitmap_length(len(bits)), "little")


@given(_BITS, st.binary(max_size=3))
def test_each_bit_is_read_from_the_lowest_up(bits: list[bool], before: bytes) -> None:
    data = before + _bitmap(bits)
    assert [is_set(data, len(before), place) for place in range(len(bits))] == bits


@given(_BITS)
def test_the_positions_of_columns_are_those_of_the_set_bits(bits: list[bool]) -> None:
    assert set_indexes(_bitmap(bits), len(bits)) == [n for n, bit in enumerate(bits) if bit]


@given(_BITS)
def test_a_bitmap_has_all_columns_if_no_bit_is_missing(bits: list[bool]) -> None:
    assert all_set(_bitmap(bits), len(bits)) == all(bits)


def test_bits_after_the_last_column_do_not_matter() -> None:
    assert all_set(b"\xff\x07", 11)
    assert all_set(b"\xff\xff", 11)
    assert not all_set(b"\xff\xfb", 11)

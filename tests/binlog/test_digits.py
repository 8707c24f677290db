"""Numbers as digits, compared with the formats of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.binlog.text_writer import (
    put_2,
    put_4,
    put_8,
    put_ascii,
    put_int,
    put_padded,
    put_uint,
    put_uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def text(put: Callable[..., None], *arguments: int) -> str:
    out = BytesWriter()
    out.write(b"<")
    put(out, *arguments)
    return out.getvalue().decode().removeprefix("<")


@given(st.integers(0, 2**63 - 1) | st.integers(0, 20).map(lambda digits: 10**digits - 1))
@example(2**63 - 1)
def test_a_number_has_no_zeros_in_front(value: int) -> None:
    value %= 2**63
    assert text(put_uint, value) == str(value)


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
def test_a_number_may_have_a_sign(value: int) -> None:
    assert text(put_int, value) == str(value)
    assert text(put_uint64, value) == str(value % 2**64)


@given(st.integers(0, 18), st.data())
def test_zeros_fill_the_digits_that_are_asked_for(digits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, 10**digits - 1))
    assert text(put_padded, value, digits) == (f"{value:0{digits}d}" if digits else "")


@pytest.mark.parametrize("value", range(100))
def test_every_pair_of_digits_is_right_wherever_it_stands(value: int) -> None:
    assert text(put_2, value) == f"{value:02d}"
    for other in range(100):
        four = value * 100 + other
        assert text(put_4, four) == f"{four:04d}"
        for eight in (four * 10_000 + 9_999 - four, four):
            assert text(put_8, eight) == f"{eight:08d}"


@pytest.mark.parametrize("digits", range(19))
def test_the_bounds_of_each_form(digits: int) -> None:
    for value in (10**digits - 1, 10**digits):
        assert text(put_uint, value) == str(value)
        assert text(put_int, -value) == str(-value)


def test_ascii_is_taken_as_it_is() -> None:
    out = BytesWriter()
    put_ascii(out, "2024-02-29")
    assert out.getvalue() == b"2024-02-29"

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.digits import put_2, put_4, put_ascii, put_int, put_padded, put_uint

if TYPE_CHECKING:
    from collections.abc import Callable

INT64_MAX = 2**63 - 1


def written(put: Callable[[BytesWriter, int], None], value: int) -> str:
    out = BytesWriter()
    out.write(b"<")
    put(out, value)
    return out.getvalue().decode()


@given(st.integers(0, INT64_MAX))
def test_a_number_is_its_digits(value: int) -> None:
    assert written(put_uint, value) == f"<{value}"


@given(st.integers(-(2**63), INT64_MAX))
def test_a_number_has_its_sign(value: int) -> None:
    assert written(put_int, value) == f"<{value}"


@pytest.mark.parametrize("value", [-(2**63), -1, 0, 9, 10, 99, 100, 999, 1000, 9999, 10_000])
def test_the_bounds_of_each_form(value: int) -> None:
    assert written(put_int, value) == f"<{value}"


@given(st.integers(0, 18), st.data())
def test_zeros_fill_the_digits_that_are_asked_for(digits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, 10**digits - 1))
    expected = f"{value:0{digits}d}" if digits else ""

    assert written(lambda out, number: put_padded(out, number, digits), value) == f"<{expected}"


@given(st.integers(0, 9999))
def test_two_and_four_digits(value: int) -> None:
    assert written(put_4, value) == f"<{value:04d}"
    assert written(put_2, value % 100) == f"<{value % 100:02d}"


def test_text_is_copied() -> None:
    out = BytesWriter()
    put_ascii(out, "2019-07-09")
    assert out.getvalue() == b"2019-07-09"

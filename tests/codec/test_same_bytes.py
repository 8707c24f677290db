"""Bytes that are compared in place."""

from __future__ import annotations

import pytest

from connector.codec.same_bytes import has_bytes_at

DATA = bytes(range(1, 60))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 40])
def test_equal_bytes_are_found_at_their_place(length: int) -> None:
    assert has_bytes_at(DATA, 3, DATA[3 : 3 + length])


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 40])
def test_each_byte_counts(length: int) -> None:
    expected = DATA[3 : 3 + length]
    for index in range(length):
        other = bytearray(expected)
        other[index] ^= 0x80
        assert not has_bytes_at(DATA, 3, bytes(other))

"""Bytes that are compared in place."""

from __future__ import annotations

import pytest

from connector.binlog.payload_reader import has_bytes_at, has_same_bytes

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


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 40])
def test_two_places_of_the_same_bytes_are_compared(length: int) -> None:
    data = DATA[:length] + b"-" + DATA[:length]
    assert has_same_bytes(data, 0, length + 1, length)
    for index in range(length):
        other = bytearray(data)
        other[index] ^= 0x80
        assert not has_same_bytes(bytes(other), 0, length + 1, length)
        assert not has_same_bytes(bytes(other), length + 1, 0, length)

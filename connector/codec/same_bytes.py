"""Bytes inside of others are compared without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le

if TYPE_CHECKING:
    from mypy_extensions import i64

_WORD: Final = 8


def has_bytes_at(data: bytes, at: i64, expected: bytes) -> bool:
    """Return whether `data` has the bytes `expected` at `at`; it must be long enough."""
    length: i64 = len(expected)
    if length < _WORD:
        return data[at : at + length] == expected
    last = length - _WORD
    index: i64 = 0
    while index < last:
        if read_i64_le(data, at + index) != read_i64_le(expected, index):
            return False
        index += _WORD
    # The last word overlaps the one before it.
    return read_i64_le(data, at + last) == read_i64_le(expected, last)


def has_same_bytes(data: bytes, at: i64, other: i64, length: i64) -> bool:
    """Return whether `data` has the same `length` bytes at `at` and at `other`; it has them all."""
    if length < _WORD:
        end = at + length
        while at < end:
            if data[at] != data[other]:
                return False
            at += 1
            other += 1
        return True
    last = length - _WORD
    index: i64 = 0
    while index < last:
        if read_i64_le(data, at + index) != read_i64_le(data, other + index):
            return False
        index += _WORD
    # The last word overlaps the one before it.
    return read_i64_le(data, at + last) == read_i64_le(data, other + last)

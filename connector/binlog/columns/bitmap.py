"""Bitmaps of rows: which columns an image holds, and which of these are NULL.

Bit n is bit n % 8 of byte n / 8, the lowest bit first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

_EIGHT_BITS: Final = 0xFF


def bitmap_length(count: i64) -> i64:
    """Return the number of bytes for `count` bits."""
    return (count + 7) >> 3


def is_set(data: bytes, start: i64, number: i64) -> bool:
    """Return whether bit `number` is set in the bitmap that begins at `data[start]`.

    The loops that read rows repeat these two lines, because a call for each column costs too much.
    """
    octet: i64 = data[start + (number >> 3)]
    return octet >> (number & 7) & 1 != 0


def set_indexes(bitmap: bytes, count: i64) -> list[int]:
    """Return the numbers of the bits that are set, of `count` bits."""
    indexes: list[int] = []
    number: i64 = 0
    while number < count:
        if is_set(bitmap, 0, number):
            indexes.append(number)
        number += 1
    return indexes


def all_set(bitmap: bytes, count: i64) -> bool:
    """Return whether the first `count` bits are set."""
    index: i64 = 0
    while count >= 8:  # noqa: PLR2004 - a byte of the bitmap
        if bitmap[index] != _EIGHT_BITS:
            return False
        index += 1
        count -= 8
    if not count:
        return True
    rest: i64 = (1 << count) - 1
    return bitmap[index] & rest == rest

"""BIT, ENUM and SET: numbers that stand for bits and labels.

::

    BIT(n)   big-endian, as many bytes as n bits need
    ENUM     little-endian index of 1 or 2 bytes; 1 is the first label, 0 the error value ''
    SET      little-endian mask of 1 to 8 bytes; bit 0 is the first label
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.values import EnumIndex
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

_BITS_MAX = 64
_ENUM_LENGTHS = (1, 2)
_SET_LENGTHS = range(1, 9)


def bit_reader(column: Column) -> Callable[[PayloadReader], int]:
    """Return the function that reads a BIT(n) as the unsigned number that it is."""
    bits = column.length
    assert bits is not None
    if not 0 < bits <= _BITS_MAX:
        reason = f"a BIT of {bits} bits does not exist"
        raise DecodeError(reason)
    length = (bits + 7) // 8
    return lambda image: int.from_bytes(image.read_bytes(length), "big")


def enum_reader(column: Column) -> Callable[[PayloadReader], str | EnumIndex]:
    """Return the function that reads an ENUM as its label.

    Index 0 is the empty string. An index without a label stays a number.
    """
    length = column.stored_length
    if length not in _ENUM_LENGTHS:
        reason = f"an ENUM of {length} bytes does not exist"
        raise DecodeError(reason)
    labels = ["", *(column.labels or [])]

    def read(image: PayloadReader) -> str | EnumIndex:
        index = image.read_uint(length)
        return labels[index] if index < len(labels) else EnumIndex(index)

    return read


def set_reader(column: Column) -> Callable[[PayloadReader], str | int]:
    """Return the function that reads a SET as its labels with commas; without labels, as mask.

    The function raises DecodeError for a bit that has no label.
    """
    length = column.stored_length
    if length not in _SET_LENGTHS:
        reason = f"a SET of {length} bytes does not exist"
        raise DecodeError(reason)
    labels = column.labels
    if labels is None:
        return lambda image: image.read_uint(length)

    def read(image: PayloadReader) -> str:
        mask = image.read_uint(length)
        if mask >> len(labels):
            reason = f"a SET with {len(labels)} labels holds a higher bit"
            raise DecodeError(reason)
        return ",".join(label for bit, label in enumerate(labels) if mask >> bit & 1)

    return read

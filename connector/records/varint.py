"""Kafka's integers of variable length: seven bits a byte, the lowest first, zigzag for the sign.

::

    value      0   -1    1   -2    2  …  -64     64
    encoded   00   01   02   03   04  …   7f  80 01

https://kafka.apache.org/documentation/#messageformat
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_MORE: Final = 0x80
_BITS: Final = 0x7F


def put_varint(out: BytesWriter, value: i64) -> None:
    """Append a signed number of at most 63 bits."""
    rest = _zigzag(value)
    while rest >= _MORE:
        out.append(u8(rest & _BITS | _MORE))
        rest >>= 7
    out.append(u8(rest))


def varint_length(value: i64) -> i64:
    """Return how many bytes `put_varint` appends."""
    rest = _zigzag(value)
    length: i64 = 1
    while rest >= _MORE:
        rest >>= 7
        length += 1
    return length


def read_varint(data: bytes, at: i64) -> tuple[int, int]:
    """Return the number at `at`, and the position after it.

    Raises IndexError if `data` ends before the number does.
    """
    rest: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[at]
        at += 1
        rest |= (byte & _BITS) << shift
        if byte < _MORE:
            return (rest >> 1) ^ -(rest & 1), at
        shift += 7


def _zigzag(value: i64) -> i64:
    return value << 1 if value >= 0 else ~(value << 1)

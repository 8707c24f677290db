"""Kafka's variable-length integers: seven bits a byte, the lowest first, the sign in the lowest bit.

::

    value      0   -1    1   -2   …   -64     64         a sign is folded in (zigzag):
    encoded   00   01   02   03   …    7f   80 01        0, -1, 1, -2, … become 0, 1, 2, 3, …

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
    """Append a number, of 62 bits at most."""
    rest: i64 = value << 1 if value >= 0 else -(value << 1) - 1
    while rest >= _MORE:
        out.append(u8(rest & _BITS | _MORE))
        rest >>= 7
    out.append(u8(rest))


def varint_length(value: i64) -> i64:
    """Return how many bytes `put_varint` appends."""
    rest: i64 = value << 1 if value >= 0 else -(value << 1) - 1
    length: i64 = 1
    while rest >= _MORE:
        rest >>= 7
        length += 1
    return length


def read_varint(data: bytes, at: i64) -> tuple[int, int]:
    """Return the number at `at`, and the place behind it.

    Raises IndexError where `data` ends before it does.
    """
    value: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[at]
        at += 1
        value |= (byte & _BITS) << shift
        if byte < _MORE:
            return (value >> 1) ^ -(value & 1), at
        shift += 7

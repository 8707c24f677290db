"""FLOAT and DOUBLE: IEEE 754, little-endian."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

FLOAT32 = Struct("<f")
FLOAT64 = Struct("<d")

# Six digits always survive the way through 32 bits, nine always suffice.
_FLOAT32_DIGITS = (6, 7, 8, 9)


def float_reader(column: Column) -> Callable[[PayloadReader], float]:
    """Return the function that reads a FLOAT, widened to 64 bits without change."""
    del column

    def read(image: PayloadReader) -> float:
        value: float = FLOAT32.unpack(image.read_bytes(4))[0]
        return value

    return read


def double_reader(column: Column) -> Callable[[PayloadReader], float]:
    """Return the function that reads a DOUBLE."""
    del column

    def read(image: PayloadReader) -> float:
        value: float = FLOAT64.unpack(image.read_bytes(8))[0]
        return value

    return read


def float32_text(value: float) -> str:
    """Return the shortest text that reads back to the same 32-bit float.

    `value` must be a 32-bit float, such as a FLOAT column holds.
    """
    stored = FLOAT32.pack(value)
    for digits in _FLOAT32_DIGITS:
        shortest = float(f"{value:.{digits}g}")
        # Rounding may lead above the largest float, which then does not fit.
        if abs(shortest) <= _FLOAT32_MAX and FLOAT32.pack(shortest) == stored:
            return repr(shortest)
    return repr(value)


_FLOAT32_MAX: float = FLOAT32.unpack(b"\xff\xff\x7f\x7f")[0]

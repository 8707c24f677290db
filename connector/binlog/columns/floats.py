"""FLOAT and DOUBLE: IEEE 754, little-endian."""

from __future__ import annotations

from math import isfinite
from struct import Struct
from typing import TYPE_CHECKING

from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

FLOAT32 = Struct("<f")
FLOAT64 = Struct("<d")

# Six digits always survive the way through 32 bits, nine always suffice. Below the smallest normal
# number there are fewer bits, so fewer digits may do.
_FLOAT32_DIGITS = (6, 7, 8)
_FLOAT32_DIGITS_MAX = 9
_DENORMAL_DIGITS = range(1, _FLOAT32_DIGITS_MAX)
_FLOAT32_NORMAL_MIN = 2.0**-126


def float_reader(column: Column) -> Callable[[PayloadReader], float]:
    """Return the function that reads a FLOAT, widened to 64 bits without change."""
    del column

    def read(image: PayloadReader) -> float:
        return require_finite(FLOAT32.unpack(image.read_bytes(4))[0])

    return read


def double_reader(column: Column) -> Callable[[PayloadReader], float]:
    """Return the function that reads a DOUBLE."""
    del column

    def read(image: PayloadReader) -> float:
        return require_finite(FLOAT64.unpack(image.read_bytes(8))[0])

    return read


def float32_text(value: float) -> str:
    """Return the shortest text that reads back to the same 32-bit float.

    `value` must be a 32-bit float, such as a FLOAT column holds.
    """
    stored = FLOAT32.pack(value)
    for digits in _FLOAT32_DIGITS if abs(value) >= _FLOAT32_NORMAL_MIN else _DENORMAL_DIGITS:
        shortest = float(f"{value:.{digits}g}")
        if FLOAT32.pack(shortest) == stored:
            return repr(shortest)
    return repr(float(f"{value:.{_FLOAT32_DIGITS_MAX}g}"))


def require_finite(value: float) -> float:
    """Return `value`; raise DecodeError for an infinity or NaN, which no server stores."""
    if not isfinite(value):
        reason = "a floating-point number is not finite"
        raise DecodeError(reason)
    return value

"""DECIMAL(p, s): big-endian groups of nine decimal digits become text with s decimals.

::

    DECIMAL(14, 4), 1234567890.1234    ┌──────────┬─────────────────────┬───────────┐
                                       │ 1        │ 234 567 890         │ 1234      │
                                       │ 1 byte   │ 4 bytes             │ 2 bytes   │
                                       └──────────┴─────────────────────┴───────────┘

The digits that do not fill a group need 1, 1, 2, 2, 3, 3, 4 or 4 bytes; they are the first of the
integer part and the last of the fraction. The highest bit is inverted, and all bits of a negative
number are.

https://dev.mysql.com/doc/refman/8.4/en/precision-math-decimal-characteristics.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

PRECISION_MAX = 65
SCALE_MAX = 38  # of MariaDB; 30 in MySQL

_GROUP_DIGITS = 9
_GROUP_BYTES = 4
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4)


def decimal_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a DECIMAL of the column's precision and scale."""
    return decimal_of(column.metadata & 0xFF, column.metadata >> 8)


def old_decimal_reader(column: Column) -> NoReturn:
    """Refuse a DECIMAL of a table that was made before 5.0: text, whose length the log has not.

    Raises DecodeError.
    """
    del column
    reason = "DECIMAL as before 5.0 cannot be read from rows: rebuild the table, or exclude it"
    raise DecodeError(reason)


def decimal_of(
    precision: int, scale: int, *, precision_max: int = PRECISION_MAX
) -> Callable[[PayloadReader], str]:
    """Return the function that reads a DECIMAL(precision, scale) as text, `-0.50`.

    Raises DecodeError for a precision and scale that no server allows.
    """
    if not (0 < precision <= precision_max and scale <= SCALE_MAX and scale <= precision):
        reason = f"DECIMAL({precision},{scale}) does not exist"
        raise DecodeError(reason)
    groups = [*_integer_groups(precision - scale), *_fraction_groups(scale)]
    length = sum(width for width, _ in groups)
    bits = length * 8
    top_bit = 1 << (bits - 1)
    all_bits = (1 << bits) - 1

    def read(image: PayloadReader) -> str:
        raw = int.from_bytes(image.read_bytes(length), "big") ^ top_bit
        # The inverted top bit of a positive number is now clear.
        negative = raw & top_bit != 0
        if negative:
            raw ^= all_bits
        digits = ""
        place = bits
        for width, count in groups:
            place -= width * 8
            group = raw >> place & ((1 << width * 8) - 1)
            text = f"{group:0{count}d}"
            if len(text) > count:
                reason = f"a group of {count} decimal digits holds a larger number"
                raise DecodeError(reason)
            digits += text
        whole = digits[: precision - scale].lstrip("0") or "0"
        number = f"{whole}.{digits[precision - scale :]}" if scale else whole
        return f"-{number}" if negative else number

    return read


def _integer_groups(digits: int) -> list[tuple[int, int]]:
    """Return (bytes, digits) of each group of the integer part."""
    full, left = divmod(digits, _GROUP_DIGITS)
    head = [(_BYTES_OF_DIGITS[left], left)] if left else []
    return head + [(_GROUP_BYTES, _GROUP_DIGITS)] * full


def _fraction_groups(digits: int) -> list[tuple[int, int]]:
    """Return (bytes, digits) of each group of the fraction."""
    full, left = divmod(digits, _GROUP_DIGITS)
    tail = [(_BYTES_OF_DIGITS[left], left)] if left else []
    return [(_GROUP_BYTES, _GROUP_DIGITS)] * full + tail

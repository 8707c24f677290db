"""Numbers become decimal digits at the end of a `BytesWriter`.

The text of a row is mostly digits: they go where they belong, the highest first, without a `str` or
a format in between. Division is by constants alone, which machines do by multiplication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

# ruff: noqa: PLR2004 - the numbers are powers of ten, and digits

_ZERO: Final = 48
_MINUS: Final = 45
# The one number of 64 bits without a positive counterpart.
_INT64_MIN: Final = -(2**63)
_WORD_RANGE: Final = 1 << 64
_INT64_MIN_TEXT: Final = b"-9223372036854775808"


def put_uint(out: BytesWriter, value: i64) -> None:
    """Append a number that is not negative."""
    if value < 10:
        out.append(u8(_ZERO + value))
    elif value < 100:
        put_2(out, value)
    elif value < 10_000:
        if value < 1000:
            hundreds = value // 100
            out.append(u8(_ZERO + hundreds))
            put_2(out, value - hundreds * 100)
        else:
            put_4(out, value)
    else:
        high = value // 10_000
        put_uint(out, high)
        put_4(out, value - high * 10_000)


def put_int(out: BytesWriter, value: i64) -> None:
    """Append a number."""
    if value >= 0:
        put_uint(out, value)
    elif value == _INT64_MIN:
        out.write(_INT64_MIN_TEXT)
    else:
        out.append(u8(_MINUS))
        put_uint(out, -value)


def put_uint64(out: BytesWriter, value: i64) -> None:
    """Append a number of 64 bits without a sign, which was read as one that has it."""
    if value >= 0:
        put_uint(out, value)
    else:
        put_ascii(out, str(int(value) + _WORD_RANGE))


def put_2(out: BytesWriter, value: i64) -> None:
    """Append two digits of a number below 100."""
    tens = value // 10
    out.append(u8(_ZERO + tens))
    out.append(u8(_ZERO + (value - tens * 10)))


def put_4(out: BytesWriter, value: i64) -> None:
    """Append four digits of a number below 10,000."""
    hundreds = value // 100
    put_2(out, hundreds)
    put_2(out, value - hundreds * 100)


def put_padded(out: BytesWriter, value: i64, digits: i64) -> None:
    """Append a number of at most `digits` digits, with zeros in front."""
    if digits >= 4:
        high = value // 10_000
        if digits > 4:
            put_padded(out, high, digits - 4)
        put_4(out, value - high * 10_000)
    elif digits == 3:
        hundreds = value // 100
        out.append(u8(_ZERO + hundreds))
        put_2(out, value - hundreds * 100)
    elif digits == 2:
        put_2(out, value)
    elif digits == 1:
        out.append(u8(_ZERO + value))


def put_ascii(out: BytesWriter, text: str) -> None:
    """Append text of ASCII characters."""
    out.write(text.encode("ascii"))

"""Numbers become decimal digits at the end of a `BytesWriter`.

The text of a row is mostly digits. They are written directly to their positions, the highest first,
without a `str` or a format. Two, four or eight digits are computed side by side in one word, with
multiplications that replace the division of each part by 100 or 10, and are stored at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import write_i16_le, write_i32_le, write_i64_le
from mypy_extensions import i16, i32, i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

# ruff: noqa: PLR2004 - the numbers are powers of ten, and digits

_ZERO: Final = 48
_MINUS: Final = 45
# Exact for numbers below 100, and below 10,000.
_TENTH: Final = 103
_TENTH_BITS: Final = 10
_HUNDREDTH: Final = 10_486
_HUNDREDTH_BITS: Final = 20
# The one number of 64 bits without a positive counterpart.
_INT64_MIN: Final = -(2**63)
_WORD_RANGE: Final = 1 << 64
_INT64_MIN_TEXT: Final = b"-9223372036854775808"


def put_uint(out: BytesWriter, value: i64) -> None:
    """Append a number that is not negative in decimal digits, without leading zeros."""
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
    elif value < 100_000_000:
        high = value // 10_000
        put_uint(out, high)
        put_4(out, value - high * 10_000)
    else:
        high = value // 100_000_000
        put_uint(out, high)
        put_8(out, value - high * 100_000_000)


def put_int(out: BytesWriter, value: i64) -> None:
    """Append a number with its sign in decimal digits."""
    if value >= 0:
        put_uint(out, value)
    elif value == _INT64_MIN:
        out.write(_INT64_MIN_TEXT)
    else:
        out.append(u8(_MINUS))
        put_uint(out, -value)


def put_uint64(out: BytesWriter, value: i64) -> None:
    """Append an unsigned number of 64 bits that was read as a signed one."""
    if value >= 0:
        put_uint(out, value)
    else:
        put_ascii(out, str(int(value) + _WORD_RANGE))


def put_2(out: BytesWriter, value: i64) -> None:
    """Append exactly two digits of a number below 100."""
    tens = value * _TENTH >> _TENTH_BITS
    write_i16_le(out, i16(tens | (value - tens * 10) << 8 | 0x3030))


def put_4(out: BytesWriter, value: i64) -> None:
    """Append exactly four digits of a number below 10,000."""
    hundreds = value * _HUNDREDTH >> _HUNDREDTH_BITS
    pairs = hundreds | (value - hundreds * 100) << 16
    tens = pairs * _TENTH >> _TENTH_BITS & 0x000F_000F
    write_i32_le(out, i32(tens | (pairs - tens * 10) << 8 | 0x3030_3030))


def put_8(out: BytesWriter, value: i64) -> None:
    """Append exactly eight digits of a number below 100,000,000."""
    high = value // 10_000
    fours = high | (value - high * 10_000) << 32
    hundreds = fours * _HUNDREDTH >> _HUNDREDTH_BITS & 0x0000_007F_0000_007F
    pairs = hundreds | (fours - hundreds * 100) << 16
    tens = pairs * _TENTH >> _TENTH_BITS & 0x000F_000F_000F_000F
    write_i64_le(out, tens | (pairs - tens * 10) << 8 | 0x3030_3030_3030_3030)


def put_padded(out: BytesWriter, value: i64, digits: i64) -> None:
    """Append exactly `digits` digits, with leading zeros; the number must not have more."""
    if digits >= 8:
        high = value // 100_000_000
        if digits > 8:
            put_padded(out, high, digits - 8)
        put_8(out, value - high * 100_000_000)
    elif digits >= 4:
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

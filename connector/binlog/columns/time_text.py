"""Dates and times become the text that MySQL prints, piece by piece.

Zero and partial dates (`0000-00-00`, `2010-00-00`) are values like others.
"""

from typing import Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, u8

from connector.binlog import value_errors
from connector.binlog.text_writer import put_2, put_4, put_padded, put_uint
from connector.foundation.errors import DecodeError

FRACTION_MAX: Final = 6

_ZERO_DATETIME: Final = b"0000-00-00 00:00:00"

_MONTH_MAX: Final = 12
_HOUR_MAX: Final = 23
_SIXTIETH_MAX: Final = 59
_YEAR_MAX: Final = 9999
_TWO_DIGITS: Final = 100

# The first number that a fraction of so many bytes cannot hold.
_FRACTION_LIMITS: Final = [1, 100, 10_000, 1_000_000]

_DAY_SECONDS: Final = 86_400
# A calendar that begins in March has its leap day at the end of the year. Its era of 400 years
# began last on 1 March 2000; the epoch is that of an era that began in the year 0.
_EPOCH_DAYS: Final = 719_468
_ERA_DAYS: Final = 146_097
_ERA_YEARS: Final = 400
_MARCH: Final = 3
_MONTHS_TO_DECEMBER: Final = 10

# Division by 10, exact for numbers below 100.
_TENTH: Final = 103
_TENTH_BITS: Final = 10
# `-00-` and `00:00:00`, the first character in the lowest byte.
_MONTH_FORM: Final = 0x2D30_302D
_CLOCK_FORM: Final = 0x3030_3A30_303A_3030
_CLOCK_TENS: Final = 0x000F_0000_0F00_000F

_SPACE: Final = 32
_COLON: Final = 58
_POINT: Final = 46


def require_fraction(digits: int) -> int:
    """Return `digits`; raise DecodeError when a server allows fewer."""
    if digits > FRACTION_MAX:
        raise DecodeError(value_errors.FRACTION_DIGITS, digits=digits)
    return digits


def fraction_length(digits: i64) -> i64:
    """Return the bytes of a stored fraction: two digits a byte."""
    return (digits + 1) >> 1


def put_date(out: BytesWriter, year: i64, month: i64, day: i64) -> None:
    """Append `YYYY-MM-DD`; zeros are allowed in every place."""
    if month > _MONTH_MAX or year > _YEAR_MAX:
        raise DecodeError(value_errors.DATE)
    put_4(out, year)
    tens = month * _TENTH >> _TENTH_BITS
    write_i32_le(out, i32(tens << 8 | (month - tens * 10) << 16 | _MONTH_FORM))
    put_2(out, day)


def put_clock(out: BytesWriter, hour: i64, minute: i64, second: i64) -> None:
    """Append `hh:mm:ss`; the hours of a TIME may take three digits."""
    if minute > _SIXTIETH_MAX or second > _SIXTIETH_MAX:
        raise DecodeError(value_errors.CLOCK)
    if hour < _TWO_DIGITS:
        # Three numbers of two digits, each in 24 bits of a word.
        parts = hour | minute << 24 | second << 48
        tens = parts * _TENTH >> _TENTH_BITS & _CLOCK_TENS
        write_i64_le(out, tens | (parts - tens * 10) << 8 | _CLOCK_FORM)
    else:
        put_uint(out, hour)
        out.append(u8(_COLON))
        put_2(out, minute)
        out.append(u8(_COLON))
        put_2(out, second)


def put_fraction(out: BytesWriter, stored: i64, digits: i64) -> None:
    """Append `.` and the digits of a stored fraction; an odd count is stored times ten."""
    if digits:
        require_fraction_fits(stored, digits)
        out.append(u8(_POINT))
        put_padded(out, stored // 10 if digits & 1 else stored, digits)


def require_fraction_fits(stored: i64, digits: i64) -> None:
    """Raise DecodeError for a stored fraction with more digits than fit its bytes."""
    limit: i64 = _FRACTION_LIMITS[fraction_length(digits)]
    if stored >= limit:
        raise DecodeError(value_errors.FRACTION, digits=digits)


def put_packed_datetime(out: BytesWriter, packed: i64) -> None:
    """Append the date and time in the 40 bits of a DATETIME2 without its sign."""
    if packed >> 12 & 0x1F > _HOUR_MAX:
        raise DecodeError(value_errors.DATETIME_HOUR)
    months = packed >> 22
    year = months // 13
    put_date(out, year, months - year * 13, packed >> 17 & 0x1F)
    out.append(u8(_SPACE))
    put_packed_time(out, packed & 0x1_FFFF)


def put_packed_time(out: BytesWriter, packed: i64) -> None:
    """Append the time in the 22 bits of a TIME2 without its sign."""
    put_clock(out, packed >> 12 & 0x3FF, packed >> 6 & 0x3F, packed & 0x3F)


def put_timestamp(out: BytesWriter, seconds: i64) -> None:
    """Append `YYYY-MM-DD hh:mm:ss` in UTC; 0 is MySQL's zero value, not 1970."""
    if seconds == 0:
        out.write(_ZERO_DATETIME)
    else:
        put_utc(out, seconds)


def put_utc(out: BytesWriter, seconds: i64) -> None:
    """Append `YYYY-MM-DD hh:mm:ss` of the seconds since 1970, which must not be negative.

    https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    """
    days = seconds // _DAY_SECONDS
    second = seconds - days * _DAY_SECONDS
    days += _EPOCH_DAYS
    era = days // _ERA_DAYS
    day = days - era * _ERA_DAYS
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + (year >> 2) - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += era * _ERA_YEARS
    if month < _MONTHS_TO_DECEMBER:
        month += _MARCH
    else:
        month += _MARCH - _MONTH_MAX
        year += 1
    put_date(out, year, month, day + 1)
    out.append(u8(_SPACE))
    minutes = second // 60
    hour = minutes // 60
    put_clock(out, hour, minutes - hour * 60, second - minutes * 60)

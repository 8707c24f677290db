"""DATE, TIME, DATETIME and TIMESTAMP become the text that MySQL prints, with the column's digits.

::

    DATE        3 bytes LE    year 15 bits │ month 4 │ day 5
    TIMESTAMP2  4 bytes BE    seconds since the epoch; all 0 is the zero value      │ fraction
    DATETIME2   5 bytes BE    1 │ year * 13 + month 17 │ day 5 │ hour 5 │ minute 6 │ second 6
                                                                                    │ fraction
    TIME2       3 bytes BE    1 │ 0 │ hour 10 │ minute 6 │ second 6                 │ fraction
    fraction    0 to 3 bytes  BE, two decimal digits a byte: hundredths, 1/10000, microseconds

A negative TIME2 is the two's complement of its time and fraction together: 7F FF FF FF in TIME(2)
is -00:00:00.01. A TIMESTAMP is in UTC, a DATETIME has no time zone. Zero and partial dates
(`0000-00-00`, `2010-00-00`) are values like others.

https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
https://dev.mysql.com/worklog/task/?id=946
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

FRACTION_MAX = 6
ZERO_DATETIME = "0000-00-00 00:00:00"
_EPOCH = "1970-01-01 00:00:00"

_MONTH_MAX = 12
_HOUR_MAX = 23
_SIXTIETH_MAX = 59
_YEAR_MAX = 9999

_DATETIME2_OFFSET = 0x80_0000_0000
_TIME2_OFFSET = 0x80_0000


def date_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a DATE: `2017-09-15`."""
    del column

    def read(image: PayloadReader) -> str:
        packed = image.read_uint(3)
        return date_text(packed >> 9, packed >> 5 & 0xF, packed & 0x1F)

    return read


def timestamp2_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a TIMESTAMP(f) as UTC: `2018-06-20 13:37:03.123`."""
    read_fraction = fraction_reader(column.metadata)

    def read(image: PayloadReader) -> str:
        seconds = int.from_bytes(image.read_bytes(4), "big")
        fraction = read_fraction(image)
        if seconds == 0 and fraction.strip(".0"):
            # The zero value has no fraction; MariaDB stores the first second of 1970.
            return f"{_EPOCH}{fraction}"
        return timestamp_text(seconds) + fraction

    return read


def datetime2_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a DATETIME(f): `2019-07-09 02:28:57.123456`."""
    read_fraction = fraction_reader(column.metadata)

    def read(image: PayloadReader) -> str:
        packed = int.from_bytes(image.read_bytes(5), "big") - _DATETIME2_OFFSET
        if packed < 0:
            reason = "a DATETIME is negative"
            raise DecodeError(reason)
        return packed_datetime_text(packed) + read_fraction(image)

    return read


def time2_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a TIME(f): `-838:59:59.000000`."""
    digits = require_fraction(column.metadata)
    fraction_length = (digits + 1) // 2
    fraction_bits = fraction_length * 8
    offset = _TIME2_OFFSET << fraction_bits

    def read(image: PayloadReader) -> str:
        packed = int.from_bytes(image.read_bytes(3 + fraction_length), "big") - offset
        sign = "-" if packed < 0 else ""
        packed = abs(packed)
        fraction = packed & ((1 << fraction_bits) - 1)
        return sign + packed_time_text(packed >> fraction_bits) + fraction_text(fraction, digits)

    return read


def date_text(year: int, month: int, day: int) -> str:
    """Return `YYYY-MM-DD`; zeros are allowed in every place."""
    if month > _MONTH_MAX or year > _YEAR_MAX:
        reason = "a date has a month above 12 or a year above 9999"
        raise DecodeError(reason)
    return f"{year:04d}-{month:02d}-{day:02d}"


def clock_text(hour: int, minute: int, second: int) -> str:
    """Return `hh:mm:ss`; the hours of a TIME may take three digits."""
    if minute > _SIXTIETH_MAX or second > _SIXTIETH_MAX:
        reason = "a time has a minute or a second above 59"
        raise DecodeError(reason)
    return f"{hour:02d}:{minute:02d}:{second:02d}"


def packed_datetime_text(packed: int) -> str:
    """Return the date and time in the 40 bits of a DATETIME2 without its sign."""
    year, month = divmod(packed >> 22, 13)
    hour = packed >> 12 & 0x1F
    if hour > _HOUR_MAX:
        reason = "a DATETIME has an hour above 23"
        raise DecodeError(reason)
    date = date_text(year, month, packed >> 17 & 0x1F)
    return f"{date} {clock_text(hour, packed >> 6 & 0x3F, packed & 0x3F)}"


def packed_time_text(packed: int) -> str:
    """Return the time in the 22 bits of a TIME2 without its sign."""
    return clock_text(packed >> 12 & 0x3FF, packed >> 6 & 0x3F, packed & 0x3F)


def timestamp_text(seconds: int) -> str:
    """Return `YYYY-MM-DD hh:mm:ss` in UTC; 0 is MySQL's zero value, not 1970."""
    if seconds == 0:
        return ZERO_DATETIME
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ")[: len(ZERO_DATETIME)]


def require_fraction(digits: int) -> int:
    """Return `digits`; raise DecodeError when a server allows fewer."""
    if digits > FRACTION_MAX:
        reason = f"a time with {digits} digits after the second does not exist"
        raise DecodeError(reason)
    return digits


def fraction_reader(digits: int) -> Callable[[PayloadReader], str]:
    """Return the function that reads the fraction of a second: `.123`, or nothing."""
    length = (require_fraction(digits) + 1) // 2

    def read(image: PayloadReader) -> str:
        return fraction_text(int.from_bytes(image.read_bytes(length), "big"), digits)

    return read


def fraction_text(stored: int, digits: int) -> str:
    """Return `.` and the digits of a stored fraction; an odd count is stored times ten."""
    if digits == 0:
        return ""
    stored_digits = (digits + 1) // 2 * 2
    text = f"{stored:0{stored_digits}d}"
    if len(text) > stored_digits:
        reason = f"a fraction of a second with {digits} digits holds a larger number"
        raise DecodeError(reason)
    return f".{text[:digits]}"

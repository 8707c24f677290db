"""Dates and times of rows become numbers of days and of microseconds.

Days count from 1970-01-01 in the proleptic Gregorian calendar, from the year 1 on. Servers also
store dates that are not in it, such as 0000-00-00, 2026-00-00 and 2026-02-30; they have no number.

`connector.binlog.columns.temporal` has the layout of the rows.

https://arrow.apache.org/docs/format/Columnar.html
https://howardhinnant.github.io/date_algorithms.html#days_from_civil
"""

from typing import Final, final

import pyarrow as pa
from librt.strings import write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from connector.binlog import argument_errors
from connector.binlog.arrow.builder import ArrowValueError, FixedWidthBuilder
from connector.binlog.columns.column import PrintedReader
from connector.binlog.payload_reader import PayloadReader

_MICROSECONDS: Final = 1_000_000
_TWO_DIGITS: Final = 2
_FOUR_DIGITS: Final = 4

_DAY_SECONDS: Final = 86_400
_YEAR_MAX: Final = 9999
_MONTH_MAX: Final = 12
_FEBRUARY: Final = 2
_FEBRUARY_DAYS: Final = 28
_HOUR_MAX: Final = 23
_SIXTIETH_MAX: Final = 59

_DATETIME2_OFFSET: Final = 0x80_0000_0000
_TIME2_OFFSET: Final = 0x80_0000

# The result if there is no number.
_NONE: Final = -(2**60)


class _TemporalBuilder(FixedWidthBuilder):
    def __init__(self, kind: pa.DataType, reader: PrintedReader, digits: i64) -> None:
        """Read values of `reader`, with that many digits after the second."""
        super().__init__(kind)
        self._reader = reader
        self._digits: i64 = digits

    def _refuse(self, image: PayloadReader, start: i64) -> None:
        """Raise the reader's error for the value at `start`, else ArrowValueError."""
        image.offset = start
        value = self._reader.read_text(image)
        raise ArrowValueError(argument_errors.NO_DATE, value=value)


@final
class DateBuilder(_TemporalBuilder):
    """DATE becomes date32."""

    def append(self, image: PayloadReader) -> None:
        """Append days since 1970-01-01, in 32 bits; ArrowValueError for a partial or zero date."""
        start = image.offset
        packed = image.read_uint24()
        days = _days(packed >> 9, packed >> 5 & 0xF, packed & 0x1F)
        if days == _NONE:
            self._refuse(image, start)
        write_i32_le(self._values, i32(days))


@final
class Timestamp2Builder(_TemporalBuilder):
    """TIMESTAMP becomes timestamp[us, UTC]."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds since 1970; ArrowValueError for the zero value."""
        start = image.offset
        seconds = image.read_big(4)
        fraction = _read_fraction(image, self._digits)
        if fraction == _NONE or seconds + fraction == 0:
            self._refuse(image, start)
        write_i64_le(self._values, seconds * _MICROSECONDS + fraction)


@final
class Datetime2Builder(_TemporalBuilder):
    """DATETIME becomes timestamp[us]."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds since 1970; ArrowValueError for a partial or zero date."""
        start = image.offset
        packed = image.read_big(5) - _DATETIME2_OFFSET
        seconds: i64 = _NONE
        if packed >= 0:
            year = (packed >> 22) // 13
            month = (packed >> 22) - year * 13
            days = _days(year, month, packed >> 17 & 0x1F)
            seconds = _seconds(days, packed >> 12 & 0x1F, packed >> 6 & 0x3F, packed & 0x3F)
        if seconds == _NONE:
            self._refuse(image, start)
        fraction = _read_fraction(image, self._digits)
        if fraction == _NONE:
            self._refuse(image, start)
        write_i64_le(self._values, seconds * _MICROSECONDS + fraction)


@final
class Time2Builder(_TemporalBuilder):
    """TIME becomes duration[us]."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds, negative for a negative time."""
        start = image.offset
        length = (self._digits + 1) >> 1
        bits = length << 3
        zero: i64 = _TIME2_OFFSET
        zero <<= bits  # in C, a literal would be shifted in 32 bits
        packed = image.read_big(3 + length) - zero
        whole = (packed if packed >= 0 else -packed) >> bits
        fraction = _microseconds(
            (packed if packed >= 0 else -packed) & ((1 << bits) - 1), self._digits
        )
        seconds = _clock(whole >> 12 & 0x3FF, whole >> 6 & 0x3F, whole & 0x3F)
        if _NONE in (seconds, fraction):
            self._refuse(image, start)
        value = seconds * _MICROSECONDS + fraction
        write_i64_le(self._values, value if packed >= 0 else -value)


@final
class TimestampBuilder(_TemporalBuilder):
    """TIMESTAMP as servers before 5.6 store it."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds since 1970; ArrowValueError for the zero value."""
        start = image.offset
        seconds = image.read_uint32()
        if seconds == 0:
            self._refuse(image, start)
        write_i64_le(self._values, seconds * _MICROSECONDS)


@final
class DatetimeBuilder(_TemporalBuilder):
    """DATETIME as servers before 5.6 store it."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds since 1970; ArrowValueError for a partial or zero date."""
        start = image.offset
        packed = image.read_int64()
        seconds: i64 = _NONE
        if packed >= 0:
            date = packed // 1_000_000
            time = packed - date * 1_000_000
            days = _days(date // 10_000, date // 100 % 100, date % 100)
            seconds = _seconds(days, time // 10_000, time // 100 % 100, time % 100)
        if seconds == _NONE:
            self._refuse(image, start)
        write_i64_le(self._values, seconds * _MICROSECONDS)


@final
class TimeBuilder(_TemporalBuilder):
    """TIME as servers before 5.6 store it."""

    def append(self, image: PayloadReader) -> None:
        """Append the microseconds, negative for a negative time."""
        start = image.offset
        packed = image.read_int24()
        whole = packed if packed >= 0 else -packed
        seconds = _clock(whole // 10_000, whole // 100 % 100, whole % 100)
        if seconds == _NONE:
            self._refuse(image, start)
        value = seconds * _MICROSECONDS
        write_i64_le(self._values, value if packed >= 0 else -value)


def _days(year: i64, month: i64, day: i64) -> i64:
    """Return the days from 1970-01-01, `_NONE` if the calendar has no such day."""
    if not (0 < year <= _YEAR_MAX and 0 < month <= _MONTH_MAX and day > 0):
        return _NONE
    if day > _FEBRUARY_DAYS and day > _days_of_month(year, month):
        return _NONE
    # Years that begin in March have their leap day at the end.
    if month <= _FEBRUARY:
        year -= 1
        month += 12
    leap_days = (year >> 2) - year // 100 + year // 400
    return year * 365 + leap_days + (153 * month - 457) // 5 + day - 719_469


def _days_of_month(year: i64, month: i64) -> i64:
    if month == _FEBRUARY:
        leap = year & 3 == 0 and (year % 100 != 0 or year % 400 == 0)
        return _FEBRUARY_DAYS + 1 if leap else _FEBRUARY_DAYS
    return 30 + ((month + (month >> 3)) & 1)


def _seconds(days: i64, hour: i64, minute: i64, second: i64) -> i64:
    """Return the seconds from 1970, `_NONE` if there is no such date or time."""
    clock = _clock(hour, minute, second)
    if _NONE in (days, clock) or hour > _HOUR_MAX:
        return _NONE
    return days * _DAY_SECONDS + clock


def _clock(hour: i64, minute: i64, second: i64) -> i64:
    """Return a time in seconds, `_NONE` if minutes or seconds are too large."""
    if minute > _SIXTIETH_MAX or second > _SIXTIETH_MAX:
        return _NONE
    return hour * 3600 + minute * 60 + second


def _read_fraction(image: PayloadReader, digits: i64) -> i64:
    """Read a fraction, return microseconds; `_NONE` if it is a second or more."""
    return _microseconds(image.read_big((digits + 1) >> 1), digits)


def _microseconds(stored: i64, digits: i64) -> i64:
    """Return a stored fraction in microseconds; `_NONE` if it is a second or more.

    If the number of digits is odd, the last stored digit has no meaning.
    """
    if digits & 1:
        stored -= stored % 10
    if digits <= _TWO_DIGITS:
        stored *= 10_000
    elif digits <= _FOUR_DIGITS:
        stored *= 100
    return stored if stored < _MICROSECONDS else _NONE

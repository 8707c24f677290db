"""The parts of the text of a date or a time.

A date with a zero part is no moment. A year of two digits belongs to the years from 1970 to 2069
(Debezium's option `enable.time.adjuster`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

_ZERO: Final = 0x30
_MINUS: Final = 0x2D
_COLON: Final = 0x3A

# Where the parts of `2019-07-09` begin.
MONTH: Final = 5
DAY: Final = 8
DATE_LENGTH: Final = 10

# A year that begins in March has its leap day at its end; an era has 400 years.
_EPOCH_DAYS: Final = 719_468
_ERA_DAYS: Final = 146_097
_ERA_YEARS: Final = 400
_FEBRUARY: Final = 2

# Years of two digits, and the first of them that is one of the last century.
_TWO_DIGITS: Final = 100
_PIVOT: Final = 70


def has_zero_part(data: bytes, start: i64) -> bool:
    """Return whether the year, the month or the day is 0."""
    if two(data, start + MONTH) == 0 or two(data, start + DAY) == 0:
        return True
    return two(data, start) == 0 and two(data, start + 2) == 0


def year_of(data: bytes, start: i64) -> i64:
    """Return the year of `YYYY-MM-DD`, with a century."""
    year = two(data, start) * 100 + two(data, start + 2)
    if year < _TWO_DIGITS:
        year += 2000 if year < _PIVOT else 1900
    return year


def days(data: bytes, start: i64) -> i64:
    """Return the days from 1970 to `YYYY-MM-DD`, in the calendar of today."""
    year = year_of(data, start)
    month = two(data, start + MONTH)
    day = two(data, start + DAY)
    if month <= _FEBRUARY:
        year -= 1
        month += 12
    era = year // _ERA_YEARS
    of_era = year - era * _ERA_YEARS
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_DAYS


def with_fraction(seconds: i64, data: bytes, at: i64, end: i64, digits: i64) -> i64:
    """Return the seconds with the fraction in `data[at:end]`, in units of 10^-`digits` seconds."""
    value = seconds
    at += 1  # the point
    while digits:
        value *= 10
        if at < end:
            byte: i64 = data[at]
            value += byte - _ZERO
        at += 1
        digits -= 1
    return value


def clock_start(data: bytes, start: i64) -> i64:
    """Return where the minutes of `[-]hh:mm:ss` begin; there are two or three digits of hours."""
    at = start
    while data[at] != _COLON:
        at += 1
    return at + 1


def seconds_of_clock(data: bytes, start: i64, minutes: i64) -> i64:
    """Return the seconds of `[-]hh:mm:ss` without its sign, of its `clock_start`."""
    at = start + 1 if data[start] == _MINUS else start
    hours: i64 = 0
    while at < minutes - 1:
        byte: i64 = data[at]
        hours = hours * 10 + byte - _ZERO
        at += 1
    return hours * 3600 + two(data, minutes) * 60 + two(data, minutes + 3)


def is_negative(data: bytes, start: i64) -> bool:
    """Return whether a time begins with a minus."""
    return data[start] == _MINUS


def two(data: bytes, at: i64) -> i64:
    """Return the number of two digits."""
    high: i64 = data[at]
    low: i64 = data[at + 1]
    return (high - _ZERO) * 10 + low - _ZERO

"""DATE, DATETIME, TIME and TIMESTAMP as numbers since 1970, and as ISO 8601.

A date with a zero part has no number: it is NULL, and in a column that cannot be NULL the first
moment of 1970. A year of two digits belongs to the years from 1970 to 2069 (the option
`enable.time.adjuster`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.codec.digits import put_int
from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.cells.selected_printed_cells import TimestampCell

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

_ZERO: Final = 0x30
_MINUS: Final = 0x2D
_COLON: Final = 0x3A

# Where the parts of `2019-07-09 02:28:57.123456` begin.
_MONTH: Final = 5
_DAY: Final = 8
_DATE_LENGTH: Final = 10
_MINUTE: Final = 14
_SECOND: Final = 17
_SECOND_END: Final = 19

_DAY_SECONDS: Final = 86_400
_MICROS_DIGITS: Final = 6
# A year that begins in March has its leap day at its end; an era has 400 years.
_EPOCH_DAYS: Final = 719_468
_ERA_DAYS: Final = 146_097
_ERA_YEARS: Final = 400
_FEBRUARY: Final = 2

# Years of two digits, and the first of them that is one of the last century.
_TWO_DIGITS: Final = 100
_PIVOT: Final = 70

NULL: Final = b"null"
EPOCH_NUMBER: Final = b"0"
EPOCH_TEXT: Final = b'"1970-01-01T00:00:00Z"'


@final
class DaysCell(SelectedCell):
    """DATE: days since 1970."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for a date without a number."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the days, of `YYYY-MM-DD`."""
        del end
        if _has_zero_part(data, start):
            out.write(self._zero)
        else:
            put_int(out, _days(data, start))


@final
class MomentCell(SelectedCell):
    """DATETIME: milliseconds or microseconds since 1970, as if it were UTC."""

    __slots__ = ("_digits", "_zero")

    def __init__(self, digits: int, zero: bytes) -> None:
        """Count units of 10^-`digits` seconds; write `zero` for a date without a number."""
        self._digits: i64 = digits
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of `YYYY-MM-DD hh:mm:ss[.ffffff]`."""
        if _has_zero_part(data, start):
            out.write(self._zero)
            return
        seconds = (
            _days(data, start) * _DAY_SECONDS
            + _two(data, start + _DATE_LENGTH + 1) * 3600
            + _two(data, start + _MINUTE) * 60
            + _two(data, start + _SECOND)
        )
        put_int(out, _with_fraction(seconds, data, start + _SECOND_END, end, self._digits))


@final
class ZonedCell(SelectedCell):
    """TIMESTAMP: `2018-06-20T13:37:03.123Z`, in UTC."""

    __slots__ = ("_exact", "_zero")

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for the zero value."""
        self._zero = zero
        self._exact = TimestampCell()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD hh:mm:ss[.ffffff]` in UTC."""
        if _has_zero_part(data, start):
            out.write(self._zero)
        else:
            self._exact.put(out, data, start, end)


@final
class DurationCell(SelectedCell):
    """TIME: microseconds, maybe negative."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of `[-]hh:mm:ss[.ffffff]` with two or three digits of hours."""
        at = start
        negative = data[at] == _MINUS
        if negative:
            at += 1
        hours: i64 = 0
        while data[at] != _COLON:
            byte: i64 = data[at]
            hours = hours * 10 + byte - _ZERO
            at += 1
        seconds = hours * 3600 + _two(data, at + 1) * 60 + _two(data, at + 4)
        micros = _with_fraction(seconds, data, at + 6, end, _MICROS_DIGITS)
        put_int(out, -micros if negative else micros)


def _has_zero_part(data: bytes, start: i64) -> bool:
    """Return whether the year, the month or the day is 0."""
    if _two(data, start + _MONTH) == 0 or _two(data, start + _DAY) == 0:
        return True
    return _two(data, start) == 0 and _two(data, start + 2) == 0


def _days(data: bytes, start: i64) -> i64:
    """Return the days from 1970 to `YYYY-MM-DD`, in the calendar of today."""
    year = _two(data, start) * 100 + _two(data, start + 2)
    if year < _TWO_DIGITS:
        year += 2000 if year < _PIVOT else 1900
    month = _two(data, start + _MONTH)
    day = _two(data, start + _DAY)
    if month <= _FEBRUARY:
        year -= 1
        month += 12
    era = year // _ERA_YEARS
    of_era = year - era * _ERA_YEARS
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_DAYS


def _with_fraction(seconds: i64, data: bytes, at: i64, end: i64, digits: i64) -> i64:
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


def _two(data: bytes, at: i64) -> i64:
    """Return the number of two digits."""
    high: i64 = data[at]
    low: i64 = data[at + 1]
    return (high - _ZERO) * 10 + low - _ZERO

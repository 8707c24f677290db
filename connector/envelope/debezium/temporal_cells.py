"""DATE, DATETIME and TIME as numbers since 1970 or midnight, and TIMESTAMP as ISO 8601.

A date with a zero part has no number: it is NULL, and in a column that cannot be NULL the first
moment of 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.codec.digits import put_int
from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.cells.selected_printed_cells import TimestampCell
from connector.envelope.debezium.temporal_parts import (
    DATE_LENGTH,
    clock_start,
    days,
    has_zero_part,
    is_negative,
    seconds_of_clock,
    two,
    with_fraction,
)

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.envelope.debezium.unfit import Unfit

# Where the parts of `2019-07-09 02:28:57.123456` begin.
_MINUTE: Final = 14
_SECOND: Final = 17
_SECOND_END: Final = 19
# After the minutes of `02:28:57.123456` begin.
_CLOCK_END: Final = 5

_DAY_SECONDS: Final = 86_400
_NANOS_DIGITS: Final = 9
# Days of which all nanoseconds since 1970 have 64 bits, and the seconds of the day after them.
_NANOS_DAYS_MAX: Final = 106_751
_NANOS_SECONDS_MAX: Final = 85_636

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
        if has_zero_part(data, start):
            out.write(self._zero)
        else:
            put_int(out, days(data, start))


@final
class MomentCell(SelectedCell):
    """DATETIME: milliseconds, microseconds or nanoseconds since 1970, as if it were UTC."""

    __slots__ = ("_digits", "_unfit", "_zero")

    def __init__(self, digits: int, zero: bytes, unfit: Unfit) -> None:
        """Count units of 10^-`digits` seconds; write `zero` for a date without a number."""
        self._digits: i64 = digits
        self._zero = zero
        self._unfit = unfit

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of `YYYY-MM-DD hh:mm:ss[.ffffff]`."""
        if has_zero_part(data, start):
            out.write(self._zero)
            return
        day = days(data, start)
        seconds = (
            two(data, start + DATE_LENGTH + 1) * 3600
            + two(data, start + _MINUTE) * 60
            + two(data, start + _SECOND)
        )
        if self._digits == _NANOS_DIGITS and (
            day < -_NANOS_DAYS_MAX
            or day > _NANOS_DAYS_MAX
            or (day == _NANOS_DAYS_MAX and seconds >= _NANOS_SECONDS_MAX)
        ):
            self._unfit.put(out)
            return
        seconds += day * _DAY_SECONDS
        put_int(out, with_fraction(seconds, data, start + _SECOND_END, end, self._digits))


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
        if has_zero_part(data, start):
            out.write(self._zero)
        else:
            self._exact.put(out, data, start, end)


@final
class DurationCell(SelectedCell):
    """TIME: microseconds or nanoseconds, maybe negative."""

    __slots__ = ("_digits",)

    def __init__(self, digits: int) -> None:
        """Count units of 10^-`digits` seconds."""
        self._digits: i64 = digits

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of `[-]hh:mm:ss[.ffffff]` with two or three digits of hours."""
        minutes = clock_start(data, start)
        seconds = seconds_of_clock(data, start, minutes)
        units = with_fraction(seconds, data, minutes + _CLOCK_END, end, self._digits)
        put_int(out, -units if is_negative(data, start) else units)


@final
class TimeOfDayCell(SelectedCell):
    """TIME: milliseconds since midnight, up to 24:00:00."""

    __slots__ = ("_unfit",)

    def __init__(self, unfit: Unfit) -> None:
        """Give other times to `unfit`."""
        self._unfit = unfit

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of `[-]hh:mm:ss[.ffffff]`."""
        if is_time_of_day(data, start, end):
            minutes = clock_start(data, start)
            seconds = seconds_of_clock(data, start, minutes)
            put_int(out, with_fraction(seconds, data, minutes + _CLOCK_END, end, 3))
        else:
            self._unfit.put(out)


def is_time_of_day(data: bytes, start: i64, end: i64) -> bool:
    """Return whether `[-]hh:mm:ss[.ffffff]` lies between 00:00:00 and 24:00:00."""
    if is_negative(data, start):
        return False
    minutes = clock_start(data, start)
    seconds = seconds_of_clock(data, start, minutes)
    if seconds >= _DAY_SECONDS:
        return seconds == _DAY_SECONDS and with_fraction(0, data, minutes + _CLOCK_END, end, 6) == 0
    return True

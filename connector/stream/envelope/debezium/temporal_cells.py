"""DATE, DATETIME, TIME and TIMESTAMP in Debezium's forms: numbers, or ISO 8601.

DATE, DATETIME and TIME are numbers since 1970 or midnight, TIMESTAMP is ISO 8601; with the option
`isostring`, all are ISO 8601 with the offset of UTC. A date with a zero part has no number: it is
NULL, and in a column that cannot be NULL the first moment of 1970. A year of two digits belongs to
the years from 1970 to 2069 (Debezium's option `enable.time.adjuster`).
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.text_writer import QUOTE, put_int
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.writers import TextForm, put_slice
from connector.stream.envelope.debezium.profile import DebeziumProfile

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
class EpochDaysForm(TextForm):
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
class EpochDatetimeForm(TextForm):
    """DATETIME: milliseconds, microseconds or nanoseconds since 1970, as if it were UTC."""

    __slots__ = ("_digits", "_unfit", "_zero")

    def __init__(self, digits: int, zero: bytes, unfit: "OutOfRangeTime") -> None:
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
class ZonedTimestampForm(TextForm):
    """TIMESTAMP: `2018-06-20T13:37:03.123Z`, in UTC."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for the zero value."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD hh:mm:ss[.ffffff]` in UTC."""
        if has_zero_part(data, start):
            out.write(self._zero)
        else:
            out.append(u8(QUOTE))
            put_slice(out, data, start, start + DATE_LENGTH)
            out.append(u8(_T))
            put_slice(out, data, start + DATE_LENGTH + 1, end)
            out.append(u8(_Z))
            out.append(u8(QUOTE))


@final
class DurationForm(TextForm):
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
class TimeOfDayForm(TextForm):
    """TIME: milliseconds since midnight, up to 24:00:00."""

    __slots__ = ("_unfit",)

    def __init__(self, unfit: "OutOfRangeTime") -> None:
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


_POINT: Final = 0x2E
_T: Final = 0x54
_Z: Final = 0x5A

_YEAR_LENGTH: Final = 4
_CLOCK_LENGTH: Final = 8
_DAY_HOURS: Final = 24

EPOCH_DATE: Final = b'"1970-01-01Z"'


@final
class IsoDateForm(TextForm):
    """DATE: `2019-07-09Z`."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for a date with a zero part."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD`."""
        if has_zero_part(data, start):
            out.write(self._zero)
            return
        out.append(u8(QUOTE))
        _put_date(out, data, start, end)
        _put_end(out)


@final
class IsoDatetimeForm(TextForm):
    """DATETIME: `2019-07-09T02:28:57.1Z`, without zeros at the end of the fraction."""

    __slots__ = ("_zero",)

    def __init__(self, zero: bytes) -> None:
        """Write `zero` for a date with a zero part."""
        self._zero = zero

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `YYYY-MM-DD hh:mm:ss[.ffffff]`."""
        if has_zero_part(data, start):
            out.write(self._zero)
            return
        clock = start + DATE_LENGTH + 1
        out.append(u8(QUOTE))
        _put_date(out, data, start, start + DATE_LENGTH)
        out.append(u8(_T))
        put_slice(out, data, clock, _significant_end(data, clock, end))
        _put_end(out)


@final
class IsoTimeForm(TextForm):
    """TIME: `02:28:57.1Z`, the time of a day; 24:00:00 is midnight."""

    __slots__ = ("_unfit",)

    def __init__(self, unfit: "OutOfRangeTime") -> None:
        """Give times that no day has to `unfit`."""
        self._unfit = unfit

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text, of `[-]hh:mm:ss[.ffffff]`."""
        if not is_time_of_day(data, start, end):
            self._unfit.put(out)
            return
        out.append(u8(QUOTE))
        if two(data, start) == _DAY_HOURS:
            out.write(b"00:00:00")
        else:
            put_slice(out, data, start, _significant_end(data, start, end))
        _put_end(out)


def _put_date(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    if data[start] == _ZERO and data[start + 1] == _ZERO:
        put_int(out, year_of(data, start))
        put_slice(out, data, start + _YEAR_LENGTH, end)
    else:
        put_slice(out, data, start, end)


def _significant_end(data: bytes, clock: i64, end: i64) -> i64:
    """Return the end of `hh:mm:ss[.ffffff]` without zeros at the end of the fraction."""
    while end > clock + _CLOCK_LENGTH:
        last: i64 = data[end - 1]
        if last not in (_ZERO, _POINT):
            break
        end -= 1
    return end


def _put_end(out: BytesWriter) -> None:
    out.append(u8(_Z))
    out.append(u8(QUOTE))


_NULL: Final = b"null"


@final
class OutOfRangeTime:
    """What is written for such a value of one column."""

    __slots__ = ("_as_null", "_column", "_times")

    def __init__(self, column: SchemaColumn, form: DebeziumProfile) -> None:
        """Write NULL if that is chosen, and the column can be NULL."""
        self._column = column
        self._times: str = form.times
        self._as_null = form.conversion_failures == "null" and column["nullable"]

    def put(self, out: BytesWriter) -> None:
        """Append NULL, or raise UnsupportedChange."""
        if self._as_null:
            out.write(_NULL)
            return
        raise UnsupportedChange(
            record_errors.TIME_UNFIT,
            column=self._column["name"],
            type=self._column["type"].upper(),
            times=self._times,
        )

"""TIME, DATETIME and TIMESTAMP as servers before 5.6 store them, and MariaDB by setting.

::

    TIMESTAMP  4 bytes LE    seconds since the epoch; 0 is the zero value
    DATETIME   8 bytes LE    the decimal number YYYYMMDDhhmmss
    TIME       3 bytes LE    the signed decimal number hhmmss

A table that was made so keeps the format until it is rebuilt (avoid_temporal_upgrade,
mysql56_temporal_format=OFF). MariaDB's such columns may have digits after the second; their values
are longer, and the log does not tell: `binlog.old_temporal_rows` refuses them.

https://dev.mysql.com/doc/refman/5.7/en/upgrading-from-previous-series.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.time_text import put_clock, put_date, put_timestamp
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column import Column
    from connector.codec.payload import PayloadReader

_TWO_DIGITS: Final = 100
_SIX_DIGITS: Final = 1_000_000
_HOUR_MAX: Final = 23
_DAY_MAX: Final = 31

_TIMESTAMP_LENGTH: Final = 4
_DATETIME_LENGTH: Final = 8
_TIME_LENGTH: Final = 3

_MINUS: Final = 45
_SPACE: Final = 32


def timestamp_reader(column: Column) -> TimestampReader:
    """Return what reads a TIMESTAMP."""
    del column
    return TimestampReader()


def datetime_reader(column: Column) -> DatetimeReader:
    """Return what reads a DATETIME."""
    del column
    return DatetimeReader()


def time_reader(column: Column) -> TimeReader:
    """Return what reads a TIME."""
    del column
    return TimeReader()


@final
class TimestampReader(PrintedReader):
    """A TIMESTAMP in UTC."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the date and time."""
        put_timestamp(out, image.read_uint32())

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_TIMESTAMP_LENGTH)


@final
class DatetimeReader(PrintedReader):
    """A DATETIME."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the date and time."""
        number = image.read_uint64()
        days: i64 = number // _SIX_DIGITS
        time: i64 = number % _SIX_DIGITS
        months = days // _TWO_DIGITS
        day = days - months * _TWO_DIGITS
        year = months // _TWO_DIGITS
        minutes = time // _TWO_DIGITS
        hour = minutes // _TWO_DIGITS
        if hour > _HOUR_MAX or day > _DAY_MAX:
            raise DecodeError(log_values.DATETIME_HOUR_OR_DAY)
        put_date(out, year, months - year * _TWO_DIGITS, day)
        out.append(u8(_SPACE))
        put_clock(out, hour, minutes - hour * _TWO_DIGITS, time - minutes * _TWO_DIGITS)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_DATETIME_LENGTH)


@final
class TimeReader(PrintedReader):
    """A TIME."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the time."""
        packed = image.read_int24()
        if packed < 0:
            out.append(u8(_MINUS))
            packed = -packed
        minutes = packed // _TWO_DIGITS
        hour = minutes // _TWO_DIGITS
        put_clock(out, hour, minutes - hour * _TWO_DIGITS, packed - minutes * _TWO_DIGITS)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_TIME_LENGTH)

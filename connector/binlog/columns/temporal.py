"""DATE, TIME, DATETIME and TIMESTAMP become the text that MySQL prints, with the column's digits.

::

    DATE        3 bytes LE    year 15 bits │ month 4 │ day 5
    TIMESTAMP2  4 bytes BE    seconds since the epoch; all 0 is the zero value      │ fraction
    DATETIME2   5 bytes BE    1 │ year * 13 + month 17 │ day 5 │ hour 5 │ minute 6 │ second 6
                                                                                    │ fraction
    TIME2       3 bytes BE    1 │ 0 │ hour 10 │ minute 6 │ second 6                 │ fraction
    fraction    0 to 3 bytes  BE, two decimal digits a byte: hundredths, 1/10000, microseconds

    TIMESTAMP   4 bytes LE    seconds since the epoch; 0 is the zero value
    DATETIME    8 bytes LE    the decimal number YYYYMMDDhhmmss
    TIME        3 bytes LE    the signed decimal number hhmmss

A negative TIME2 is the two's complement of its time and fraction together: 7F FF FF FF in TIME(2)
is -00:00:00.01. A TIMESTAMP is in UTC, a DATETIME has no time zone. Zero and partial dates
(`0000-00-00`, `2010-00-00`) are values like others.

Servers before 5.6, and MariaDB with mysql56_temporal_format=OFF, store the types without 2.
A table keeps the format in which it was created until it is rebuilt (avoid_temporal_upgrade). In
MariaDB such columns may have digits after the second. Their values are longer, and the log does not
say so: `binlog.rows_decoder` refuses them.

https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
https://dev.mysql.com/worklog/task/?id=946
https://dev.mysql.com/doc/refman/5.7/en/upgrading-from-previous-series.html
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog import value_errors
from connector.binlog.columns import time_text
from connector.binlog.columns.column import PrintedReader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_DATETIME2_ZERO: Final = 0x80_0000_0000
_TIME2_ZERO: Final = 0x80_0000

_DATE_LENGTH: Final = 3
_TIMESTAMP2_LENGTH: Final = 4
_DATETIME2_LENGTH: Final = 5
_TIME2_LENGTH: Final = 3

_MINUS: Final = 45


@final
class DateReader(PrintedReader):
    """A DATE: `2017-09-15`."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DD`; zeros are allowed in every part."""
        packed = image.read_uint24()
        time_text.put_date(out, packed >> 9, packed >> 5 & 0xF, packed & 0x1F)

    def skip(self, image: PayloadReader) -> None:
        image.skip(_DATE_LENGTH)


@final
class Timestamp2Reader(PrintedReader):
    """A TIMESTAMP(f) in UTC: `2018-06-20 13:37:03.123`."""

    __slots__ = ("_digits", "_fraction_length")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = time_text.require_fraction(digits)
        self._fraction_length: i64 = time_text.fraction_length(self._digits)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DD hh:mm:ss` in UTC and the fraction."""
        seconds = image.read_big(_TIMESTAMP2_LENGTH)
        fraction = image.read_big(self._fraction_length)
        # An odd count of digits is stored times ten.
        if fraction >= (10 if self._digits & 1 else 1):
            # The zero value has no fraction; MariaDB stores the first second of 1970.
            time_text.put_utc(out, seconds)
        else:
            time_text.put_timestamp(out, seconds)
        time_text.put_fraction(out, fraction, self._digits)

    def skip(self, image: PayloadReader) -> None:
        image.skip(_TIMESTAMP2_LENGTH + self._fraction_length)


@final
class Datetime2Reader(PrintedReader):
    """A DATETIME(f): `2019-07-09 02:28:57.123456`."""

    __slots__ = ("_digits", "_fraction_length")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = time_text.require_fraction(digits)
        self._fraction_length: i64 = time_text.fraction_length(self._digits)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DD hh:mm:ss` and the fraction; raise DecodeError without the sign bit."""
        packed = image.read_big(_DATETIME2_LENGTH) - _DATETIME2_ZERO
        if packed < 0:
            raise DecodeError(value_errors.DATETIME_NEGATIVE)
        time_text.put_packed_datetime(out, packed)
        time_text.put_fraction(out, image.read_big(self._fraction_length), self._digits)

    def skip(self, image: PayloadReader) -> None:
        image.skip(_DATETIME2_LENGTH + self._fraction_length)


@final
class Time2Reader(PrintedReader):
    """A TIME(f): `-838:59:59.000000`."""

    __slots__ = ("_digits", "_fraction_bits", "_length", "_zero")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = time_text.require_fraction(digits)
        self._fraction_bits: i64 = 8 * time_text.fraction_length(self._digits)
        self._length: i64 = _TIME2_LENGTH + time_text.fraction_length(self._digits)
        self._zero: i64 = _TIME2_ZERO
        self._zero <<= self._fraction_bits  # in C, a literal would be shifted in 32 bits

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `hh:mm:ss` and the fraction, with a minus before a negative time."""
        fraction_bits = self._fraction_bits
        packed = image.read_big(self._length) - self._zero
        if packed < 0:
            out.append(u8(_MINUS))
            packed = -packed
        whole = packed >> fraction_bits
        time_text.put_packed_time(out, whole)
        time_text.put_fraction(out, packed - (whole << fraction_bits), self._digits)

    def skip(self, image: PayloadReader) -> None:
        image.skip(self._length)


_TWO_DIGITS: Final = 100
_SIX_DIGITS: Final = 1_000_000
_HOUR_MAX: Final = 23
_DAY_MAX: Final = 31

_TIMESTAMP_LENGTH: Final = 4
_DATETIME_LENGTH: Final = 8
_TIME_LENGTH: Final = 3

_SPACE: Final = 32


@final
class TimestampReader(PrintedReader):
    """A TIMESTAMP in UTC."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DD hh:mm:ss` in UTC; 0 is the zero value."""
        time_text.put_timestamp(out, image.read_uint32())

    def skip(self, image: PayloadReader) -> None:
        image.skip(_TIMESTAMP_LENGTH)


@final
class DatetimeReader(PrintedReader):
    """A DATETIME."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DD hh:mm:ss`; raise DecodeError for a number that is no date and time."""
        number = image.read_uint64()
        days: i64 = number // _SIX_DIGITS
        time: i64 = number % _SIX_DIGITS
        months = days // _TWO_DIGITS
        day = days - months * _TWO_DIGITS
        year = months // _TWO_DIGITS
        minutes = time // _TWO_DIGITS
        hour = minutes // _TWO_DIGITS
        if hour > _HOUR_MAX or day > _DAY_MAX:
            raise DecodeError(value_errors.DATETIME_HOUR_OR_DAY)
        time_text.put_date(out, year, months - year * _TWO_DIGITS, day)
        out.append(u8(_SPACE))
        time_text.put_clock(out, hour, minutes - hour * _TWO_DIGITS, time - minutes * _TWO_DIGITS)

    def skip(self, image: PayloadReader) -> None:
        image.skip(_DATETIME_LENGTH)


@final
class TimeReader(PrintedReader):
    """A TIME."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `hh:mm:ss`, with a minus before a negative time."""
        packed = image.read_int24()
        if packed < 0:
            out.append(u8(_MINUS))
            packed = -packed
        minutes = packed // _TWO_DIGITS
        hour = minutes // _TWO_DIGITS
        time_text.put_clock(out, hour, minutes - hour * _TWO_DIGITS, packed - minutes * _TWO_DIGITS)

    def skip(self, image: PayloadReader) -> None:
        image.skip(_TIME_LENGTH)

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

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.time_text import (
    fraction_length,
    put_date,
    put_fraction,
    put_packed_datetime,
    put_packed_time,
    put_timestamp,
    put_utc,
    require_fraction,
)
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column import Column
    from connector.codec.payload import PayloadReader

_DATETIME2_ZERO: Final = 0x80_0000_0000
_TIME2_ZERO: Final = 0x80_0000

_DATE_LENGTH: Final = 3
_TIMESTAMP2_LENGTH: Final = 4
_DATETIME2_LENGTH: Final = 5
_TIME2_LENGTH: Final = 3

_MINUS: Final = 45


def date_reader(column: Column) -> DateReader:
    """Return what reads a DATE."""
    del column
    return DateReader()


def timestamp2_reader(column: Column) -> Timestamp2Reader:
    """Return what reads a TIMESTAMP(f)."""
    return Timestamp2Reader(column.metadata)


def datetime2_reader(column: Column) -> Datetime2Reader:
    """Return what reads a DATETIME(f)."""
    return Datetime2Reader(column.metadata)


def time2_reader(column: Column) -> Time2Reader:
    """Return what reads a TIME(f)."""
    return Time2Reader(column.metadata)


@final
class DateReader(PrintedReader):
    """A DATE: `2017-09-15`."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the date."""
        packed = image.read_uint24()
        put_date(out, packed >> 9, packed >> 5 & 0xF, packed & 0x1F)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_DATE_LENGTH)


@final
class Timestamp2Reader(PrintedReader):
    """A TIMESTAMP(f) in UTC: `2018-06-20 13:37:03.123`."""

    __slots__ = ("_digits", "_fraction_length")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = require_fraction(digits)
        self._fraction_length: i64 = fraction_length(self._digits)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the date and time."""
        seconds = image.read_big(_TIMESTAMP2_LENGTH)
        fraction = image.read_big(self._fraction_length)
        # An odd count of digits is stored times ten.
        if fraction >= (10 if self._digits & 1 else 1):
            # The zero value has no fraction; MariaDB stores the first second of 1970.
            put_utc(out, seconds)
        else:
            put_timestamp(out, seconds)
        put_fraction(out, fraction, self._digits)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_TIMESTAMP2_LENGTH + self._fraction_length)


@final
class Datetime2Reader(PrintedReader):
    """A DATETIME(f): `2019-07-09 02:28:57.123456`."""

    __slots__ = ("_digits", "_fraction_length")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = require_fraction(digits)
        self._fraction_length: i64 = fraction_length(self._digits)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the date and time."""
        packed = image.read_big(_DATETIME2_LENGTH) - _DATETIME2_ZERO
        if packed < 0:
            raise DecodeError(log_values.DATETIME_NEGATIVE)
        put_packed_datetime(out, packed)
        put_fraction(out, image.read_big(self._fraction_length), self._digits)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(_DATETIME2_LENGTH + self._fraction_length)


@final
class Time2Reader(PrintedReader):
    """A TIME(f): `-838:59:59.000000`."""

    __slots__ = ("_digits", "_fraction_bits", "_length", "_zero")

    def __init__(self, digits: int) -> None:
        """Raise DecodeError when `digits` after the second are more than a server allows."""
        self._digits: i64 = require_fraction(digits)
        self._fraction_bits: i64 = 8 * fraction_length(self._digits)
        self._length: i64 = _TIME2_LENGTH + fraction_length(self._digits)
        self._zero: i64 = _TIME2_ZERO
        self._zero <<= self._fraction_bits  # in C, a literal would be shifted in 32 bits

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the time."""
        fraction_bits = self._fraction_bits
        packed = image.read_big(self._length) - self._zero
        if packed < 0:
            out.append(u8(_MINUS))
            packed = -packed
        whole = packed >> fraction_bits
        put_packed_time(out, whole)
        put_fraction(out, packed - (whole << fraction_bits), self._digits)

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(self._length)

"""TIME, DATETIME and TIMESTAMP as servers before 5.6 store them, and MariaDB by setting.

::

    TIMESTAMP  4 bytes LE    seconds since the epoch; 0 is the zero value
    DATETIME   8 bytes LE    the decimal number YYYYMMDDhhmmss
    TIME       3 bytes LE    the signed decimal number hhmmss

A table that was made so keeps the format until it is rebuilt (avoid_temporal_upgrade,
mysql56_temporal_format=OFF). MariaDB's such columns may have digits after the second; their values
are longer, and the log does not tell, so that the bytes of the row do not fit.

https://dev.mysql.com/doc/refman/5.7/en/upgrading-from-previous-series.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.temporal import clock_text, date_text, timestamp_text
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

_TWO_DIGITS = 100
_SIX_DIGITS = 1_000_000
_HOUR_MAX = 23
_DAY_MAX = 31


def timestamp_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a TIMESTAMP as UTC."""
    del column
    return lambda image: timestamp_text(image.read_uint32())


def datetime_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a DATETIME."""
    del column

    def read(image: PayloadReader) -> str:
        date, time = divmod(image.read_uint64(), _SIX_DIGITS)
        year_and_month, day = divmod(date, _TWO_DIGITS)
        year, month = divmod(year_and_month, _TWO_DIGITS)
        hour_and_minute, second = divmod(time, _TWO_DIGITS)
        hour, minute = divmod(hour_and_minute, _TWO_DIGITS)
        if hour > _HOUR_MAX or day > _DAY_MAX:
            reason = "a DATETIME has an hour above 23 or a day above 31"
            raise DecodeError(reason)
        return f"{date_text(year, month, day)} {clock_text(hour, minute, second)}"

    return read


def time_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a TIME."""
    del column

    def read(image: PayloadReader) -> str:
        packed = image.read_int(3)
        hour_and_minute, second = divmod(abs(packed), _TWO_DIGITS)
        hour, minute = divmod(hour_and_minute, _TWO_DIGITS)
        return ("-" if packed < 0 else "") + clock_text(hour, minute, second)

    return read

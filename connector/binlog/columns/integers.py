"""TINYINT to BIGINT and YEAR: little-endian integers of 1, 2, 3, 4 or 8 bytes.

The sign is not in the row: the table map's SIGNEDNESS tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.column_types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

_YEAR_BASE = 1900

_LENGTHS: dict[int, int] = {
    ColumnType.TINY: 1,
    ColumnType.SHORT: 2,
    ColumnType.INT24: 3,
    ColumnType.LONG: 4,
    ColumnType.LONGLONG: 8,
}


def integer_reader(column: Column) -> Callable[[PayloadReader], int]:
    """Return the function that reads an integer of the column's width and sign."""
    length = _LENGTHS[column.type_code]
    if column.unsigned:
        return lambda image: image.read_uint(length)
    return lambda image: image.read_int(length)


def year_reader(column: Column) -> Callable[[PayloadReader], int]:
    """Return the function that reads a YEAR: the years since 1900, and 0 for the year 0000."""
    del column

    def read(image: PayloadReader) -> int:
        stored = image.read_uint8()
        return stored + _YEAR_BASE if stored else 0

    return read

"""TINYINT to BIGINT and YEAR: little-endian integers of 1, 2, 3, 4 or 8 bytes.

The row does not say whether a column is unsigned: the table map's SIGNEDNESS does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.column_types import ColumnType
from connector.codec.digits import put_int, put_uint, put_uint64

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value
    from connector.codec.payload import PayloadReader

_YEAR_BASE: Final = 1900
_WORD_RANGE: Final = 1 << 64

_LENGTHS: dict[int, int] = {
    ColumnType.TINY: 1,
    ColumnType.SHORT: 2,
    ColumnType.INT24: 3,
    ColumnType.LONG: 4,
    ColumnType.LONGLONG: 8,
}


def integer_reader(column: Column) -> IntegerReader:
    """Return what reads an integer of the column's width and sign."""
    return IntegerReader(_LENGTHS[column.type_code], column.unsigned)


def year_reader(column: Column) -> YearReader:
    """Return what reads a YEAR."""
    del column
    return YearReader()


@final
class IntegerReader(PrintedReader):
    """An integer of 1, 2, 3, 4 or 8 bytes."""

    __slots__ = ("length", "unsigned")

    def __init__(self, length: i64, unsigned: bool) -> None:
        """Read integers of `length` bytes."""
        self.length: i64 = length
        self.unsigned = unsigned

    def read(self, image: PayloadReader) -> Value:
        """Return the number; the column's sign decides how the bits are read."""
        value = self.read_word(image)
        if value < 0 and self.unsigned:
            return int(value) + _WORD_RANGE
        return int(value)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number in decimal digits, with a minus if it is negative."""
        if self.unsigned:
            put_uint64(out, self.read_word(image))
        else:
            put_int(out, self.read_word(image))

    def read_word(self, image: PayloadReader) -> i64:
        """Return the number as a signed word: an unsigned number above 2**63 - 1 minus 2**64."""
        length = self.length
        if length == 4:  # noqa: PLR2004
            return image.read_uint32() if self.unsigned else image.read_int32()
        if length == 8:  # noqa: PLR2004
            return image.read_int64()
        if length == 1:
            return image.read_uint8() if self.unsigned else image.read_int8()
        if length == 2:  # noqa: PLR2004
            return image.read_uint16() if self.unsigned else image.read_int16()
        return image.read_uint24() if self.unsigned else image.read_int24()

    def skip(self, image: PayloadReader) -> None:
        """Skip 1, 2, 3, 4 or 8 bytes."""
        image.skip(self.length)


@final
class YearReader(PrintedReader):
    """A YEAR: the years since 1900, and 0 for the year 0000."""

    __slots__ = ()

    def read(self, image: PayloadReader) -> Value:
        """Return the year, 0 or 1901 to 2155."""
        return int(self.read_year(image))

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the year; the year 0000 becomes the number 0."""
        put_uint(out, self.read_year(image))

    def read_year(self, image: PayloadReader) -> i64:
        """Return the year as a native number, 0 or 1901 to 2155."""
        stored = image.read_uint8()
        return stored + _YEAR_BASE if stored else 0

    def skip(self, image: PayloadReader) -> None:
        """Skip 1 byte."""
        image.skip(1)

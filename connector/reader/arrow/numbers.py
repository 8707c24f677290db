"""Numbers of rows become Arrow's; mostly the bytes are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import (
    read_i16_le,
    read_i32_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from mypy_extensions import i16, i32, i64, u8

from connector.reader.arrow.builder import FixedWidthBuilder

if TYPE_CHECKING:
    import pyarrow as pa

    from connector.binlog.columns.decimal import DecimalReader
    from connector.binlog.columns.floats import DoubleReader, FloatReader
    from connector.binlog.columns.integers import IntegerReader, YearReader
    from connector.codec.payload import PayloadReader

# ruff: noqa: PLR2004 - the numbers are counts of bytes

# The exponent of an infinity or NaN, which no server stores; in a DOUBLE it is above 52 bits.
FLOAT_SPECIAL: Final = 0x7F80_0000
_DOUBLE_SPECIAL: Final = 0x7FF
_DOUBLE_FRACTION_BITS: Final = 52


@final
class IntegerBuilder(FixedWidthBuilder):
    """TINYINT to BIGINT; the three bytes of a MEDIUMINT become four."""

    def __init__(self, kind: pa.DataType, reader: IntegerReader) -> None:
        """Read the width and the sign from `reader`."""
        super().__init__(kind)
        self._reader = reader
        self._length: i64 = reader.length

    def append(self, image: PayloadReader) -> None:
        """Copy the bytes of the integer; a MEDIUMINT keeps its sign."""
        values = self._values
        length = self._length
        if length == 4:
            write_i32_le(values, read_i32_le(image.data, image.take(4)))
        elif length == 8:
            write_i64_le(values, read_i64_le(image.data, image.take(8)))
        elif length == 1:
            values.append(u8(image.read_uint8()))
        elif length == 2:
            write_i16_le(values, read_i16_le(image.data, image.take(2)))
        else:
            write_i32_le(values, i32(self._reader.read_word(image)))


@final
class YearBuilder(FixedWidthBuilder):
    """YEAR becomes uint16."""

    def __init__(self, kind: pa.DataType, reader: YearReader) -> None:
        """Read years with `reader`."""
        super().__init__(kind)
        self._reader = reader

    def append(self, image: PayloadReader) -> None:
        """Append the year, 0 or 1901 to 2155, as two bytes."""
        write_i16_le(self._values, i16(self._reader.read_year(image)))


@final
class UnsignedBuilder(FixedWidthBuilder):
    """BIT, and ENUM and SET without labels in the log: their bytes become 64 bits."""

    def __init__(self, kind: pa.DataType, length: i64, *, big_endian: bool) -> None:
        """Read unsigned numbers of `length` bytes."""
        super().__init__(kind)
        self._length: i64 = length
        self._big_endian = big_endian

    def append(self, image: PayloadReader) -> None:
        """Append the number in eight bytes; BIT is big-endian in the row."""
        values = self._values
        data = image.data
        length = self._length
        start = image.take(length)
        number: i64 = 0
        while number < length:
            at = start + (length - 1 - number if self._big_endian else number)
            values.append(u8(data[at]))
            number += 1
        while number < 8:
            values.append(u8(0))
            number += 1


@final
class FloatBuilder(FixedWidthBuilder):
    """FLOAT becomes float."""

    def __init__(self, kind: pa.DataType, reader: FloatReader) -> None:
        """Use `reader` for the error of an invalid value."""
        super().__init__(kind)
        self._reader = reader

    def append(self, image: PayloadReader) -> None:
        """Copy 4 bytes; the reader raises for an infinity or NaN."""
        start = image.take(4)
        bits = read_i32_le(image.data, start)
        if i64(bits) & FLOAT_SPECIAL == FLOAT_SPECIAL:
            image.offset = start
            self._reader.read(image)  # raises the error
        write_i32_le(self._values, bits)


@final
class DoubleBuilder(FixedWidthBuilder):
    """DOUBLE becomes double."""

    def __init__(self, kind: pa.DataType, reader: DoubleReader) -> None:
        """Use `reader` for the error of an invalid value."""
        super().__init__(kind)
        self._reader = reader

    def append(self, image: PayloadReader) -> None:
        """Copy 8 bytes; the reader raises for an infinity or NaN."""
        start = image.take(8)
        bits = read_i64_le(image.data, start)
        if bits >> _DOUBLE_FRACTION_BITS & _DOUBLE_SPECIAL == _DOUBLE_SPECIAL:
            image.offset = start
            self._reader.read(image)  # raises the error
        write_i64_le(self._values, bits)


@final
class DecimalBuilder(FixedWidthBuilder):
    """DECIMAL becomes an integer of 128 or 256 bits: the value times 10**scale."""

    def __init__(self, kind: pa.DataType, reader: DecimalReader) -> None:
        """Read numbers with `reader`, which knows the precision and scale."""
        super().__init__(kind)
        self._reader = reader
        self._width: i64 = kind.byte_width

    def append(self, image: PayloadReader) -> None:
        """Append the unscaled number in 16 or 32 bytes, little-endian."""
        self._reader.put_unscaled(image, self._values, self._width)

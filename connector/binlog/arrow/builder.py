"""Values of a column are written to memory in Arrow's layout, without Python objects.

::

    validity         a bit for each row, the lowest first, 0 for null; none if nothing is null
    fixed width      the values, little-endian; zeros for null
    variable width   32 or, in large types, 64 bits for the start of each value and the end of the
                     last one │ the values' bytes

A builder reads its values from a row image, and moves the cursor past them as the column's reader
does. Both give the same value for the same bytes. For bytes that are not a value of the type, the
builder calls the reader, which raises the error.

The builders of numbers are here, too; for most of them, the bytes are the same.

https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import pyarrow as pa
from librt.strings import (
    BytesWriter,
    read_i16_le,
    read_i32_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from mypy_extensions import i16, i32, i64, mypyc_attr, u8

from connector.binlog import argument_errors
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors.kinds import DecodeError

if TYPE_CHECKING:
    from connector.binlog.columns.decimal import DecimalReader
    from connector.binlog.columns.floats import DoubleReader, FloatReader
    from connector.binlog.columns.integers import IntegerReader, YearReader


# mypyc needs this name at runtime, because a base class comes from this module.


_INT16_BYTES: Final = 2
_INT32_BYTES: Final = 4
_INT64_BYTES: Final = 8
_ALL_VALID: Final = b"\xff"
_OFFSET_MAX: Final = 2**31 - 1


@mypyc_attr(native_class=False)
class ArrowValueError(DecodeError):
    """A value is valid, but the column's Arrow type cannot hold it."""


class ArrayBuilder:
    """Collects the values of one column."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._nulls = BytesWriter()  # numbers of the null rows, as 64-bit integers

    def append(self, image: PayloadReader) -> None:
        """Read a value that is not NULL.

        Raises DecodeError for bytes that are not a value of the column, ArrowValueError for a value
        that the Arrow type cannot hold.
        """
        raise NotImplementedError

    def append_null(self, row: i64) -> None:
        """Add a NULL as row number `row` of the array, counted from 0."""
        write_i64_le(self._nulls, row)
        self.append_nothing()

    def size(self) -> i64:
        """Return how many bytes are held."""
        return len(self._nulls) + self._size()

    def finish(self, rows: i64) -> pa.Array:
        """Return an array of that many rows, and begin a new one."""
        nulls = self._nulls.getvalue()
        self._nulls = BytesWriter()
        return self._finish(rows, _validity(nulls, rows), len(nulls) >> 3)

    def append_nothing(self) -> None:
        """Append the filler for a null value; its content does not matter."""
        raise NotImplementedError

    def _size(self) -> i64:
        """Return how many bytes are held beside the numbers of the null rows."""
        raise NotImplementedError

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        raise NotImplementedError


class FixedWidthBuilder(ArrayBuilder):
    """Collects values of a fixed width; the subclass reads the values of its column type."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._values = BytesWriter()
        self._nothing = bytes(kind.bit_width // 8)

    def append_int64(self, value: i64) -> None:
        """Append a value of eight bytes, little-endian."""
        write_i64_le(self._values, value)

    def append_nothing(self) -> None:
        self._values.write(self._nothing)

    def _size(self) -> i64:
        return len(self._values)

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        values = self._values.getvalue()
        self._values = BytesWriter()
        return array_of(self.kind, rows, [validity, values], nulls)


class VariableWidthBuilder(ArrayBuilder):
    """Collects texts or bytes; the subclass reads the values of its column type."""

    def __init__(self, kind: pa.DataType) -> None:
        """Begin an array of string, binary, large_string or large_binary."""
        super().__init__(kind)
        self._large: bool = kind in (pa.large_string(), pa.large_binary())
        self._values = BytesWriter()
        self._offsets = BytesWriter()
        self.end_value()

    def append_bytes(self, value: bytes) -> None:
        """Append a value in the form of the array: UTF-8 for text."""
        self._values.write(value)
        self.end_value()

    def append_nothing(self) -> None:
        self.end_value()

    def end_value(self) -> None:
        """Store the end offset of the value that was written last."""
        end: i64 = len(self._values)
        if self._large:
            write_i64_le(self._offsets, end)
        elif end > _OFFSET_MAX:
            raise ArrowValueError(argument_errors.BATCH_TOO_LARGE)
        else:
            write_i32_le(self._offsets, i32(end))

    def _size(self) -> i64:
        return len(self._offsets) + len(self._values)

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        offsets = self._offsets.getvalue()
        values = self._values.getvalue()
        self._offsets = BytesWriter()
        self._values = BytesWriter()
        self.end_value()
        return array_of(self.kind, rows, [validity, offsets, values], nulls)


def array_of(
    kind: pa.DataType,
    rows: int,
    buffers: list[bytes | None],
    nulls: int,
    children: list[pa.Array] | None = None,
) -> pa.Array:
    """Return an array over `buffers`, validity first, without a copy."""
    views = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.Array.from_buffers(kind, rows, views, nulls, 0, children)


def _validity(nulls: bytes, rows: i64) -> bytes | None:
    """Return the validity bitmap of an array whose null rows are `nulls`."""
    if not nulls:
        return None
    bitmap = BytesWriter()
    bitmap.write(_ALL_VALID * ((rows + 7) >> 3))
    at: i64 = 0
    while at < len(nulls):
        row = read_i64_le(nulls, at)
        byte: i64 = i64(bitmap[row >> 3])
        bitmap[row >> 3] = u8(byte & ~(1 << (row & 7)) & 0xFF)
        at += _INT64_BYTES
    return bitmap.getvalue()


# The exponent of an infinity or NaN, which no server stores; in a DOUBLE it is above 52 bits.
FLOAT_SPECIAL: Final = 0x7F80_0000
_DOUBLE_SPECIAL: Final = 0x7FF
_DOUBLE_FRACTION_BITS: Final = 52


@final
class IntegerBuilder(FixedWidthBuilder):
    """TINYINT to BIGINT; the three bytes of a MEDIUMINT become four."""

    def __init__(self, kind: pa.DataType, reader: IntegerReader) -> None:
        super().__init__(kind)
        self._reader = reader
        self._length: i64 = reader.length

    def append(self, image: PayloadReader) -> None:
        """Copy the bytes of the integer; a MEDIUMINT keeps its sign."""
        values = self._values
        length = self._length
        if length == _INT32_BYTES:
            write_i32_le(values, read_i32_le(image.data, image.take(4)))
        elif length == _INT64_BYTES:
            write_i64_le(values, read_i64_le(image.data, image.take(8)))
        elif length == 1:
            values.append(u8(image.read_uint8()))
        elif length == _INT16_BYTES:
            write_i16_le(values, read_i16_le(image.data, image.take(2)))
        else:
            write_i32_le(values, i32(self._reader.read_word(image)))


@final
class YearBuilder(FixedWidthBuilder):
    """YEAR becomes uint16."""

    def __init__(self, kind: pa.DataType, reader: YearReader) -> None:
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
        while number < _INT64_BYTES:
            values.append(u8(0))
            number += 1


@final
class FloatBuilder(FixedWidthBuilder):
    """FLOAT becomes float."""

    def __init__(self, kind: pa.DataType, reader: FloatReader) -> None:
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

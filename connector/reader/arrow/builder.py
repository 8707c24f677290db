"""Values of a column are written to memory in Arrow's layout, without Python objects.

::

    validity         a bit for each row, the lowest first, 0 for null; none if nothing is null
    fixed width      the values, little-endian; zeros for null
    variable width   32 or, in large types, 64 bits for the start of each value and the end of the
                     last one │ the values' bytes

A builder reads its values from a row image, and moves the cursor past them as the column's reader
does. Both give the same value for the same bytes. For bytes that are not a value of the type, the
builder calls the reader, which raises the error.

https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from librt.strings import BytesWriter, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, mypyc_attr, u8

from connector.errors import log_arrow

# mypyc needs this name at runtime, because a base class comes from this module.
from connector.errors.decode_errors import DecodeError

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

_PLACE_BYTES: Final = 8
_ALL_VALID: Final = b"\xff"
_OFFSET_MAX: Final = 2**31 - 1


@mypyc_attr(native_class=False)
class NoArrowForm(DecodeError):
    """A value is valid, but the column's Arrow type cannot hold it."""


class ArrayBuilder:
    """Collects the values of one column."""

    def __init__(self, kind: pa.DataType) -> None:
        """Begin an array of a type."""
        self.kind = kind
        self._nulls = BytesWriter()  # numbers of the null rows, as 64-bit integers

    def append(self, image: PayloadReader) -> None:
        """Read a value that is not NULL.

        Raises DecodeError for bytes that are not a value of the column, NoArrowForm for a value
        that the Arrow type cannot hold.
        """
        raise NotImplementedError

    def append_null(self, row: i64) -> None:
        """Add a NULL as row number `row` of the array, counted from 0."""
        write_i64_le(self._nulls, row)
        self.append_nothing()

    def finish(self, rows: i64) -> pa.Array:
        """Return an array of that many rows, and begin a new one."""
        nulls = self._nulls.getvalue()
        self._nulls = BytesWriter()
        return self._finish(rows, _validity(nulls, rows), len(nulls) >> 3)

    def append_nothing(self) -> None:
        """Append the filler for a null value; its content does not matter."""
        raise NotImplementedError

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        raise NotImplementedError


class FixedWidthBuilder(ArrayBuilder):
    """Collects values of a fixed width; the subclass reads the values of its column type."""

    def __init__(self, kind: pa.DataType) -> None:
        """Begin an array of a type whose values are of one width."""
        super().__init__(kind)
        self._values = BytesWriter()
        self._nothing = bytes(kind.bit_width // 8)

    def append_int64(self, value: i64) -> None:
        """Append a value of eight bytes, little-endian."""
        write_i64_le(self._values, value)

    def append_nothing(self) -> None:
        """Append zeros of the type's width."""
        self._values.write(self._nothing)

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
        """Append an empty value."""
        self.end_value()

    def end_value(self) -> None:
        """Store the end offset of the value that was written last."""
        end: i64 = len(self._values)
        if self._large:
            write_i64_le(self._offsets, end)
        elif end > _OFFSET_MAX:
            raise NoArrowForm(log_arrow.BATCH_TOO_LARGE)
        else:
            write_i32_le(self._offsets, i32(end))

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
        at += _PLACE_BYTES
    return bitmap.getvalue()

"""BIT, ENUM and SET: numbers that stand for bits and labels.

::

    BIT(n)   big-endian, as many bytes as n bits need
    ENUM     little-endian index of 1 or 2 bytes; 1 is the first label, 0 the error value ''
    SET      little-endian mask of 1 to 8 bytes; bit 0 is the first label
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.columns.column_reader import ColumnReader, PrintedReader
from connector.binlog.columns.values import EnumIndex
from connector.codec.digits import put_ascii, put_uint
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value
    from connector.codec.payload import PayloadReader

_BITS_MAX: Final = 64
_WORD_LENGTH: Final = 8
_ENUM_LENGTHS = (1, 2)
_SET_LENGTHS = range(1, 9)


def bit_reader(column: Column) -> BitReader:
    """Return what reads a BIT(n)."""
    bits = column.length
    assert bits is not None
    return BitReader(bits)


def enum_reader(column: Column) -> EnumReader:
    """Return what reads an ENUM."""
    return EnumReader(column.stored_length, column.labels or [])


def set_reader(column: Column) -> SetReader:
    """Return what reads a SET."""
    return SetReader(column.stored_length, column.labels)


@final
class BitReader(PrintedReader):
    """A BIT(n) as the unsigned number that it is."""

    __slots__ = ("_length",)

    def __init__(self, bits: int) -> None:
        """Raise DecodeError for a number of `bits` that no server allows."""
        if not 0 < bits <= _BITS_MAX:
            raise DecodeError(log_values.BIT_LENGTH, length=bits)
        self._length: i64 = (bits + 7) // 8

    def read(self, image: PayloadReader) -> Value:
        """Return the number."""
        if self._length < _WORD_LENGTH:
            return int(image.read_big(self._length))
        return int.from_bytes(image.read_bytes(self._length), "big")

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number."""
        if self._length < _WORD_LENGTH:
            put_uint(out, image.read_big(self._length))
        else:
            put_ascii(out, str(self.read(image)))

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(self._length)


@final
class EnumReader(ColumnReader):
    """An ENUM as its label; index 0 is the empty string."""

    __slots__ = ("labels", "length")

    def __init__(self, length: int, labels: list[str]) -> None:
        """Read indexes of `length` bytes; raise DecodeError when none has as many."""
        if length not in _ENUM_LENGTHS:
            raise DecodeError(log_values.ENUM_LENGTH, length=length)
        self.length: i64 = length  # of an index
        self.labels = ["", *labels]  # by index

    def read(self, image: PayloadReader) -> Value:
        """Return the label; an index without one stays a number."""
        index = self.read_index(image)
        labels = self.labels
        return labels[index] if index < len(labels) else EnumIndex(index)

    def read_index(self, image: PayloadReader) -> i64:
        """Return the index, and move behind it."""
        return image.read_uint8() if self.length == 1 else image.read_uint16()

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(self.length)


@final
class SetReader(ColumnReader):
    """A SET as its labels with commas; without labels, as mask."""

    __slots__ = ("_length", "labels")

    def __init__(self, length: int, labels: list[str] | None) -> None:
        """Read masks of `length` bytes; raise DecodeError when none has as many."""
        if length not in _SET_LENGTHS:
            raise DecodeError(log_values.SET_LENGTH, length=length)
        self._length: i64 = length
        self.labels = labels  # by bit

    def read(self, image: PayloadReader) -> Value:
        """Return the labels, or the mask.

        Raises DecodeError for a bit that has no label.
        """
        mask = self.read_mask(image)
        labels = self.labels
        if labels is None:
            return mask
        return ",".join([label for bit, label in enumerate(labels) if mask >> bit & 1])

    def read_mask(self, image: PayloadReader) -> int:
        """Return the mask, and move behind it.

        Raises DecodeError for a bit that has no label, unless labels are not known at all.
        """
        mask = image.read_uint(self._length)
        labels = self.labels
        if labels is not None and mask >> len(labels):
            raise DecodeError(log_values.SET_BIT, count=len(labels))
        return mask

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(self._length)

"""Columns that are stored as integers: TINYINT to BIGINT, YEAR, BIT, ENUM and SET.

::

    TINYINT … BIGINT, YEAR   little-endian, 1, 2, 3, 4 or 8 bytes
    BIT(n)                   big-endian, as many bytes as n bits need
    ENUM                     little-endian index of 1 or 2 bytes; 1 is the first label, 0 the
                             error value ''
    SET                      little-endian mask of 1 to 8 bytes; bit 0 is the first label

The row does not say whether a column is unsigned: the table map's SIGNEDNESS does.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog import value_errors
from connector.binlog.columns import column
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import put_ascii, put_int, put_uint, put_uint64
from connector.foundation.errors import DecodeError

_YEAR_BASE: Final = 1900
_WORD_RANGE: Final = 1 << 64


@final
class IntegerReader(column.PrintedReader):
    """An integer of 1, 2, 3, 4 or 8 bytes."""

    __slots__ = ("length", "unsigned")

    def __init__(self, length: i64, unsigned: bool) -> None:
        self.length: i64 = length
        self.unsigned = unsigned

    def read(self, image: PayloadReader) -> column.Value:
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
        image.skip(self.length)


@final
class YearReader(column.PrintedReader):
    """A YEAR: the years since 1900, and 0 for the year 0000."""

    __slots__ = ()

    def read(self, image: PayloadReader) -> column.Value:
        return int(self.read_year(image))

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the year; the year 0000 becomes the number 0."""
        put_uint(out, self.read_year(image))

    def read_year(self, image: PayloadReader) -> i64:
        """Return the year as a native number, 0 or 1901 to 2155."""
        stored = image.read_uint8()
        return stored + _YEAR_BASE if stored else 0

    def skip(self, image: PayloadReader) -> None:
        image.skip(1)


_BITS_MAX: Final = 64
_WORD_LENGTH: Final = 8
_ENUM_LENGTHS = (1, 2)
_SET_LENGTHS = range(1, 9)


@final
class BitReader(column.PrintedReader):
    """A BIT(n), read as an unsigned number."""

    __slots__ = ("_length",)

    def __init__(self, bits: int) -> None:
        """Raise DecodeError for a number of `bits` that no server allows."""
        if not 0 < bits <= _BITS_MAX:
            raise DecodeError(value_errors.BIT_LENGTH, length=bits)
        self._length: i64 = (bits + 7) // 8

    def read(self, image: PayloadReader) -> column.Value:
        if self._length < _WORD_LENGTH:
            return int(image.read_big(self._length))
        return int.from_bytes(image.read_bytes(self._length), "big")

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        if self._length < _WORD_LENGTH:
            put_uint(out, image.read_big(self._length))
        else:
            put_ascii(out, str(self.read(image)))

    def skip(self, image: PayloadReader) -> None:
        image.skip(self._length)


class EnumReader(column.ColumnReader):
    """An ENUM as its label; index 0 is the empty string."""

    __slots__ = ("labels", "length")

    def __init__(self, length: int, labels: list[str]) -> None:
        """Read indexes of `length` bytes; raise DecodeError when none has as many."""
        if length not in _ENUM_LENGTHS:
            raise DecodeError(value_errors.ENUM_LENGTH, length=length)
        self.length: i64 = length  # by index
        self.labels = ["", *labels]  # by index

    def read(self, image: PayloadReader) -> column.Value:
        """Return the label; return the number of an index without a label as `EnumIndex`."""
        index = self.read_index(image)
        labels = self.labels
        return labels[index] if index < len(labels) else column.EnumIndex(index)

    def read_index(self, image: PayloadReader) -> i64:
        """Return the index, and move past it."""
        return image.read_uint8() if self.length == 1 else image.read_uint16()

    def skip(self, image: PayloadReader) -> None:
        image.skip(self.length)


class SetReader(column.ColumnReader):
    """A SET as its labels with commas; without labels, as mask."""

    __slots__ = ("_length", "labels")

    def __init__(self, length: int, labels: list[str] | None) -> None:
        """Read masks of `length` bytes; raise DecodeError when none has as many."""
        if length not in _SET_LENGTHS:
            raise DecodeError(value_errors.SET_LENGTH, length=length)
        self._length: i64 = length
        self.labels = labels  # by bit

    def read(self, image: PayloadReader) -> column.Value:
        """Return the labels, or the mask.

        Raises DecodeError for a bit that has no label.
        """
        mask = self.read_mask(image)
        labels = self.labels
        if labels is None:
            return mask
        return ",".join([label for bit, label in enumerate(labels) if mask >> bit & 1])

    def read_mask(self, image: PayloadReader) -> int:
        """Return the mask, and move past it.

        Raises DecodeError for a bit that has no label, unless labels are not known at all.
        """
        mask = image.read_uint(self._length)
        labels = self.labels
        if labels is not None and mask >> len(labels):
            raise DecodeError(value_errors.SET_BIT, count=len(labels))
        return mask

    def skip(self, image: PayloadReader) -> None:
        image.skip(self._length)

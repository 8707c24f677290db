"""The values of row images as `mysqlbinlog -vv` prints them; one writer for each column.

Numbers are written in full, dates as in SQL, and members of ENUM and SET as labels if known.
"""

from collections.abc import Callable
from typing import Any, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns import integers
from connector.binlog.columns.cell_writers import (
    CellWriter,
    DoubleWriter,
    EnumWriter,
    NumberWriter,
    QuotedWriter,
    SetWriter,
)
from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    Column,
    ColumnReader,
    Family,
    PrintedReader,
)
from connector.binlog.columns.strings import CharacterReader, GeometryReader, StringReader
from connector.binlog.columns.temporal import TimestampReader
from connector.binlog.columns.time_text import fraction_length, put_fraction
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import QUOTE, quoted_text
from connector.binlog.text_writer import put_ascii, put_int, put_padded, put_uint, put_uint64
from connector.logs.dump.text import string_values

_ZERO: Final = 48
_YEAR_DIGITS: Final = 4
_SECONDS_LENGTH: Final = 4
_BYTE_BITS: Final = 8
_WORD_BITS: Final = 64


def value_writer(column: Column, reader: ColumnReader, *, signs: bool) -> CellWriter:
    """Return the writer for the values of `column`, which `reader` reads.

    `signs` says whether the log has the signs of its columns.
    """
    if isinstance(reader, integers.IntegerReader) and not signs:
        return _UnknownSignText(reader)
    family = column.family
    assert family is not None
    return TEXTS[family](column, reader)


@final
class _UnknownSignText(CellWriter):
    """Integers without a known sign: both readings of a negative number are shown."""

    __slots__ = ("_bits", "_reader")

    def __init__(self, reader: integers.IntegerReader) -> None:
        self._reader = reader
        self._bits: i64 = reader.length * _BYTE_BITS

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        value = self._reader.read_word(image)
        put_int(out, value)
        if value < 0:
            out.write(b" (")
            if self._bits < _WORD_BITS:
                modulus: i64 = 1  # in C, a literal would be shifted in 32 bits
                modulus <<= self._bits
                value += modulus
            put_uint64(out, value)
            out.write(b")")


@final
class _YearText(CellWriter):
    """YEAR, in four digits."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: integers.YearReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_padded(out, self._reader.read_year(image), _YEAR_DIGITS)


@final
class _EpochText(CellWriter):
    """TIMESTAMP(f): the seconds since the epoch, with the digits of the column."""

    __slots__ = ("_digits",)

    def __init__(self, digits: int) -> None:
        self._digits: i64 = digits

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_uint(out, image.read_big(_SECONDS_LENGTH))
        digits = self._digits
        if digits:
            put_fraction(out, image.read_big(fraction_length(digits)), digits)


@final
class _OldEpochText(CellWriter):
    """TIMESTAMP as servers before 5.6 store it: the seconds since the epoch."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_uint(out, image.read_uint32())


@final
class BitText(CellWriter):
    """So many binary digits: a BIT, or the bytes of a SET as they are stored."""

    __slots__ = ("_bits",)

    def __init__(self, bits: int) -> None:
        self._bits: i64 = bits

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        length = (self._bits + 7) >> 3
        at = image.take(length)
        data = image.data
        out.write(b"b'")
        left = length * _BYTE_BITS
        started = False
        while left:
            left -= 1
            octet: i64 = data[at + length - 1 - (left >> 3)]
            bit = octet >> (left & 7) & 1
            # Bits above the n-th are 0 in every log of a server.
            started = started or bit != 0 or left < self._bits
            if started:
                out.append(u8(_ZERO + bit))
        out.append(u8(QUOTE))


@final
class _GeometryText(CellWriter):
    """A geometry of any kind: its reference system and its Well-Known Binary."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        out.write(b"SRID ")
        put_uint(out, stored.read_uint32())
        out.write(b" X'")
        put_ascii(out, stored.read_rest().hex())
        out.append(u8(QUOTE))


def _timestamp(column: Column, reader: PrintedReader) -> CellWriter:
    if isinstance(reader, TimestampReader):
        return _OldEpochText()
    return _EpochText(column.metadata)


def _string(_: Column, reader: CharacterReader) -> CellWriter:
    if isinstance(reader, StringReader):
        if reader.utf8:
            return string_values.Utf8Text(reader)
        if reader.binary:
            return string_values.BytesText(reader)
    return string_values.CharsetText(reader)


def _enum(_: Column, reader: integers.EnumReader) -> CellWriter:
    return EnumWriter(reader, [quoted_text(label).encode() for label in reader.labels])


def _set(column: Column, reader: integers.SetReader) -> CellWriter:
    labels = reader.labels
    if labels is None:
        return BitText(column.stored_length * _BYTE_BITS)
    return SetWriter(reader, [quoted_text(label)[1:-1].encode() for label in labels], QUOTE)


def bits(column: Column, _: object) -> CellWriter:
    """Return the writer of a BIT."""
    return BitText(column.length or 0)


def in_quotes(_: Column, reader: PrintedReader) -> CellWriter:
    """Return the writer of what needs no escape, like dates and times."""
    return QuotedWriter(None, reader, QUOTE)


# Any stands for the reader of the family.
TEXTS: Final[dict[Family, Callable[[Column, Any], CellWriter]]] = {
    **dict.fromkeys(INTEGERS, NumberWriter),
    **dict.fromkeys(CHARACTERS, _string),
    **dict.fromkeys(BINARIES, _string),
    **dict.fromkeys(PRINTED, in_quotes),
    Family.DECIMAL: NumberWriter,
    Family.FLOAT: NumberWriter,
    Family.DOUBLE: DoubleWriter,
    Family.BIT: bits,
    Family.ENUM: _enum,
    Family.SET: _set,
    Family.TIMESTAMP: _timestamp,
    Family.YEAR: _YearText,
    Family.JSON: string_values.DocumentText,
    Family.GEOMETRY: _GeometryText,
    Family.VECTOR: NumberWriter,
}

"""Readers of the cells of a SELECT, so that the writers of row images write them, too.

A cell has no length before it: the image of a reader ends where the cell does. The SELECT of
`source.selected_table` decides the form of the cells: ENUM and SET are numbers, unless their labels
are uncertain; FLOAT is a DOUBLE with all digits; strings, bits, geometries and vectors are stored
bytes; all others are printed by the server, TIMESTAMP in UTC.
"""

from collections.abc import Callable
from typing import Final, final

from librt.strings import BytesWriter, write_f32_le
from mypy_extensions import i64, u8

from connector.binlog.columns import floats
from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    ColumnReader,
    Family,
    PrintedReader,
)
from connector.binlog.columns.integers import BitReader, EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, GeometryReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import put_utf8
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.envelope.cells.writers import not_text, put_slice, require_form

_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D
_POINT: Final = 0x2E

# Of 15 digits or fewer no two texts read back to the same double, and the server prints those.
_DOUBLE_DIGITS: Final = 15
_SRID_LENGTH: Final = 4
_FLOAT_LENGTH: Final = 4


class TextReader(PrintedReader):
    """A cell that has its form already: DATE, DATETIME, TIMESTAMP and TIME."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the cell."""
        put_slice(out, image.data, image.offset, image.end)
        image.offset = image.end


@final
class DigitsReader(TextReader):
    """TINYINT to BIGINT, DECIMAL and YEAR: their digits, except for leading zeros."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the cell without the zeros of ZEROFILL and of the year 0000."""
        data = image.data
        end = image.end
        at = image.offset
        if at < end and data[at] == _ZERO:
            at = _without_zeros(data, at, end)
        put_slice(out, data, at, end)
        image.offset = end


def _without_zeros(data: bytes, start: i64, end: i64) -> i64:
    at = start
    while at + 1 < end and data[at] == _ZERO:
        following: i64 = data[at + 1]
        if following < _ZERO or following > _NINE:
            break
        at += 1
    return at


@final
class DoubleTextReader(PrintedReader):
    """DOUBLE: the server prints the shortest digits that read back; the form changes slightly."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the shortest digits that read back to the same 64 bits."""
        data = image.data
        start = image.offset
        end = image.end
        image.offset = end
        at = start
        if data[at] == _MINUS:
            at += 1
        # Digits, and perhaps a point between them: not 007, 0.00x, or anything with an exponent.
        if at < end and end - at <= _DOUBLE_DIGITS and data[at] != _ZERO:
            points: i64 = 0
            while at < end:
                byte: i64 = data[at]
                if byte == _POINT:
                    points += 1
                elif byte < _ZERO or byte > _NINE:
                    break
                at += 1
            if at == end:
                put_slice(out, data, start, end)
                if not points:
                    out.append(u8(_POINT))
                    out.append(u8(_ZERO))
                return
        floats.put_float64(out, floats.require_finite(float(data[start:end])))


@final
class FloatTextReader(PrintedReader):
    """FLOAT, which comes as the DOUBLE of the same value."""

    __slots__ = ("_stored",)

    def __init__(self) -> None:
        self._stored = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the shortest digits that read back to the same 32 bits."""
        stored = self._stored
        stored.truncate(0)
        write_f32_le(stored, floats.require_finite(float(image.read_rest())))
        floats.put_float32(out, stored.getvalue(), 0)


@final
class StoredReader(CharacterReader):
    """Characters or bytes, as they are stored; also labels as text."""

    __slots__ = ()

    def __init__(self, charset: str | None) -> None:
        """Read text in `charset`, or bytes without one."""
        super().__init__(charset, 0, exact=False)

    def read_bytes(self, image: PayloadReader) -> bytes:
        return image.read_rest()


@final
class TextDocumentReader(DocumentReader):
    """JSON, as its text."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        """Read documents of column `name`."""
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text."""
        put_slice(out, image.data, image.offset, image.end)

    def put_in_string(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text, escaped; raise UnsupportedChange if it is not UTF-8."""
        if not put_utf8(out, image.data, image.offset, image.end):
            raise not_text(self._name)


@final
class EnumNumberReader(EnumReader):
    """ENUM, sent as its index; 0 is the empty string."""

    __slots__ = ()

    def __init__(self, labels: list[str]) -> None:
        super().__init__(1, labels)

    def read_index(self, image: PayloadReader) -> i64:
        """Return the unsigned number of a few digits."""
        value: i64 = 0
        at = image.offset
        while at < image.end:
            byte: i64 = image.data[at]
            value = value * 10 + (byte - _ZERO)
            at += 1
        return value


@final
class SetNumberReader(SetReader):
    """SET, sent as its mask."""

    __slots__ = ("_name",)

    def __init__(self, labels: list[str], name: str) -> None:
        super().__init__(1, labels)
        self._name = name

    def read_mask(self, image: PayloadReader) -> int:
        """Return the mask; raise UnsupportedChange for a bit without a label."""
        mask = int(image.data[image.offset : image.end])
        labels = self.labels
        assert labels is not None
        if mask >> len(labels):
            raise not_text(self._name)
        return mask


@final
class SelectedGeometryReader(GeometryReader):
    """A geometry in its stored form: SRID u32, WKB."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        super().__init__(0)
        self._name = name

    def read_stored(self, image: PayloadReader) -> PayloadReader:
        """Return the value's SRID and WKB; raise UnsupportedChange below 4 bytes."""
        length = image.end - image.offset
        if length < _SRID_LENGTH:
            raise UnsupportedChange(record_errors.GEOMETRY_SIZE, column=self._name, length=length)
        return super().read_stored(image)


@final
class SelectedVectorReader(PrintedReader):
    """VECTOR in its stored form: 32-bit floats, little-endian."""

    __slots__ = ("_name", "_stored")

    def __init__(self, name: str) -> None:
        self._name = name
        self._stored = floats.VectorReader(0)

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an array of numbers; raise UnsupportedChange for an incomplete float."""
        length = image.end - image.offset
        if length % _FLOAT_LENGTH:
            raise UnsupportedChange(record_errors.VECTOR_SIZE, column=self._name, length=length)
        self._stored.put(image, out)


def selected_reader(column: SchemaColumn) -> ColumnReader:
    """Return the reader for the cells of `column`.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    require_form(column)
    return READERS[column["type"]](column)


def _labels(column: SchemaColumn) -> ColumnReader:
    if has_uncertain_labels(column):
        return StoredReader("utf8mb4")
    labels = column.get("labels", [])
    if column["type"] == Family.ENUM:
        return EnumNumberReader(labels)
    return SetNumberReader(labels, column["name"])


def _text(column: SchemaColumn) -> ColumnReader:
    return StoredReader(column.get("charset", ""))


def _bytes(_: SchemaColumn) -> ColumnReader:
    return StoredReader(None)


def _digits(_: SchemaColumn) -> ColumnReader:
    return DigitsReader()


def _printed(_: SchemaColumn) -> ColumnReader:
    return TextReader()


READERS: Final[dict[str, Callable[[SchemaColumn], ColumnReader]]] = {
    **dict.fromkeys(INTEGERS, _digits),
    **dict.fromkeys(CHARACTERS, _text),
    **dict.fromkeys(BINARIES, _bytes),
    **dict.fromkeys(PRINTED, _printed),
    Family.DECIMAL: _digits,
    Family.FLOAT: lambda _: FloatTextReader(),
    Family.DOUBLE: lambda _: DoubleTextReader(),
    Family.BIT: lambda column: BitReader(column.get("length", 1)),
    Family.ENUM: _labels,
    Family.SET: _labels,
    Family.YEAR: _digits,
    Family.JSON: lambda column: TextDocumentReader(column["name"]),
    Family.GEOMETRY: lambda column: SelectedGeometryReader(column["name"]),
    Family.VECTOR: lambda column: SelectedVectorReader(column["name"]),
}

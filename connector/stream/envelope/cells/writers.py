"""Cells become text, JSON above all, without Python values; one writer for each column.

A reader knows where a value comes from: `binlog.columns` reads row images of the log, `selected`
the cells of a SELECT. The family of the column chooses the writer, which is the same for both.
Numbers, dates and times, and documents have the server's printed form; text, binary strings,
labels and geometries have their characters or bytes. The forms are those of
`contract.COLUMN_TYPES`.
"""

from collections.abc import Callable
from typing import Any, Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import (
    CellWriter,
    DocumentWriter,
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
    ColumnReader,
    Family,
    PrintedReader,
)
from connector.binlog.columns.integers import BitReader, EnumReader, SetReader
from connector.binlog.columns.strings import CharacterReader, CompressedReader, GeometryReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_uint, put_utf8, quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors

_CLOSE: Final = 0x7D


def exact_writer(column: SchemaColumn, reader: ColumnReader) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    require_form(column)
    return EXACT[column["type"]](column, reader)


def require_form(column: SchemaColumn) -> None:
    """Raise UnsupportedChange for a type that the envelope cannot hold."""
    if column["type"] not in EXACT:
        raise UnsupportedChange(record_errors.NO_FORM, column=column["name"], type=column["type"])


def not_text(column: str) -> UnsupportedChange:
    """Return the refusal of a value that is bytes, or a number, where text should be."""
    return UnsupportedChange(record_errors.NOT_TEXT, column=column)


_DATE_LENGTH: Final = 10
_T: Final = 0x54
_Z: Final = 0x5A


@final
class TimestampWriter(CellWriter):
    """TIMESTAMP, which is printed in UTC."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append `YYYY-MM-DDThh:mm:ss[.ffffff]Z` in quotes."""
        out.append(u8(QUOTE))
        start: i64 = len(out)
        self._reader.put(image, out)
        out[start + _DATE_LENGTH] = u8(_T)
        out.append(u8(_Z))
        out.append(u8(QUOTE))


@final
class FlagWriter(CellWriter):
    """BIT(1)."""

    __slots__ = ("_reader",)

    def __init__(self, reader: BitReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(b"true" if self._reader.read(image) else b"false")


@final
class Utf8Writer(CellWriter):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_name", "_prefix")

    def __init__(self, column: SchemaColumn, reader: CharacterReader) -> None:
        self._prefix: i64 = reader.prefix
        self._name = column["name"]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text in quotes, escaped."""
        length = image.read_length(self._prefix)
        start = image.take(length)
        out.append(u8(QUOTE))
        if not put_utf8(out, image.data, start, start + length):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class TextWriter(CellWriter):
    """Text in other character sets, or compressed."""

    __slots__ = ("_name", "_reader")

    def __init__(self, column: SchemaColumn, reader: CharacterReader) -> None:
        self._reader = reader
        self._name = column["name"]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text in quotes, escaped."""
        text = self._reader.text_of(self._reader.read_bytes(image))
        if text is None:
            raise not_text(self._name)
        out.write(quoted(text))


@final
class BinaryWriter(CellWriter):
    """Bytes, as base64."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the base64 in quotes."""
        out.append(u8(QUOTE))
        out.write(b64encode(self._reader.read_bytes(image)))
        out.append(u8(QUOTE))


@final
class NoLabelsWriter(CellWriter):
    """SET whose labels are not known: records have no masks."""

    __slots__ = ("_name", "_reader")

    def __init__(self, column: SchemaColumn, reader: SetReader) -> None:
        self._reader = reader
        self._name = column["name"]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:  # noqa: ARG002 - no text
        """Refuse the value."""
        self._reader.read_mask(image)
        raise not_text(self._name)


@final
class GeometryWriter(CellWriter):
    """A geometry of any kind."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an object with the SRID and the base64 of the WKB."""
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        out.write(b'{"wkb":"')
        out.write(b64encode(stored.read_rest()))
        out.write(b'","srid":')
        put_uint(out, srid)
        out.append(u8(_CLOSE))


def _bigint(column: SchemaColumn, reader: PrintedReader) -> CellWriter:
    if column.get("unsigned", False):
        return QuotedWriter(column, reader)
    return NumberWriter(column, reader)


def _bits(column: SchemaColumn, reader: BitReader) -> CellWriter:
    return FlagWriter(reader) if column.get("length") == 1 else QuotedWriter(column, reader)


def _text(column: SchemaColumn, reader: CharacterReader) -> CellWriter:
    if reader.utf8 and not isinstance(reader, CompressedReader):
        return Utf8Writer(column, reader)
    return TextWriter(column, reader)


def quoted_labels(reader: EnumReader) -> list[bytes]:
    """Return the labels of an ENUM as JSON strings."""
    return [quoted(label) for label in reader.labels]


def _labels(column: SchemaColumn, reader: ColumnReader) -> CellWriter:
    if isinstance(reader, EnumReader):
        return EnumWriter(reader, quoted_labels(reader), b'{"index":', b"}")
    if isinstance(reader, SetReader):
        labels = reader.labels
        if labels is None:
            return NoLabelsWriter(column, reader)
        return SetWriter(reader, [quoted(label)[1:-1] for label in labels])
    # Uncertain labels of a SELECT come as text.
    assert isinstance(reader, CharacterReader)
    return Utf8Writer(column, reader)


# Any stands for the reader of the family.
EXACT: Final[dict[str, Callable[[SchemaColumn, Any], CellWriter]]] = {
    **dict.fromkeys(INTEGERS, NumberWriter),
    **dict.fromkeys(CHARACTERS, _text),
    **dict.fromkeys(BINARIES, BinaryWriter),
    **dict.fromkeys(PRINTED, QuotedWriter),
    Family.BIGINT: _bigint,
    Family.DECIMAL: QuotedWriter,
    Family.FLOAT: NumberWriter,
    Family.DOUBLE: NumberWriter,
    Family.BIT: _bits,
    Family.ENUM: _labels,
    Family.SET: _labels,
    Family.TIMESTAMP: TimestampWriter,
    Family.YEAR: NumberWriter,
    Family.JSON: DocumentWriter,
    Family.GEOMETRY: GeometryWriter,
    Family.VECTOR: NumberWriter,
}


class TextForm:
    """Another form of a text: it finishes what a reader prints, or the cell of a SELECT."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the JSON of the text in `data[start:end]`.

        Raises UnsupportedChange for a value that the form cannot express.
        """
        raise NotImplementedError


_WORD: Final = 8


def put_slice(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]` without an intermediate object."""
    at = start
    while at + _WORD <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += _WORD
    while at < end:
        byte: i64 = data[at]
        out.append(u8(byte))
        at += 1

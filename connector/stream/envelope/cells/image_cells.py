"""Cells of row images become JSON text without Python values; one writer for each column.

Numbers, dates and times, and documents have the server's printed form; text, binary strings,
labels and geometries have their characters or bytes. The forms are those of `values`.
"""

from typing import Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.column import PrintedReader
from connector.binlog.columns.integers import BitReader, EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, GeometryReader, StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_utf8, quoted
from connector.foundation.contract import SchemaColumn
from connector.stream.envelope.cells.values import not_text, put_geometry, put_label, put_labels


class CellWriter:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Read the cell at the front of `image`, and append its JSON.

        Raises DecodeError, or UnsupportedChange for a value that the envelope cannot hold.
        """
        raise NotImplementedError


_DATE_LENGTH: Final = 10
_T: Final = 0x54
_Z: Final = 0x5A

_NUMBERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "float", "double", "year", "vector"}
)


def printed_writer(column: SchemaColumn, reader: PrintedReader) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` prints."""
    kind = column["type"]
    if kind in _NUMBERS or (kind == "bigint" and not column.get("unsigned", False)):
        return NumberWriter(reader)
    if kind == "timestamp":
        return _TimestampWriter(reader)
    if isinstance(reader, DocumentReader):
        return DocumentWriter(reader)
    if isinstance(reader, BitReader) and column.get("length") == 1:
        return _FlagWriter(reader)
    return QuotedWriter(reader)


@final
class NumberWriter(CellWriter):
    """Numbers whose printed form is a JSON number."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number as it is printed."""
        self._reader.put(image, out)


@final
class QuotedWriter(CellWriter):
    """Digits and signs that are not a JSON number; they need quotes but no escape."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the printed form in quotes."""
        out.append(u8(QUOTE))
        self._reader.put(image, out)
        out.append(u8(QUOTE))


@final
class _TimestampWriter(CellWriter):
    """TIMESTAMP, in UTC."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        start: i64 = len(out)
        self._reader.put(image, out)
        out[start + _DATE_LENGTH] = u8(_T)
        out.append(u8(_Z))
        out.append(u8(QUOTE))


@final
class _FlagWriter(CellWriter):
    """BIT(1)."""

    __slots__ = ("_reader",)

    def __init__(self, reader: BitReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(b"true" if self._reader.read(image) else b"false")


@final
class DocumentWriter(CellWriter):
    """JSON, as a string with the text of the document."""

    __slots__ = ("_reader",)

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text of the document, escaped, in quotes."""
        out.append(u8(QUOTE))
        self._reader.put_in_string(image, out)
        out.append(u8(QUOTE))


_BINARY: Final = ("binary", "varbinary", "blob")


def character_writer(column: SchemaColumn, reader: CharacterReader) -> CellWriter:
    """Return the writer for the cells of `column`, a string of characters or bytes."""
    if column["type"] in _BINARY:
        return _BinaryWriter(reader)
    if isinstance(reader, StringReader) and reader.utf8:
        return _Utf8Writer(reader, column["name"])
    return _TextWriter(reader, column["name"])


@final
class _Utf8Writer(CellWriter):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_name", "_prefix")

    def __init__(self, reader: StringReader, name: str) -> None:
        self._prefix: i64 = reader.prefix
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        length = image.read_length(self._prefix)
        start = image.take(length)
        out.append(u8(QUOTE))
        if not put_utf8(out, image.data, start, start + length):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class _TextWriter(CellWriter):
    """Text in other character sets, or compressed."""

    __slots__ = ("_name", "_reader")

    def __init__(self, reader: CharacterReader, name: str) -> None:
        self._reader = reader
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = self._reader.text_of(self._reader.read_bytes(image))
        if text is None:
            raise not_text(self._name)
        out.write(quoted(text))


@final
class _BinaryWriter(CellWriter):
    """Bytes, as base64."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        out.write(b64encode(self._reader.read_bytes(image)))
        out.append(u8(QUOTE))


@final
class EnumWriter(CellWriter):
    """ENUM: the label, or an index that has no label."""

    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [quoted(label) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the label in quotes, or an object with an index that has no label."""
        put_label(out, self._labels, self._reader.read_index(image))


@final
class SetWriter(CellWriter):
    """SET: the labels, with commas between them."""

    __slots__ = ("_labels", "_name", "_reader")

    def __init__(self, reader: SetReader, name: str) -> None:
        self._reader = reader
        self._name = name
        labels = reader.labels
        self._labels = None if labels is None else [quoted(label)[1:-1] for label in labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append one string with all labels."""
        mask = self._reader.read_mask(image)
        if self._labels is None:
            raise not_text(self._name)
        put_labels(out, self._labels, mask)


@final
class GeometryWriter(CellWriter):
    """A geometry of any kind."""

    __slots__ = ("_reader",)

    def __init__(self, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an object with the SRID and the base64 of the WKB."""
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        put_geometry(out, stored.read_rest(), srid)

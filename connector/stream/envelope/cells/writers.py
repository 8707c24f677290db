"""Cells become text, JSON above all, without Python values; one writer for each column.

A reader knows where a value comes from: `binlog.columns` reads row images of the log, `selected`
the cells of a SELECT. The family of the column chooses the writer, which is the same for both.
Numbers, dates and times, and documents have the server's printed form; text, binary strings,
labels and geometries have their characters or bytes. The forms are those of
`contract.COLUMN_TYPES`. The commands that read logs have forms of their own, by the same interface.
"""

from collections.abc import Callable
from typing import Any, Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_f64_le, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    ColumnReader,
    Family,
    PrintedReader,
)
from connector.binlog.columns.floats import FLOAT64_LENGTH, put_float64_as_python
from connector.binlog.columns.integers import BitReader, EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, CompressedReader, GeometryReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii, put_uint, put_utf8, quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors

_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


class CellWriter:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Read the cell at the front of `image`, and append its text.

        Raises DecodeError, or UnsupportedChange for a value that the form cannot hold; a part of
        the text may be appended then.
        """
        raise NotImplementedError


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


@final
class NumberWriter(CellWriter):
    """Numbers as they are printed."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number as it is printed."""
        self._reader.put(image, out)


@final
class QuotedWriter(CellWriter):
    """Digits and signs that are not a number; they need quotes but no escape."""

    __slots__ = ("_quote", "_reader")

    def __init__(self, _: object, reader: PrintedReader, quote: i64 = QUOTE) -> None:
        self._reader = reader
        self._quote: i64 = quote

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the printed form in quotes."""
        quote = u8(self._quote)
        out.append(quote)
        self._reader.put(image, out)
        out.append(quote)


@final
class DoubleWriter(CellWriter):
    """DOUBLE as Python prints it: with an exponent from 1e+16 on and below 0.0001."""

    __slots__ = ()

    def __init__(self, _: object, __: object) -> None:
        """Need nothing: all have eight bytes."""

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the fewest digits that read back to the same 64 bits."""
        put_float64_as_python(out, read_f64_le(image.data, image.take(FLOAT64_LENGTH)))


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
class DocumentWriter(CellWriter):
    """JSON, as a string with the text of the document."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: DocumentReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text of the document, escaped, in quotes."""
        out.append(u8(QUOTE))
        self._reader.put_in_string(image, out)
        out.append(u8(QUOTE))


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
class EnumWriter(CellWriter):
    """ENUM: the label, or an index that has no label."""

    __slots__ = ("_after", "_before", "_labels", "_reader")

    def __init__(
        self,
        reader: EnumReader,
        labels: list[bytes],
        before: bytes = b"",
        after: bytes | None = b"",
    ) -> None:
        """Write the texts of `labels`, from that of index 0 on.

        An index without one comes between `before` and `after`; if that is None, `before` stands
        for it.
        """
        self._reader = reader
        self._labels = labels
        self._before = before
        self._after = after

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the label, or what stands for an index without one."""
        index = self._reader.read_index(image)
        labels = self._labels
        if index < len(labels):
            out.write(labels[index])
            return
        if self._before:
            out.write(self._before)
        after = self._after
        if after is not None:
            put_uint(out, index)
            if after:
                out.write(after)


@final
class SetWriter(CellWriter):
    """SET: the labels, with commas between them; without labels, the mask."""

    __slots__ = ("_labels", "_name", "_quote", "_reader")

    def __init__(
        self,
        reader: SetReader,
        labels: list[bytes] | None,
        quote: i64 = QUOTE,
        name: str | None = None,
    ) -> None:
        """Write the texts of `labels`, by bit; refuse the masks of a column with a `name`."""
        self._reader = reader
        self._labels = labels
        self._quote: i64 = quote
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append one string with all labels."""
        mask = self._reader.read_mask(image)
        labels = self._labels
        if labels is None:
            if self._name is not None:
                raise not_text(self._name)
            put_ascii(out, str(mask))
            return
        quote = u8(self._quote)
        out.append(quote)
        several = False
        for label in labels:
            if mask & 1:
                if several:
                    out.append(u8(_COMMA))
                out.write(label)
                several = True
            mask >>= 1
        out.append(quote)


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
        texts = None if labels is None else [quoted(label)[1:-1] for label in labels]
        return SetWriter(reader, texts, name=column["name"])
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

"""Cells of row images become JSON without Python values, with one writer for each column.

The forms are those of `values`.
"""

from json.encoder import encode_basestring
from typing import Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import Column, ColumnReader, ColumnType, PrintedReader
from connector.binlog.columns.floats import FLOAT64_LENGTH, DoubleReader, put_float64_as_python
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, GeometryReader, StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii, put_uint, put_utf8
from connector.logs.output import encoded
from connector.stream.envelope.cells import image_cells

_NUMBERS: Final = frozenset(
    {
        ColumnType.TINY,
        ColumnType.SHORT,
        ColumnType.INT24,
        ColumnType.LONG,
        ColumnType.LONGLONG,
        ColumnType.YEAR,
        ColumnType.BIT,
        ColumnType.FLOAT,
        ColumnType.VECTOR,
    }
)


def json_cell(column: Column, reader: ColumnReader) -> image_cells.CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads."""
    if isinstance(reader, DoubleReader):
        return _DoubleCell()
    if isinstance(reader, DocumentReader):
        return image_cells.DocumentWriter(reader)
    if isinstance(reader, PrintedReader):
        is_number = column.real_type in _NUMBERS
        return image_cells.NumberWriter(reader) if is_number else image_cells.QuotedWriter(reader)
    if isinstance(reader, CharacterReader):
        return _character_cell(column, reader)
    if isinstance(reader, EnumReader):
        return _EnumCell(reader)
    if isinstance(reader, SetReader):
        return _SetCell(reader)
    assert isinstance(reader, GeometryReader)
    return _GeometryCell(reader)


def has_unknown_charset(column: Column) -> bool:
    """Return whether the log does not name the character set; before 8.0 none does."""
    return column.collation is None and column.real_type in (
        ColumnType.STRING,
        ColumnType.VARCHAR,
        ColumnType.VAR_STRING,
    )


def _character_cell(column: Column, reader: CharacterReader) -> image_cells.CellWriter:
    if (
        isinstance(reader, StringReader)
        and not reader.pad
        and (reader.utf8 or has_unknown_charset(column))
    ):
        return _Utf8Cell(reader)
    if has_unknown_charset(column):
        return _UnknownCharsetCell(reader)
    return _BytesCell(reader) if reader.binary else _TextCell(reader)


@final
class _DoubleCell(image_cells.CellWriter):
    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_float64_as_python(out, read_f64_le(image.data, image.take(FLOAT64_LENGTH)))


@final
class _Utf8Cell(image_cells.CellWriter):
    """Text that is stored as UTF-8, or is taken for it if the log names no character set."""

    __slots__ = ("_prefix",)

    def __init__(self, reader: StringReader) -> None:
        self._prefix: i64 = reader.prefix

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        length = image.read_length(self._prefix)
        start = image.take(length)
        put_text_or_hex(out, image.data, start, start + length)


@final
class _UnknownCharsetCell(image_cells.CellWriter):
    """Bytes, compressed or filled up, that may be text."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        data = self._reader.read_bytes(image)
        put_text_or_hex(out, data, 0, len(data))


@final
class _TextCell(image_cells.CellWriter):
    """Text in other character sets, or compressed."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        data = self._reader.read_bytes(image)
        text = self._reader.text_of(data)
        if text is None:
            put_hex(out, data)
        else:
            put_string(out, text)


@final
class _BytesCell(image_cells.CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_hex(out, self._reader.read_bytes(image))


@final
class _EnumCell(image_cells.CellWriter):
    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [encoded(encode_basestring(label)) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        index = self._reader.read_index(image)
        labels = self._labels
        if index < len(labels):
            out.write(labels[index])
        else:
            put_uint(out, index)


@final
class _SetCell(image_cells.CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, reader: SetReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        value = self._reader.read(image)
        if isinstance(value, str):
            put_string(out, value)
        else:
            put_ascii(out, str(value))


@final
class _GeometryCell(image_cells.CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        stored.read_uint32()
        put_hex(out, stored.data)


def put_text_or_hex(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]` as text, or as `{"hex":"…"}` if it is not UTF-8."""
    before: i64 = len(out)
    out.append(u8(QUOTE))
    if put_utf8(out, data, start, end):
        out.append(u8(QUOTE))
    else:
        out.truncate(before)
        put_hex(out, data[start:end])


def put_hex(out: BytesWriter, data: bytes) -> None:
    """Append bytes that are not text."""
    out.write(b'{"hex":"')
    put_ascii(out, data.hex())
    out.write(b'"}')


def put_string(out: BytesWriter, text: str) -> None:
    """Append text as a JSON string."""
    out.write(encoded(encode_basestring(text)))

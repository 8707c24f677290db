"""Cells of row images become JSON without Python values; one writer for each family of columns.

::

    integers, YEAR, BIT             numbers
    FLOAT, DOUBLE, VECTOR           the shortest numbers that read back
    DECIMAL, dates and times        text
    characters, ENUM, SET           text; {"hex"} for bytes that are not of the character set, or
                                    not UTF-8 if the log does not name it (CHAR, VARCHAR);
                                    the number of an ENUM or SET whose labels are not known
    BINARY, BLOB, GEOMETRY          {"hex":"…"} of the stored bytes
    JSON                            the document's text; {"json_diff":[…]} for changes of it
"""

from collections.abc import Callable
from contextlib import suppress
from json.encoder import encode_basestring
from typing import Any, Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    Column,
    ColumnReader,
    ColumnType,
    Family,
    JsonDiffs,
)
from connector.binlog.columns.floats import FLOAT64_LENGTH, put_float64_as_python
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader, changed_document
from connector.binlog.columns.strings import CharacterReader, GeometryReader, StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii, put_uint, put_utf8
from connector.logs.dump.json.table_facts import dumps
from connector.logs.output import LARGE, LineOutput, encoded
from connector.stream.envelope.cells.writers import (
    CellWriter,
    DocumentWriter,
    NumberWriter,
    QuotedWriter,
)


def json_cell(column: Column, reader: ColumnReader) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads."""
    family = column.family
    assert family is not None
    return CELLS[family](column, reader)


def has_unknown_charset(column: Column) -> bool:
    """Return whether the log does not name the character set; before 8.0 none does."""
    return column.collation is None and column.real_type in (
        ColumnType.STRING,
        ColumnType.VARCHAR,
        ColumnType.VAR_STRING,
    )


@final
class _DoubleCell(CellWriter):
    __slots__ = ()

    def __init__(self, _: object, __: object) -> None:
        """Need nothing: all have eight bytes."""

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_float64_as_python(out, read_f64_le(image.data, image.take(FLOAT64_LENGTH)))


@final
class _Utf8Cell(CellWriter):
    """Text that is stored as UTF-8, or is taken for it if the log names no character set."""

    __slots__ = ("_prefix",)

    def __init__(self, _: object, reader: CharacterReader) -> None:
        self._prefix: i64 = reader.prefix

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        length = image.read_length(self._prefix)
        start = image.take(length)
        put_text_or_hex(out, image.data, start, start + length)


@final
class _TextCell(CellWriter):
    """Text in other character sets, or compressed."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        data = self._reader.read_bytes(image)
        text = self._reader.text_of(data)
        if text is None:
            put_hex(out, data)
        else:
            put_string(out, text)


@final
class _BytesCell(CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_hex(out, self._reader.read_bytes(image))


@final
class _EnumCell(CellWriter):
    __slots__ = ("_labels", "_reader")

    def __init__(self, _: object, reader: EnumReader) -> None:
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
class _SetCell(CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: SetReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        value = self._reader.read(image)
        if isinstance(value, str):
            put_string(out, value)
        else:
            put_ascii(out, str(value))


@final
class _GeometryCell(CellWriter):
    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        stored.read_uint32()
        put_hex(out, stored.data)


def _text(column: Column, reader: CharacterReader) -> CellWriter:
    if reader.utf8 and isinstance(reader, StringReader):
        return _Utf8Cell(column, reader)
    return _TextCell(column, reader)


def _bytes(column: Column, reader: CharacterReader) -> CellWriter:
    if has_unknown_charset(column):
        return _Utf8Cell(column, reader)
    return _BytesCell(column, reader)


# Any stands for the reader of the family.
CELLS: Final[dict[Family, Callable[[Column, Any], CellWriter]]] = {
    **dict.fromkeys(INTEGERS, NumberWriter),
    **dict.fromkeys(CHARACTERS, _text),
    **dict.fromkeys(BINARIES, _bytes),
    **dict.fromkeys(PRINTED, QuotedWriter),
    Family.DECIMAL: QuotedWriter,
    Family.FLOAT: NumberWriter,
    Family.DOUBLE: _DoubleCell,
    Family.BIT: NumberWriter,
    Family.ENUM: _EnumCell,
    Family.SET: _SetCell,
    Family.YEAR: NumberWriter,
    Family.JSON: DocumentWriter,
    Family.GEOMETRY: _GeometryCell,
    Family.VECTOR: NumberWriter,
}


def put_changes(
    image: PayloadReader,
    changes: ColumnReader,
    documents: ColumnReader,
    before: i64,
    out: BytesWriter,
) -> None:
    """Append the document after changes, or the changes; arguments as of `changed_document`."""
    value = changed_document(image, changes, documents, before)
    if isinstance(value, str):
        put_string(out, value)
        return
    assert isinstance(value, JsonDiffs)
    diffs = [
        {"op": diff.operation.value, "path": diff.path, "value": diff.value} for diff in value.diffs
    ]
    out.write(encoded(dumps({"json_diff": diffs})))


def put_in_pieces(
    cell: CellWriter,
    reader: ColumnReader,
    image: PayloadReader,
    out: BytesWriter,
    output: LineOutput | None,
) -> BytesWriter:
    """Append what `cell` does of the value that `reader` reads; a large one in pieces.

    Without `output`, whose block is `out`, it is not cut. Returns the block that is then the last.
    """
    start = image.offset
    if output is not None and isinstance(reader, (CharacterReader, DocumentReader)):
        value = reader.read(image)
        if isinstance(value, bytes) and isinstance(cell, _Utf8Cell):
            with suppress(UnicodeDecodeError):
                value = value.decode()
        if isinstance(value, (str, bytes)) and len(value) > LARGE:
            return _put_large(value, output)
        image.offset = start
    cell.put(image, out)
    return out


def _put_large(value: str | bytes, output: LineOutput) -> BytesWriter:
    is_text = isinstance(value, str)
    output.block.write(b'"' if is_text else b'{"hex":"')
    start: i64 = 0
    while start < len(value):
        piece = value[start : start + LARGE]
        text = encode_basestring(piece)[1:-1] if isinstance(piece, str) else piece.hex()
        output.block.write(encoded(text))
        output.give_way()
        start += LARGE
    output.block.write(b'"' if is_text else b'"}')
    return output.block


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

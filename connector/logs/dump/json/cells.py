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

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import (
    CellWriter,
    DocumentWriter,
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
    ColumnType,
    Family,
    JsonDiffs,
)
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import (
    ABSENT_BEFORE,
    NULL_BEFORE,
    DocumentReader,
    changed_document,
)
from connector.binlog.columns.strings import CharacterReader, GeometryReader, StringReader
from connector.binlog.events.rows import RowsEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii, put_utf8
from connector.logs.dump.json.table_facts import dumps
from connector.logs.output import LARGE, LineOutput, encoded


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


def _enum(_: Column, reader: EnumReader) -> CellWriter:
    return EnumWriter(reader, [encoded(encode_basestring(label)) for label in reader.labels])


def _set(_: Column, reader: SetReader) -> CellWriter:
    labels = reader.labels
    if labels is None:
        return SetWriter(reader, None)
    return SetWriter(reader, [encoded(encode_basestring(label)[1:-1]) for label in labels])


# Any stands for the reader of the family.
CELLS: Final[dict[Family, Callable[[Column, Any], CellWriter]]] = {
    **dict.fromkeys(INTEGERS, NumberWriter),
    **dict.fromkeys(CHARACTERS, _text),
    **dict.fromkeys(BINARIES, _bytes),
    **dict.fromkeys(PRINTED, QuotedWriter),
    Family.DECIMAL: QuotedWriter,
    Family.FLOAT: NumberWriter,
    Family.DOUBLE: DoubleWriter,
    Family.BIT: NumberWriter,
    Family.ENUM: _enum,
    Family.SET: _set,
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


@final
class UnusualValues:
    """Writes the values of an event that is large, or that has changes of documents."""

    __slots__ = (
        "_apply_diffs",
        "_documents",
        "_is_after",
        "_output",
        "_partial",
        "_plan",
        "_readers",
    )

    def __init__(self, event: RowsEvent, output: LineOutput | None, *, apply_diffs: bool) -> None:
        """Write large values to `output` in pieces; without it, nothing is cut.

        With `apply_diffs`, changes of a document are replaced by the resulting document.
        """
        plan = event.plan
        self._partial = event.partial
        self._plan = plan
        self._readers = plan.readers
        self._output = output
        self._apply_diffs = apply_diffs
        self._is_after = False
        # Where the image before has its values, by column.
        self._documents: dict[int, int] = {}

    def begin_before(self) -> None:
        """Go to an image before a change."""
        self._is_after = False
        self._readers = self._plan.readers
        self._documents.clear()

    def begin_after(self, image: PayloadReader) -> None:
        """Go to an image after a change; read the part before a partial one."""
        self._is_after = True
        if self._partial:
            self._readers = self._plan.partial_readers(image)

    def note_null(self, index: i64) -> None:
        """Note that the value of a column is NULL."""
        if not self._is_after:
            self._documents[int(index)] = NULL_BEFORE

    def put(
        self, index: i64, cell: CellWriter, image: PayloadReader, out: BytesWriter
    ) -> BytesWriter:
        """Append the value of a column; return the block that is then the last."""
        reader = self._readers[index]
        own = self._plan.readers[index]
        if reader is own:
            if not self._is_after:
                self._documents[int(index)] = int(image.offset)
            return self._put_value(cell, reader, image, out)
        before = ABSENT_BEFORE
        if self._apply_diffs:
            before = self._documents.get(int(index), ABSENT_BEFORE)
        put_changes(image, reader, own, before, out)
        return out

    def give_way(self, out: BytesWriter) -> BytesWriter:
        """Let a full block be written after a row; return the block that is then the last."""
        output = self._output
        if output is None:
            return out
        output.give_way()
        return output.block

    def _put_value(
        self, cell: CellWriter, reader: ColumnReader, image: PayloadReader, out: BytesWriter
    ) -> BytesWriter:
        start = image.offset
        output = self._output
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

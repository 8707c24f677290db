"""Strings and JSON documents of row images in quotes.

Large strings are written in pieces. Changes of a JSON document in place of it become calls of JSON
functions, as in mysqlbinlog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.column import ColumnReader, JsonDiff, JsonDiffs, JsonOperation
from connector.binlog.columns.strings import CharacterReader, StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import QUOTE, put_bytes, put_text, quoted_text
from connector.logs.output import LARGE, LineOutput, encoded

if TYPE_CHECKING:
    from connector.binlog.columns.json import DocumentReader


class StringText(CellWriter):
    """A value that may be large."""

    __slots__ = ("_any_reader",)

    def __init__(self, reader: ColumnReader) -> None:
        self._any_reader = reader

    def put_in_pieces(self, image: PayloadReader, output: LineOutput) -> None:
        """Do as `put`, and write the text piece by piece.

        The value must have been read before, so that it has no error.
        """
        value = self._any_reader.read(image)
        assert isinstance(value, (str, bytes))
        output.block.append(u8(QUOTE))
        start: i64 = 0
        while start < len(value):
            end = start + LARGE
            if isinstance(value, str):
                piece = value[start:end].encode("utf-8")
                put_text(output.block, piece, 0, len(piece))
            else:
                put_bytes(output.block, value, start, min(end, len(value)))
            output.give_way()
            start = end
        output.block.append(u8(QUOTE))


@final
class Utf8Text(StringText):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_prefix",)

    def __init__(self, reader: StringReader) -> None:
        super().__init__(reader)
        self._prefix: i64 = reader.prefix

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text in quotes; bytes that are not UTF-8 as `BytesText` does."""
        length = image.read_length(self._prefix)
        start = image.take(length)
        out.append(u8(QUOTE))
        written: i64 = len(out)
        if not put_text(out, image.data, start, start + length):
            out.truncate(written)
            put_bytes(out, image.data, start, start + length)
        out.append(u8(QUOTE))


@final
class BytesText(StringText):
    """Bytes, and text of an unknown character set."""

    __slots__ = ("_reader",)

    def __init__(self, reader: StringReader) -> None:
        super().__init__(reader)
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the bytes in quotes."""
        _put_quoted_bytes(out, self._reader.read_bytes(image))


@final
class CharsetText(StringText):
    """Text in other character sets, or compressed."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        super().__init__(reader)
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text in quotes; bytes that are not of the character set as `BytesText`."""
        stored = self._reader.read_bytes(image)
        text = self._reader.text_of(stored)
        if text is None:
            _put_quoted_bytes(out, stored)
        else:
            _put_quoted_text(out, text.encode("utf-8"))


@final
class DocumentText(StringText):
    """JSON, in quotes."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: DocumentReader) -> None:
        super().__init__(reader)
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = BytesWriter()
        self._reader.put(image, text)
        _put_quoted_text(out, text.getvalue())


def _put_quoted_text(out: BytesWriter, text: bytes) -> None:
    out.append(u8(QUOTE))
    put_text(out, text, 0, len(text))
    out.append(u8(QUOTE))


def _put_quoted_bytes(out: BytesWriter, data: bytes) -> None:
    out.append(u8(QUOTE))
    put_bytes(out, data, 0, len(data))
    out.append(u8(QUOTE))


_CALLS = {
    JsonOperation.REPLACE: "JSON_REPLACE",
    JsonOperation.INSERT: "JSON_INSERT",
    JsonOperation.REMOVE: "JSON_REMOVE",
}


@final
class DiffsText(CellWriter):
    """The changes of one column's documents; they may need several lines."""

    __slots__ = ("_document", "_reader")

    def __init__(self, reader: ColumnReader, number: int) -> None:
        """Write the changes that `reader` reads of column `number`, from 1."""
        self._reader = reader
        self._document = f"@{number}"

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append nested calls that make the changes."""
        changes = self._reader.read(image)
        assert isinstance(changes, JsonDiffs)
        out.write(encoded(_diffs_text(changes.diffs, self._document)))


def _diffs_text(diffs: tuple[JsonDiff, ...], document: str) -> str:
    """Return nested calls of JSON functions that make the changes; the first is the innermost."""
    text = document
    last: str | None = None
    for diff in diffs:
        call = _CALLS[diff.operation]
        if diff.operation is JsonOperation.INSERT and diff.path.endswith("]"):
            call = "JSON_ARRAY_INSERT"
        value = "" if diff.value is None else f", {_json_literal(diff.value)}"
        if call == last:
            text = f"{text[:-1]},\n###      {quoted_text(diff.path)}{value})"
        else:
            text = f"{call}({text}, {quoted_text(diff.path)}{value})"
        last = call
    return text


def _json_literal(document: str) -> str:
    if document.startswith(("{", "[", '"')) or document == "null":
        return f"CAST({quoted_text(document)} AS JSON)"
    return document

"""Text, bytes and documents in quotes; large ones are written in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.codec.quoted_text import QUOTE, put_bytes, put_text
from connector.dump.lines.writer import LARGE
from connector.dump.text.value_text import ValueText

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.columns.json import DocumentReader
    from connector.binlog.columns.strings import CharacterReader, StringReader
    from connector.codec.payload import PayloadReader
    from connector.dump.lines.output import LineOutput


class _StringText(ValueText):
    """A value that may be large."""

    __slots__ = ("_any_reader",)

    def __init__(self, reader: ColumnReader) -> None:
        self._any_reader = reader

    def put_in_pieces(self, image: PayloadReader, output: LineOutput) -> None:
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
class Utf8Text(_StringText):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_prefix",)

    def __init__(self, reader: StringReader) -> None:
        """Write the values of `reader`."""
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
class BytesText(_StringText):
    """Bytes, and text of an unknown character set."""

    __slots__ = ("_reader",)

    def __init__(self, reader: StringReader) -> None:
        """Write the values of `reader`."""
        super().__init__(reader)
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the bytes in quotes."""
        _put_quoted_bytes(out, self._reader.read_bytes(image))


@final
class StoredText(_StringText):
    """Text in other character sets, or compressed."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        """Write the values of `reader`."""
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
class DocumentText(_StringText):
    """JSON, in quotes."""

    __slots__ = ("_reader",)

    def __init__(self, reader: DocumentReader) -> None:
        """Write the documents of `reader`."""
        super().__init__(reader)
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the document's text in quotes."""
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

"""Strings and documents with the escapes of Debezium's JSON, and binary strings as text.

Its JSON has capital letters in the escapes of control characters, and two escapes, a surrogate
pair, for a character beyond 16 bits. Documents have no spaces. BINARY, VARBINARY and BLOB have the
options `base64-url-safe` and `hex`.
"""

import re
from typing import Final, final

from librt.base64 import urlsafe_b64encode
from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_utf8
from connector.stream.envelope.cells.writers import TextForm

_BACKSLASH: Final = 0x5C
_LOWER_U: Final = 0x75
_SPACE: Final = 0x20
# First bytes of characters beyond 16 bits.
_FOUR_BYTES: Final = 0xF0

_REWRITTEN = re.compile("\\\\(u....|.)|[\U00010000-\U0010ffff]")


@final
class EscapedWriter(CellWriter):
    """A string with Debezium's escapes."""

    __slots__ = ("_written",)

    def __init__(self, written: CellWriter) -> None:
        self._written = written

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        start: i64 = len(out)
        self._written.put(image, out)
        _rewrite(out, start)


@final
class CompactDocumentWriter(CellWriter):
    """JSON, as a string with the document's text without spaces."""

    __slots__ = ("_printed", "_reader", "_text")

    def __init__(self, reader: DocumentReader) -> None:
        """Write the documents that `reader` reads."""
        self._reader = reader
        self._printed = BytesWriter()
        self._text = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        printed = self._printed
        printed.truncate(0)
        self._reader.put(image, printed)
        text = self._text
        text.truncate(0)
        put_compact(text, printed.getvalue())
        compact = text.getvalue()
        start: i64 = len(out)
        out.append(u8(QUOTE))
        put_utf8(out, compact, 0, len(compact))
        out.append(u8(QUOTE))
        _rewrite(out, start)


def put_compact(out: BytesWriter, document: bytes) -> None:
    """Append the text of a document without the spaces between its parts."""
    end: i64 = len(document)
    at: i64 = 0
    inside = False
    while at < end:
        byte: i64 = document[at]
        if byte == QUOTE:
            inside = not inside
        if inside or byte != _SPACE:
            out.append(u8(byte))
        if inside and byte == _BACKSLASH and at + 1 < end:
            at += 1
            escaped: i64 = document[at]
            out.append(u8(escaped))
        at += 1


def with_escapes(text: str) -> str:
    """Return JSON with Debezium's escapes in its strings."""
    return _REWRITTEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[0] != "\\":
        units = escape.encode("utf-16-be").hex().upper()
        return f"\\u{units[:4]}\\u{units[4:]}"
    return f"\\u{escape[2:].upper()}" if escape[1] == "u" else escape


def _rewrite(out: BytesWriter, start: i64) -> None:
    """Change the escapes of what was appended from `start` on."""
    end: i64 = len(out)
    at = start
    while at < end:
        byte: i64 = i64(out[at])
        if byte >= _FOUR_BYTES or (byte == _BACKSLASH and i64(out[at + 1]) == _LOWER_U):
            text = out.getvalue()[start:].decode()
            out.truncate(start)
            out.write(with_escapes(text).encode())
            return
        at += 2 if byte == _BACKSLASH else 1


@final
class UrlSafeForm(TextForm):
    """Base64 with `-` and `_`."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes, of the bytes."""
        out.append(u8(QUOTE))
        out.write(urlsafe_b64encode(data[start:end]))
        out.append(u8(QUOTE))


@final
class HexForm(TextForm):
    """Two digits for each byte."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes, of the bytes."""
        out.append(u8(QUOTE))
        out.write(data[start:end].hex().encode())
        out.append(u8(QUOTE))


@final
class BinaryTextWriter(CellWriter):
    """Bytes in one of these forms."""

    __slots__ = ("_form", "_reader")

    def __init__(self, reader: CharacterReader, form: TextForm) -> None:
        """Write what `reader` reads in `form`."""
        self._reader = reader
        self._form = form

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        data = self._reader.read_bytes(image)
        self._form.put(out, data, 0, len(data))

"""CHAR, VARCHAR, TEXT and their binary twins: a length, then bytes in the column's character set.

::

    CHAR, BINARY, VARCHAR, VARBINARY   length of 1 byte, or 2 when more than 255 bytes may come
    TEXT, BLOB                         length of 1 to 4 bytes, as the metadata says

The server strips the trailing spaces of a CHAR and the trailing zero bytes of a BINARY. The zero
bytes belong to the value, so they are added again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.charsets.character_sets import character_decoder
from connector.binlog.charsets.collations import BINARY_COLLATION
from connector.binlog.columns.column_reader import ColumnReader
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value
    from connector.codec.payload import PayloadReader

_ONE_BYTE_MAX: Final = 255
_BLOB_LENGTHS = (1, 2, 3, 4)
_UTF8_CHARSETS = ("utf8mb3", "utf8mb4")
# From here on a text is decoded without a copy of its bytes.
_LARGE_TEXT: Final = 64 * 1024


def char_reader(column: Column) -> StringReader:
    """Return what reads a CHAR as text, a BINARY(n) as n bytes."""
    length = column.length
    assert length is not None
    pad = length if column.collation == BINARY_COLLATION else 0
    return StringReader(column, _prefix(length), pad)


def varchar_reader(column: Column) -> StringReader:
    """Return what reads a VARCHAR as text, a VARBINARY as bytes."""
    return StringReader(column, varchar_prefix(column))


def blob_reader(column: Column) -> StringReader:
    """Return what reads a TEXT as text, a BLOB as bytes."""
    return StringReader(column, require_blob_length(column))


def varchar_prefix(column: Column) -> int:
    """Return how many bytes the length of a VARCHAR's value takes, compressed or not."""
    return _prefix(column.metadata)


def require_blob_length(column: Column) -> int:
    """Return how many bytes the length of a BLOB-like value takes.

    Raises DecodeError unless the metadata is 1 to 4.
    """
    if column.metadata not in _BLOB_LENGTHS:
        raise DecodeError(log_values.LENGTH_LENGTH, length=column.metadata)
    return column.metadata


def _prefix(length: int) -> int:
    return 1 if length <= _ONE_BYTE_MAX else 2


class CharacterReader(ColumnReader):
    """A column of text in a character set, or of bytes.

    Bytes outside of the character set stay bytes: servers store every well-formed code, even
    one without a character. Such a code reads as a question mark, except in a primary key: two keys
    never become the same text.
    """

    __slots__ = ("_decode", "binary", "prefix", "utf8")

    def __init__(self, column: Column, prefix: i64) -> None:
        """Read values of `column` after a length of `prefix` bytes."""
        charset = column.charset
        self.prefix: i64 = prefix
        self.binary = column.binary or charset is None  # the values are bytes
        self.utf8 = not self.binary and charset in _UTF8_CHARSETS
        self._decode: Callable[[bytes], str] | None = None
        if charset is not None and not self.binary and not self.utf8:
            self._decode = character_decoder(charset, exact=column.primary_key > 0)

    def read_bytes(self, image: PayloadReader) -> bytes:
        """Return the next value in the column's character set, and move past it."""
        raise NotImplementedError

    def text_of(self, data: bytes) -> str | None:
        """Return the text of a value's bytes; None if they are not of the character set."""
        if self.binary:
            return None
        try:
            decode = self._decode
            return data.decode("utf-8") if decode is None else decode(data)
        except (DecodeError, UnicodeDecodeError):
            return None

    def read(self, image: PayloadReader) -> Value:
        """Return the next value as text; as bytes if it is not text of the character set."""
        data = self.read_bytes(image)
        text = self.text_of(data)
        return data if text is None else text

    def skip(self, image: PayloadReader) -> None:
        """Skip the length and as many bytes as it says."""
        image.skip(image.read_length(self.prefix))


@final
class StringReader(CharacterReader):
    """CHAR, VARCHAR, TEXT, BINARY, VARBINARY or BLOB."""

    __slots__ = ("pad",)

    def __init__(self, column: Column, prefix: i64, pad: i64 = 0) -> None:
        """Read values after a length of `prefix` bytes, and fill them up to `pad` bytes."""
        super().__init__(column, prefix)
        self.pad: i64 = pad

    def read_bytes(self, image: PayloadReader) -> bytes:
        """Return the next value, filled up with the zero bytes that the server stripped."""
        return self._bytes(image, image.read_length(self.prefix))

    def read(self, image: PayloadReader) -> Value:
        """Return the next value as text; as bytes if it is not text of the character set."""
        length = image.read_length(self.prefix)
        if self.utf8:
            if length > _LARGE_TEXT:
                return _large_text(image, length)
            start = image.take(length)
            stored = image.data[start : start + length]
            try:
                return stored.decode("utf-8")
            except UnicodeDecodeError:
                return stored
        data = self._bytes(image, length)
        text = self.text_of(data)
        return data if text is None else text

    def _bytes(self, image: PayloadReader, length: i64) -> bytes:
        data = image.read_bytes(length)
        if len(data) < self.pad:
            return data.ljust(self.pad, b"\0")
        return data


def _large_text(image: PayloadReader, length: i64) -> str | bytes:
    start = image.take(length)
    stored = memoryview(image.data)[start : start + length]
    try:
        return str(stored, "utf-8")
    except UnicodeDecodeError:
        return bytes(stored)

"""CHAR, VARCHAR, TEXT and their binary twins: a length, then bytes in the column's character set.

::

    CHAR, BINARY, VARCHAR, VARBINARY   length of 1 byte, or 2 when more than 255 bytes may come
    TEXT, BLOB                         length of 1 to 4 bytes, as the metadata says

The server strips the trailing spaces of a CHAR and the trailing zero bytes of a BINARY; the latter
belong to the value and are put back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.character_sets import character_decoder
from connector.binlog.collations import BINARY_COLLATION
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

_ONE_BYTE_MAX = 255
_BLOB_LENGTHS = (1, 2, 3, 4)


def char_reader(column: Column) -> Callable[[PayloadReader], str | bytes]:
    """Return the function that reads a CHAR as text, a BINARY(n) as n bytes."""
    length = column.length
    assert length is not None
    if column.collation == BINARY_COLLATION:
        prefix = _prefix(length)
        return lambda image: image.read_bytes(image.read_uint(prefix)).ljust(length, b"\0")
    return _reader(column, _prefix(length))


def varchar_reader(column: Column) -> Callable[[PayloadReader], str | bytes]:
    """Return the function that reads a VARCHAR as text, a VARBINARY as bytes."""
    return _reader(column, varchar_prefix(column))


def blob_reader(column: Column) -> Callable[[PayloadReader], str | bytes]:
    """Return the function that reads a TEXT as text, a BLOB as bytes."""
    return _reader(column, require_blob_length(column))


def varchar_prefix(column: Column) -> int:
    """Return how many bytes the length of a VARCHAR's value takes, compressed or not."""
    return _prefix(column.metadata)


def require_blob_length(column: Column) -> int:
    """Return how many bytes the length of a BLOB-like value takes.

    Raises DecodeError when the metadata says something else than 1 to 4.
    """
    if column.metadata not in _BLOB_LENGTHS:
        reason = f"a length of {column.metadata} bytes does not exist"
        raise DecodeError(reason)
    return column.metadata


def text_or_bytes(column: Column) -> Callable[[bytes], str | bytes]:
    """Return the function that makes text of a character column's bytes.

    Bytes that are not text of the character set stay bytes: servers store what is well-formed,
    also where no character is assigned.
    """
    charset = column.charset
    if column.binary or charset is None:
        return bytes
    decode = character_decoder(charset)

    def text(data: bytes) -> str | bytes:
        try:
            return decode(data)
        except DecodeError:
            return data

    return text


def _prefix(length: int) -> int:
    return 1 if length <= _ONE_BYTE_MAX else 2


def _reader(column: Column, prefix: int) -> Callable[[PayloadReader], str | bytes]:
    if column.binary:
        return lambda image: image.read_bytes(image.read_uint(prefix))
    convert = text_or_bytes(column)
    return lambda image: convert(image.read_bytes(image.read_uint(prefix)))

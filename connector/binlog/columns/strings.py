"""Columns that are stored as a length and bytes: CHAR, VARCHAR, TEXT, BLOB and GEOMETRY.

::

    CHAR, BINARY, VARCHAR, VARBINARY      length of 1 byte, or 2 when more than 255 bytes may come
    TEXT, BLOB                            length of 1 to 4 bytes, as the metadata says
    GEOMETRY                              length as in BLOB │ SRID u32 │ Well-Known Binary
    VARCHAR_COMPRESSED, BLOB_COMPRESSED   length as in VARCHAR and BLOB │ packed; MariaDB
    packed                                nothing for the empty string, else header u8 │ data
    header                                method 4 bits: 0 none, 8 zlib │ raw 1 │ length 3
    data of zlib                          size, `length` bytes BE │ zlib, or deflate alone when raw

The server strips the trailing spaces of a CHAR and the trailing zero bytes of a BINARY. The zero
bytes belong to the value, so they are added again. Coordinates of a GEOMETRY stay in the order in
which they are stored, which is x before y whatever the SRID.

https://dev.mysql.com/doc/refman/8.4/en/gis-data-formats.html
https://mariadb.com/kb/en/storage-engine-independent-column-compression/
"""

import zlib
from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64

from connector.binlog import log_errors, value_errors
from connector.binlog.character_sets import BINARY_COLLATION, character_decoder
from connector.binlog.columns.column import Column, ColumnReader, Geometry, Value
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_ONE_BYTE_MAX: Final = 255
_BLOB_LENGTHS = (1, 2, 3, 4)
_BINARY = "binary"
_UTF8_CHARSETS = ("utf8mb3", "utf8mb4")
# From here on a text is decoded without a copy of its bytes.
_LARGE_TEXT: Final = 64 * 1024


def char_reader(column: Column) -> "StringReader":
    """Return what reads a CHAR as text, a BINARY(n) as n bytes."""
    length = column.length
    assert length is not None
    pad = length if column.collation == BINARY_COLLATION else 0
    return StringReader(column, _prefix(length), pad)


def varchar_prefix(column: Column) -> int:
    """Return how many bytes the length of a VARCHAR's value takes, compressed or not."""
    return _prefix(column.metadata)


def require_blob_length(column: Column) -> int:
    """Return how many bytes the length of a BLOB-like value takes.

    Raises DecodeError unless the metadata is 1 to 4.
    """
    if column.metadata not in _BLOB_LENGTHS:
        raise DecodeError(value_errors.LENGTH_LENGTH, length=column.metadata)
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

    def __init__(self, charset: str | None, prefix: i64, *, exact: bool) -> None:
        """Read values in `charset` after a length of `prefix` bytes; `exact` for a primary key."""
        self.prefix: i64 = prefix
        self.binary = charset is None or charset == _BINARY  # the values are bytes
        self.utf8 = charset in _UTF8_CHARSETS
        self._decode: Callable[[bytes], str] | None = None
        if charset is not None and not self.binary and not self.utf8:
            self._decode = character_decoder(charset, exact=exact)

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
        image.skip(image.read_length(self.prefix))


@final
class StringReader(CharacterReader):
    """CHAR, VARCHAR, TEXT, BINARY, VARBINARY or BLOB."""

    __slots__ = ("pad",)

    def __init__(self, column: Column, prefix: i64, pad: i64 = 0) -> None:
        """Read values after a length of `prefix` bytes, and fill them up to `pad` bytes."""
        super().__init__(column.charset, prefix, exact=column.primary_key > 0)
        self.pad: i64 = pad

    def read_bytes(self, image: PayloadReader) -> bytes:
        """Return the next value, filled up with the zero bytes that the server stripped."""
        return self._bytes(image, image.read_length(self.prefix))

    def read(self, image: PayloadReader) -> Value:
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


_NONE = 0
_ZLIB = 8
_RAW = 0x08  # column_compression_zlib_wrap=OFF, the default
_LENGTH_BITS = 0x07
_LENGTH_MAX = 4
# A value is in an event, and none has more than the largest max_allowed_packet.
_SIZE_MAX = 1 << 30


@final
class CompressedReader(CharacterReader):
    """VARCHAR, VARBINARY, TEXT or BLOB with the attribute COMPRESSED."""

    __slots__ = ()

    def __init__(self, column: Column, prefix: i64) -> None:
        """Read values of `column` after a length of `prefix` bytes."""
        super().__init__(column.charset, prefix, exact=column.primary_key > 0)

    def read_bytes(self, image: PayloadReader) -> bytes:
        """Return the next value, uncompressed.

        Raises DecodeError for a value that cannot be uncompressed.
        """
        return _unpacked(image.read_bytes(image.read_length(self.prefix)))


def _unpacked(packed: bytes) -> bytes:
    if not packed:
        return b""
    method = packed[0] >> 4
    if method == _NONE:
        return packed[1:]
    if method != _ZLIB:
        raise DecodeError(value_errors.PACKED_METHOD, method=method)
    length = packed[0] & _LENGTH_BITS
    start = 1 + length
    if not 0 < length <= _LENGTH_MAX or len(packed) < start:
        raise DecodeError(value_errors.PACKED_SIZE, length=len(packed))
    size = int.from_bytes(packed[1:start], "big")
    if size > _SIZE_MAX:
        raise DecodeError(log_errors.TOO_LONG_UNPACKED, length=size)
    stream = zlib.decompressobj(-zlib.MAX_WBITS if packed[0] & _RAW else zlib.MAX_WBITS)
    try:
        # Reading one byte more than promised shows a false size, and bounds the memory. The input
        # bounds it, too: deflate makes at most 1032 bytes of one.
        value = stream.decompress(packed[start:], size + 1)
    except zlib.error as error:
        raise DecodeError(value_errors.NOT_UNPACKED, why=error) from None
    if len(value) != size or not stream.eof or stream.unused_data:
        raise DecodeError(value_errors.UNPACKED_SIZE, size=size)
    return value


class GeometryReader(ColumnReader):
    """A geometry of any kind."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read values after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> Value:
        """Return the SRID and the Well-Known Binary; the latter is not checked."""
        stored = self.read_stored(image)
        return Geometry(srid=stored.read_uint32(), wkb=stored.read_rest())

    def read_stored(self, image: PayloadReader) -> PayloadReader:
        """Return the next value's SRID and WKB, and move past it."""
        return PayloadReader(image.read_bytes(image.read_length(self._prefix)))

    def skip(self, image: PayloadReader) -> None:
        image.skip(image.read_length(self._prefix))

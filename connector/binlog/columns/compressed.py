"""MariaDB's COMPRESSED columns: a VARCHAR or BLOB whose bytes are compressed one by one.

::

    VARCHAR_COMPRESSED, BLOB_COMPRESSED   length as in VARCHAR and BLOB │ packed
    packed                                nothing for the empty string, else header u8 │ data
    header                                method 4 bits: 0 none, 8 zlib │ raw 1 │ length 3
    data of zlib                          size, `length` bytes BE │ zlib, or deflate alone when raw

https://mariadb.com/kb/en/storage-engine-independent-column-compression/
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, final

from connector.binlog.columns.strings import CharacterReader, require_blob_length, varchar_prefix
from connector.errors import DecodeError, log_payloads, log_values

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column
    from connector.codec.payload import PayloadReader

_NONE = 0
_ZLIB = 8
_RAW = 0x08  # column_compression_zlib_wrap=OFF, the default
_LENGTH_BITS = 0x07
_LENGTH_MAX = 4
# A value is in an event, and none has more than the largest max_allowed_packet.
_SIZE_MAX = 1 << 30


def compressed_varchar_reader(column: Column) -> CompressedReader:
    """Return what reads a VARCHAR or VARBINARY COMPRESSED."""
    return CompressedReader(column, varchar_prefix(column))


def compressed_blob_reader(column: Column) -> CompressedReader:
    """Return what reads a TEXT or BLOB COMPRESSED of any size."""
    return CompressedReader(column, require_blob_length(column))


@final
class CompressedReader(CharacterReader):
    """VARCHAR, VARBINARY, TEXT or BLOB with the attribute COMPRESSED."""

    __slots__ = ()

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
        raise DecodeError(log_values.PACKED_METHOD, method=method)
    length = packed[0] & _LENGTH_BITS
    start = 1 + length
    if not 0 < length <= _LENGTH_MAX or len(packed) < start:
        raise DecodeError(log_values.PACKED_SIZE, length=len(packed))
    size = int.from_bytes(packed[1:start], "big")
    if size > _SIZE_MAX:
        raise DecodeError(log_payloads.TOO_LONG_UNPACKED, length=size)
    stream = zlib.decompressobj(-zlib.MAX_WBITS if packed[0] & _RAW else zlib.MAX_WBITS)
    try:
        # Reading one byte more than promised shows a false size, and bounds the memory. The input
        # bounds it, too: deflate makes at most 1032 bytes of one.
        value = stream.decompress(packed[start:], size + 1)
    except zlib.error as error:
        raise DecodeError(log_values.NOT_UNPACKED, why=error) from None
    if len(value) != size or not stream.eof or stream.unused_data:
        raise DecodeError(log_values.UNPACKED_SIZE, size=size)
    return value

"""The compressions of record batches.

Kafka's Java clients frame snappy as the library xerial-java does; others send one raw block.

https://kafka.apache.org/documentation/#recordbatch
"""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Final

import lz4.frame
import pyarrow as pa
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable

_GZIP_WINDOW: Final = 31
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_BLOCK_LENGTH: Final = struct.Struct(">i")
_MORE: Final = 0x80
_INCOMPLETE: Final = "the compressed bytes end too soon"
# As the largest event of a server. A batch of the connector has one record, or far less bytes.
CONTENT_BYTES_MAX: Final = 1 << 30
_ZSTD_STEP_BYTES: Final = 1 << 18
# A copy of 64 bytes takes two at least.
_SNAPPY_RATIO_MAX: Final = 32


class ContentTooLargeError(Exception):
    """The records of a batch have more than CONTENT_BYTES_MAX bytes."""


def decompressed(codec: int, data: bytes) -> bytes:
    """Return the bytes that `data` was compressed from; memory holds little more than them.

    Raises ContentTooLargeError, or one of the errors in ERRORS if they cannot be had.
    """
    return _CODECS[codec](data)


def _plain(data: bytes) -> bytes:
    return data


def _gzip(data: bytes) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    content = _limited(stream.decompress(data, CONTENT_BYTES_MAX + 1))
    if not stream.eof:
        raise EOFError(_INCOMPLETE)
    return content


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _snappy_block(data, CONTENT_BYTES_MAX)
    content = BytesIO()
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at += _BLOCK_LENGTH.size
        if length <= 0 or at + length > len(data):
            raise EOFError(_INCOMPLETE)
        content.write(_snappy_block(data[at : at + length], CONTENT_BYTES_MAX - content.tell()))
        at += length
    return content.getvalue()


def _snappy_block(data: bytes, bytes_max: int) -> bytes:
    """Decompress a block, which begins with the length of its content."""
    length = shift = 0
    for byte in data[:5]:
        length |= (byte & ~_MORE) << shift
        shift += 7
        if byte < _MORE:
            break
    if length > _SNAPPY_RATIO_MAX * len(data):
        reason = "the announced length is impossible"
        raise ValueError(reason)
    if length > bytes_max:
        raise ContentTooLargeError
    content: bytes = pa.Codec("snappy").decompress(data, length, asbytes=True)
    return content


def _lz4(data: bytes) -> bytes:
    stream = lz4.frame.LZ4FrameDecompressor()
    content = _limited(stream.decompress(data, CONTENT_BYTES_MAX + 1))
    if not stream.eof:
        raise EOFError(_INCOMPLETE)
    return content


def _zstd(data: bytes) -> bytes:
    size = zstandard.frame_content_size(data)
    if size > CONTENT_BYTES_MAX:
        raise ContentTooLargeError
    if size >= 0:
        # The frame tells its length, and zstd writes no more.
        return zstandard.ZstdDecompressor().decompress(data)
    content = BytesIO()
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        while piece := stream.read(_ZSTD_STEP_BYTES):
            content.write(piece)
            if content.tell() > CONTENT_BYTES_MAX:
                raise ContentTooLargeError
    return content.getvalue()


def _limited(content: bytes) -> bytes:
    if len(content) > CONTENT_BYTES_MAX:
        raise ContentTooLargeError
    return content


_CODECS: Final[dict[int, Callable[[bytes], bytes]]] = {
    0: _plain,
    1: _gzip,
    2: _snappy,
    3: _lz4,
    4: _zstd,
}

ERRORS: Final = (
    KeyError,
    ValueError,
    OSError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    pa.ArrowException,
    zstandard.ZstdError,
)

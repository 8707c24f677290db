"""The compressions of record batches.

Kafka's Java clients frame snappy as the library xerial-java does; others send one raw block.

https://kafka.apache.org/documentation/#recordbatch
"""

from __future__ import annotations

import struct
import zlib
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
# A copy of 64 bytes takes two at least.
_SNAPPY_RATIO_MAX: Final = 32


def decompressed(codec: int, data: bytes) -> bytes:
    """Return the bytes that `data` was compressed from.

    Raises one of the errors in ERRORS if that is not possible.
    """
    return _CODECS[codec](data)


def _plain(data: bytes) -> bytes:
    return data


def _gzip(data: bytes) -> bytes:
    return zlib.decompress(data, _GZIP_WINDOW)


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _snappy_block(data)
    blocks = []
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at += _BLOCK_LENGTH.size
        if length <= 0 or at + length > len(data):
            reason = "a block ends after the data"
            raise ValueError(reason)
        blocks.append(_snappy_block(data[at : at + length]))
        at += length
    return b"".join(blocks)


def _snappy_block(data: bytes) -> bytes:
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
    content: bytes = pa.Codec("snappy").decompress(data, length, asbytes=True)
    return content


def _lz4(data: bytes) -> bytes:
    content: bytes = lz4.frame.decompress(data)
    return content


def _zstd(data: bytes) -> bytes:
    # The frame need not tell its length.
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


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

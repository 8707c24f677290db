"""Files that give the unpacked bytes of compressed ones, in steps of bounded size.

https://www.rfc-editor.org/rfc/rfc1952 (gzip), https://www.rfc-editor.org/rfc/rfc8878 (Zstandard)
"""

from __future__ import annotations

import gzip
import zlib
from typing import Protocol

import zstandard

# What damaged bytes raise.
DAMAGE: tuple[type[Exception], ...] = (gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
# Compressed bytes in one step: a block of 4 bytes can become 128 KiB, so these give at most 8 MiB.
_ZSTD_STEP_LENGTH = 256
# Of `zstd --long=31`, the largest.
_ZSTD_WINDOW_MAX = 1 << 31


class _PackedFile(Protocol):
    def read(self, size: int, /) -> bytes: ...


def gzip_file(packed: _PackedFile) -> gzip.GzipFile:
    """Return the unpacked bytes of consecutive gzip members."""
    return gzip.GzipFile(fileobj=packed, mode="rb")  # type: ignore[call-overload,no-any-return] # reads alone


class ZstdFile:
    """The bytes of consecutive Zstandard frames; EOFError if a frame is incomplete.

    A frame is unpacked with as much memory as its writer has chosen, at most `_ZSTD_WINDOW_MAX`;
    only what is unpacked takes it.
    """

    def __init__(self, packed: _PackedFile) -> None:
        self._packed = packed
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._rest = b""  # packed bytes after the frame before

    def read(self, size: int, /) -> bytes:
        """Return the result of the next step, whatever `size` is; no bytes at the end."""
        del size
        unpacked = b""
        while not unpacked:
            packed = self._rest or self._packed.read(_ZSTD_STEP_LENGTH)
            self._rest = b""
            if not packed:
                if self._frame is not None:
                    reason = "the compressed bytes end inside of a frame"
                    raise EOFError(reason)
                break
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            unpacked = self._frame.decompress(packed)
            if self._frame.eof:
                self._rest = self._frame.unused_data
                self._frame = None
        return unpacked

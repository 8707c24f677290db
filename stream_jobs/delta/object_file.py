"""An object of a bucket as a file for Arrow: each read asks for a part of it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    # First byte and size to bytes; None if the object is gone.
    ReadPart = Callable[[int, int], bytes | None]


class ObjectFile(io.RawIOBase):
    """A file whose end is known already."""

    END_BYTES = 256 * 1024

    def __init__(self, read_part: ReadPart, size: int, end: bytes) -> None:
        super().__init__()
        self._read_part = read_part
        self._size = size
        self._end = end
        self._place = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = base + offset
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; raises OSError if the object was deleted."""
        rest = max(self._size - self._place, 0)
        size = rest if size < 0 else min(size, rest)
        known = self._size - len(self._end)
        start = self._place - known
        found: bytes | None = b""
        if start >= 0:
            found = self._end[start : start + size]
        elif size:
            found = self._read_part(self._place, size)
        if found is None:
            raise FileNotFoundError
        self._place += len(found)
        return found

"""A temporary file that returns records in reverse order.

::

    record │ its length u64 │ record │ its length u64 │ …
"""

from __future__ import annotations

from struct import Struct
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH = Struct("<Q")
_BLOCK = 256 * 1024


class Spool:
    """Takes records and returns them, the last one first."""

    def __init__(self) -> None:
        """Open a file without a name in the system's folder for temporary files."""
        self._file = TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - closed by __exit__
        self._length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: str) -> None:
        """Add a record."""
        data = record.encode("utf-8")
        self._file.write(data)
        self._file.write(_LENGTH.pack(len(data)))
        self._length += len(data) + _LENGTH.size

    def mark(self) -> int:
        """Return the offset after the last record, for `cut`."""
        return self._length

    def cut(self, mark: int) -> None:
        """Drop the records after `mark`."""
        self._file.seek(mark)
        self._file.truncate()
        self._length = mark

    def __reversed__(self) -> Iterator[str]:
        """Yield the records, the last one first; do not add any during the iteration."""
        left = self._length
        tail = bytearray()

        def take(count: int) -> bytes:
            nonlocal left
            if len(tail) < count:
                step = min(left, max(count - len(tail), _BLOCK))
                left -= step
                self._file.seek(left)
                tail[:0] = self._file.read(step)
            taken = bytes(tail[-count:]) if count else b""
            del tail[len(tail) - count :]
            return taken

        while left or tail:
            (length,) = _LENGTH.unpack(take(_LENGTH.size))
            yield take(length).decode("utf-8")

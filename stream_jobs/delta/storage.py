"""The interface of a storage: a tree of files, each written once and as a whole.

Delta's log needs one promise: if two writers put the same file, one of them is told that it
exists. `ObjectFile` lets Arrow read an object of a bucket in parts.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from stream_jobs.errors import MirrorError, delta_errors

if TYPE_CHECKING:
    import pyarrow as pa

    ReadPart = Callable[[int, int], bytes | None]


class StoredFile(NamedTuple):
    """One file of a folder."""

    name: str  # relative to the folder that was listed
    size: int  # bytes
    modified: int  # milliseconds since 1970


class Storage(Protocol):
    """A tree of files below one root.

    Paths are relative to the root and separated by `/`; a path that leaves the root is refused.
    An implementation can be pickled: Spark sends it to its workers. All methods raise MirrorError
    if the storage fails.
    """

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None if it does not exist."""

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        """Return `size` bytes from byte `start` of a file; None if it does not exist."""

    def open(self, path: str) -> pa.NativeFile | None:
        """Return a file for reads at any position; None if it does not exist."""

    def write(self, path: str, content: bytes | memoryview) -> None:
        """Write a file as a whole; an existing one is replaced.

        After a crash, a file that was written later is there only if this one is.
        """

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Write a file as a whole, as `write` does; return False if it exists."""

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        """Yield the files of a folder and of its subfolders with names above `start_after`.

        The order is that of the names. A folder that does not exist has no files.
        """

    def folders(self, folder: str = "") -> Sequence[str]:
        """Return the names of the folders in a folder, in order; "" is the root.

        A folder that does not exist has none.
        """

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def note_table(self, path: str, *, exists: bool) -> None:
        """Learn whether a table exists before its files are written.

        Where there are folders, that of a table which exists is not made again: somebody has taken
        it away, and would lose what is written in its place.
        """

    def sync(self, folder: str) -> None:
        """Return when a loss of power cannot take names of a folder back any more."""

    def verify(self) -> None:
        """Raise MirrorError if tables cannot be written here, or not safely."""


def checked_path(path: str) -> str:
    """Return `path`; raises MirrorError if it could lead out of the root."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise MirrorError(delta_errors.PATH_OUTSIDE, path=path)
    return path


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
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = base + offset
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; raises OSError if the object was deleted."""
        rest = max(self._size - self._place, 0)
        size = rest if size < 0 else min(size, rest)
        known = self._size - len(self._end)
        start = self._place - known
        part: bytes | None = b""
        if start >= 0:
            part = self._end[start : start + size]
        elif size:
            part = self._read_part(self._place, size)
        if part is None:
            raise FileNotFoundError
        self._place += len(part)
        return part

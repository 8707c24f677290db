"""Where tables are stored: a tree of files, each written once and as a whole.

Delta's log needs one promise: of two writers that put the same file, one is told that it exists.
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from connector.errors import MirrorError, mirror_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


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

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def verify(self) -> None:
        """Raise MirrorError if tables cannot be written here, or not safely."""


def checked(path: str) -> str:
    """Return `path`; raises MirrorError if it could lead out of the root."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise MirrorError(mirror_tables.PATH_OUTSIDE, path=path)
    return path

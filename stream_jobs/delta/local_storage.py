"""Tables in a folder of the local disk, or of a file system that is mounted.

Each file is written under a temporary name, synced, and then given its name, so a reader and a
crash see all of it or nothing. link(2) gives a name only if it is free.

The bytes of a file are synced, its name is not: file systems with a journal keep the order of
names. So after a loss of power a commit that remains is whole, and finds its files; it may be one
of some seconds ago, and then its table says from where the changes have to be applied again. A sync
costs half a millisecond on an idle disk; without it, a table could be left with empty files.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from connector.errors import MirrorError, mirror_tables
from stream_jobs.delta.storage import StoredFile, checked

if TYPE_CHECKING:
    from collections.abc import Iterator

# Errors of reads that say nothing of other files.
_OF_ONE_FILE: Final = frozenset(
    (errno.EACCES, errno.EBADMSG, errno.EIO, errno.EISDIR, errno.ELOOP, errno.EPERM)
)


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """The files below the folder `root`."""

    root: str

    def read(self, path: str) -> bytes | None:
        """See Storage."""
        return self.read_part(path, 0, -1)

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        """See Storage."""
        try:
            with open(self._full(path), "rb") as file:  # noqa: PTH123 - Path costs as much as it
                file.seek(start)
                return file.read(size)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def open(self, path: str) -> pa.NativeFile | None:
        """See Storage; the file is mapped into memory."""
        try:
            return pa.memory_map(self._full(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def write(self, path: str, content: bytes | memoryview) -> None:
        """See Storage."""
        full = self._full(path)
        try:
            temporary = self._temporary(full, content)
            try:
                os.replace(temporary, full)  # noqa: PTH105
            except OSError:
                os.unlink(temporary)  # noqa: PTH108
                raise
        except OSError as error:
            raise self._failed(path, error) from error

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """See Storage."""
        full = self._full(path)
        try:
            temporary = self._temporary(full, content)
            try:
                os.link(temporary, full)
            except FileExistsError:
                return False
            finally:
                os.unlink(temporary)  # noqa: PTH108
        except OSError as error:
            raise self._failed(path, error) from error
        return True

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        """See Storage."""
        try:
            yield from sorted(self._walk(self._full(folder), "", start_after))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._failed(folder, error) from error

    def delete(self, path: str) -> None:
        """See Storage."""
        try:
            os.unlink(self._full(path))  # noqa: PTH108
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise self._failed(path, error) from error

    def verify(self) -> None:
        """See Storage; some file systems that can be mounted have no link(2)."""
        path = f"_binlog-connector-{uuid.uuid4().hex}"
        self.put_if_absent(path, b"")
        self.delete(path)

    def _full(self, path: str) -> str:
        return f"{self.root}/{checked(path)}"

    def _failed(self, path: str, error: OSError) -> MirrorError:
        said = error.strerror or type(error).__name__
        return MirrorError(mirror_tables.STORAGE_FAILED, path=f"{self.root}/{path}", said=said)

    def _unreadable(self, path: str, error: OSError) -> MirrorError:
        if error.errno not in _OF_ONE_FILE:
            return self._failed(path, error)
        file = f"{self.root}/{path}"
        return MirrorError(mirror_tables.FILE_UNREADABLE, file=file, said=error.strerror)

    def _walk(self, folder: str, prefix: str, start_after: str) -> Iterator[StoredFile]:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(entry.path, f"{name}/", start_after)
                elif name > start_after:
                    try:
                        facts = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # deleted while the folder was read
                    if stat.S_ISREG(facts.st_mode):
                        yield StoredFile(name, facts.st_size, facts.st_mtime_ns // 1_000_000)

    @staticmethod
    def _temporary(full: str, content: bytes | memoryview) -> str:
        """Write `content` next to `full`, under a name that readers of Delta ignore."""
        folder, name = os.path.split(full)
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(temporary, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            file = os.open(temporary, flags, 0o666)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            os.unlink(temporary)  # noqa: PTH108 - a full disk must not keep halves of files
            raise
        finally:
            os.close(file)
        return temporary

"""The storage that `mirror.path` names: a local folder, a bucket, or a folder of HDFS.

In a local folder, each file is written under a temporary name, synced, and then given its name,
so readers see all of it or nothing, also after a crash. link(2) gives a name only if it is free.

The bytes of a file are synced, its name is not: file systems with a journal keep the order of
names. So after a loss of power a commit that remains is whole and finds its files. It may be some
seconds old, and then its table says from where the changes have to be applied again; before records
of these changes are deleted, the names are synced, too. A sync costs half a millisecond on an idle
disk; without it, a table could be left with empty files.

A folder that somebody moves away while the job runs is not made again, neither for a commit nor for
a data file, which would be lost when it is moved back. Only a new table makes its folder again,
because people delete tables that are to be copied again; and so does a file of the job whose folder
was deleted in that of all of them. Where a worker does not see the mirror at all, that is a failure
of the storage.
"""

import errno
import getpass
import os
import stat
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from stream_jobs.delta.storage import Storage, StoredFile, checked_path
from stream_jobs.errors import MirrorError, delta_errors, job_errors
from stream_jobs.paths import OWN_FOLDER

# Errors of reads that say nothing of other files.
_OF_ONE_FILE: Final = frozenset(
    (errno.EACCES, errno.EBADMSG, errno.EIO, errno.EISDIR, errno.ELOOP, errno.EPERM)
)


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """The files below the folder `root`."""

    root: str
    # Folders that were there.
    _found: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Callable[[str], "LocalStorage"], tuple[str]]:
        """Return what a worker gets, who learns of the few tables that it writes to."""
        return _of_worker, (self.root,)

    def read(self, path: str) -> bytes | None:
        return self.read_part(path, 0, -1)

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        try:
            file = os.open(self._full(path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                return _content(file, start, size)
            finally:
                os.close(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def open(self, path: str) -> pa.NativeFile | None:
        """The file is mapped into memory."""
        try:
            return pa.memory_map(self._full(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def write(self, path: str, content: bytes | memoryview) -> None:
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
        full = self._full(folder)
        try:
            files = sorted(self._walk(full, "", start_after))
            self._found.add(full)
            yield from files
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._failed(folder, error) from error

    def folders(self, folder: str = "") -> Sequence[str]:
        try:
            with os.scandir(self._full(folder) if folder else self.root) as entries:
                # A database may be elsewhere, behind a link.
                return sorted(each.name for each in entries if each.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._failed(folder, error) from error

    def delete(self, path: str) -> None:
        try:
            os.unlink(self._full(path))  # noqa: PTH108
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise self._failed(path, error) from error

    def note_table(self, path: str, *, exists: bool) -> None:
        full = self._full(path)
        if exists:
            self._found.add(full)
        else:
            self._found.difference_update((full, f"{full}/_delta_log"))

    def sync(self, folder: str) -> None:
        try:
            opened = os.open(self._full(folder), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
        except OSError as error:
            raise self._failed(folder, error) from error

    def verify(self) -> None:
        """Some file systems that can be mounted have no link(2)."""
        path = f"_binlog-connector-{uuid.uuid4().hex}"
        self.put_if_absent(path, b"")
        self.delete(path)

    def _full(self, path: str) -> str:
        return f"{self.root}/{checked_path(path)}"

    def _failed(self, path: str, error: OSError) -> MirrorError:
        if isinstance(error, FileNotFoundError) and (gone := self._taken(path)) is not None:
            return MirrorError(delta_errors.FOLDER_GONE, folder=gone)
        said = error.strerror or type(error).__name__
        return MirrorError(delta_errors.STORAGE_FAILED, path=f"{self.root}/{path}", said=said)

    @property
    def _is_away(self) -> bool:
        """Whether the mirror itself is not there, as where a machine has lost its mount."""
        known = self._found.intersection((self.root, f"{self.root}/{OWN_FOLDER}"))
        return not all(map(os.path.isdir, known))

    def _taken(self, path: str) -> str | None:
        """Return the folder of a table's file that is not there, but for the whole mirror's."""
        folder = os.path.dirname(self._full(path))  # noqa: PTH120
        is_own = path.startswith("_")
        if is_own or self._is_away or not os.path.isdir(self.root):  # noqa: PTH112
            return None
        if os.path.isdir(folder):  # noqa: PTH112
            return None
        while not os.path.isdir(parent := os.path.dirname(folder)):  # noqa: PTH112, PTH120
            folder = parent
        return folder

    def _unreadable(self, path: str, error: OSError) -> MirrorError:
        if error.errno not in _OF_ONE_FILE:
            return self._failed(path, error)
        file = f"{self.root}/{path}"
        return MirrorError(delta_errors.FILE_UNREADABLE, file=file, said=error.strerror)

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

    def _temporary(self, full: str, content: bytes | memoryview) -> str:
        """Write `content` next to `full`, under a name that readers of Delta ignore."""
        folder, name = os.path.split(full)
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(temporary, flags, 0o666)
        except FileNotFoundError:
            self._make(folder, name)
            file = os.open(temporary, flags, 0o666)
        self._found.add(folder)
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

    def _make(self, folder: str, name: str) -> None:
        """Make a folder for a file; raises FileNotFoundError if somebody has taken it away."""
        if self._is_away:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        known = folder
        while known not in self._found and known != self.root:
            known = os.path.dirname(known)  # noqa: PTH120
        if known in self._found and not os.path.isdir(known):  # noqa: PTH112
            parent = os.path.dirname(known)  # noqa: PTH120
            # Who deletes a table may want it made again, and files of the job alone come again.
            is_new_table = folder.endswith("/_delta_log") and name == f"{0:020}.json"
            is_deleted = parent.endswith(f"/{OWN_FOLDER}") and os.path.isdir(parent)  # noqa: PTH112
            if not (is_new_table or is_deleted):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103


def _of_worker(root: str) -> LocalStorage:
    """Return the storage of a worker: the driver has found the mirror, and the job's files in it.

    A machine that has lost its mount has an empty folder there, or none, and makes nothing in it.
    """
    storage = LocalStorage(root)
    storage.note_table(OWN_FOLDER, exists=True)
    storage._found.add(root)  # noqa: SLF001
    return storage


# Most files of a log and most small data files are read at once.
_READ_BYTES: Final = 64 * 1024


def _content(file: int, start: int, size: int) -> bytes:
    """Return `size` bytes from byte `start` of an open file, if it has so many; below 0, all.

    Python's own files ask the system four more times for each small file.
    """
    parts, at = [], start
    while size < 0 or at < start + size:
        wanted = max(_READ_BYTES, at - start)
        part = os.pread(file, wanted if size < 0 else min(wanted, start + size - at), at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


# Buckets of S3, by everybody's name and by Hadoop's, containers of Azure, by a name alone or with
# their account, and buckets of Google.
_OBJECTS: Final = {
    "s3": settings_errors.S3_EXTRA,
    "s3a": settings_errors.S3_EXTRA,
    "az": settings_errors.AZURE_EXTRA,
    "abfss": settings_errors.AZURE_EXTRA,
    "gs": settings_errors.GCS_EXTRA,
}
_AZURE_ACCOUNT: Final = "AZURE_STORAGE_ACCOUNT_NAME"
# By the scheme of a path, that of the requests, and the port of a namenode.
_HDFS: Final = {"webhdfs": ("http", 9870), "swebhdfs": ("https", 9871)}
# As Java's programs take the name of the user.
_HDFS_USER: Final = "HADOOP_USER_NAME"


def storage_of(path: str) -> Storage:
    """Return the storage whose root is `path`; nothing was asked of it yet.

    Raises ConfigError for an unknown scheme or a missing package.
    """
    parts = urlsplit(path)
    if not parts.scheme:
        return LocalStorage(str(Path(path).absolute()))
    if parts.scheme == "file" and not parts.netloc:
        return LocalStorage(unquote(parts.path))
    if parts.scheme in _OBJECTS and parts.netloc:
        return _objects(path, parts)
    if parts.scheme in _HDFS and parts.netloc:
        return _hdfs(path, parts)
    if parts.scheme == "hdfs":
        raise ConfigError(job_errors.HDFS_SCHEME, path=path)
    raise ConfigError(job_errors.PATH_SCHEME, path=path)


def with_account(path: str) -> str:
    """Return az://CONTAINER/FOLDER with its account, as Spark and Iceberg name it; else `path`."""
    parts = urlsplit(path)
    account = os.environ.get(_AZURE_ACCOUNT)
    if parts.scheme != "az" or not account:
        return path
    return f"abfss://{parts.netloc}@{account}.dfs.core.windows.net{parts.path}"


def _objects(path: str, parts: SplitResult) -> Storage:
    try:
        from stream_jobs.delta.object_storage import ObjectStorage  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(_OBJECTS[parts.scheme], path=path, said=error) from error
    if parts.scheme == "abfss" and "@" not in parts.netloc:
        raise ConfigError(job_errors.AZURE_PATH, path=path)
    scheme = "s3" if parts.scheme == "s3a" else parts.scheme
    return ObjectStorage(scheme, parts.netloc, unquote(parts.path).strip("/"))


def _hdfs(path: str, parts: SplitResult) -> Storage:
    try:
        from stream_jobs.delta.hdfs_storage import HdfsStorage, WebHdfs  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(settings_errors.HDFS_EXTRA, path=path, said=error) from error
    scheme, port = _HDFS[parts.scheme]
    hosts = [host if ":" in host else f"{host}:{port}" for host in parts.netloc.split(",")]
    user = os.environ.get(_HDFS_USER) or getpass.getuser()
    hdfs = WebHdfs(scheme, tuple(hosts), user)
    return HdfsStorage(hdfs, unquote(parts.path).rstrip("/"))

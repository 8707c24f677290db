"""Tables in a folder of HDFS.

Each file is written under a temporary name, and then renamed. A rename is one step of the namenode,
which refuses it if the new name is taken: that makes commits safe.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from connector.errors import MirrorError, mirror_tables
from stream_jobs.delta.object_file import ObjectFile
from stream_jobs.delta.storage import StoredFile, checked
from stream_jobs.delta.webhdfs import HdfsError, LoginError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.delta.webhdfs import WebHdfs

_MISSING = "FileNotFoundException"
_EXISTS = "FileAlreadyExistsException"


@dataclass(frozen=True, slots=True)
class HdfsStorage:
    """The files below the folder `root`, which begins with a slash and does not end with one."""

    hdfs: WebHdfs
    root: str

    def read(self, path: str) -> bytes | None:
        """See Storage."""
        try:
            return self.hdfs.call("GET", self._full(path), "OPEN")
        except HdfsError as error:
            self._require_absent(path, error)
            return None

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        """See Storage."""
        asked = {"offset": str(start), "length": str(size)}
        try:
            return self.hdfs.call("GET", self._full(path), "OPEN", asked)
        except HdfsError as error:
            if " out of the range " in str(error):
                return b""
            self._require_absent(path, error)
            return None

    def open(self, path: str) -> pa.NativeFile | None:
        """See Storage; the end of the file is read at once: Parquet files have an index there."""
        try:
            status = self.hdfs.ask("GET", self._full(path), "GETFILESTATUS")["FileStatus"]
        except HdfsError as error:
            self._require_absent(path, error)
            return None
        size = int(status["length"])
        start = max(size - ObjectFile.END_BYTES, 0)
        end = self.read_part(path, start, size - start) if size else b""
        if end is None:
            return None

        def read_part(start: int, size: int) -> bytes | None:
            return self.read_part(path, start, size)

        return pa.PythonFile(ObjectFile(read_part, size, end), mode="r")

    def write(self, path: str, content: bytes | memoryview) -> None:
        """See Storage."""
        try:
            self._place(path, content, "OVERWRITE")
        except HdfsError as error:
            raise self._failed(path, error) from error

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """See Storage."""
        try:
            self._place(path, content, "NONE")
        except HdfsError as error:
            if error.kind == _EXISTS:
                return False
            raise self._failed(path, error) from error
        return True

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        """See Storage."""
        try:
            yield from sorted(self._walk(self._full(folder), "", start_after))
        except HdfsError as error:
            raise self._failed(folder, error) from error

    def delete(self, path: str) -> None:
        """See Storage."""
        try:
            self.hdfs.ask("DELETE", self._full(path), "DELETE")
        except HdfsError as error:
            raise self._failed(path, error) from error

    def verify(self) -> None:
        """See Storage; a gateway before HDFS may not know all of it."""
        path = f"_binlog-connector-{uuid.uuid4().hex}"
        self.put_if_absent(path, b"1")
        self.write(path, b"2")
        self.delete(path)

    def _place(self, path: str, content: bytes | memoryview, options: str) -> None:
        """Write a file under a name that readers of Delta ignore, and give it its own."""
        try:
            self._rename_new(self._full(path), content, options)
        except HdfsError as error:
            if error.kind != _MISSING:
                raise
            # The answer to a rename was lost, and the repeated one did not find the file.
            self._rename_new(self._full(path), content, options)

    def _rename_new(self, full: str, content: bytes | memoryview, options: str) -> None:
        folder, _, name = full.rpartition("/")
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        self.hdfs.call("PUT", temporary, "CREATE", {"overwrite": "true"}, content)
        try:
            asked = {"destination": full, "renameoptions": options}
            self.hdfs.call("PUT", temporary, "RENAME", asked)
        except HdfsError:
            with suppress(HdfsError):
                self.hdfs.call("DELETE", temporary, "DELETE")
            raise

    def _walk(self, folder: str, prefix: str, start_after: str) -> Iterator[StoredFile]:
        try:
            listed = self.hdfs.ask("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        except HdfsError as error:
            if error.kind == _MISSING:
                return
            raise
        for each in listed:
            name = prefix + each["pathSuffix"]
            if each["type"] == "DIRECTORY":
                yield from self._walk(f"{folder}/{each['pathSuffix']}", f"{name}/", start_after)
            elif each["pathSuffix"] and name > start_after:
                yield StoredFile(name, each["length"], each["modificationTime"])

    def _full(self, path: str) -> str:
        return f"{self.root}/{checked(path)}"

    def _require_absent(self, path: str, error: HdfsError) -> None:
        """Raise the error if it is another one than that there is no such file."""
        if error.kind != _MISSING:
            raise self._failed(path, error) from error

    def _failed(self, path: str, error: HdfsError) -> MirrorError:
        name = f"webhdfs://{self.hdfs.hosts[0]}{self.root}/{path}"
        if isinstance(error, LoginError):
            return MirrorError(mirror_tables.HDFS_LOGIN, path=name, said=error.said)
        return MirrorError(mirror_tables.STORAGE_FAILED, path=name, said=error)

"""Tables in a folder of HDFS, over WebHDFS with simple authentication: only a user's name.

Each file is written under a temporary name and then renamed. A rename is one step of the
namenode, which refuses it if the new name is taken: that makes commits safe.

The namenode redirects a request about a file's bytes to a datanode. With several namenodes, the
active one answers, and the others say that they are standby.

https://hadoop.apache.org/docs/stable/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
import pyarrow as pa
import urllib3
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random
from urllib3 import BaseHTTPResponse

from stream_jobs.delta.storage import ObjectFile, StoredFile, checked_path
from stream_jobs.errors import MirrorError, delta_errors

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 60.0
_ATTEMPTS: Final = 4
_REDIRECT: Final = 307
_ERRORS: Final = 400
_UNAUTHORIZED: Final = 401
# What a namenode says that another one, or a later request, may do better.
_ELSEWHERE: Final = frozenset({"StandbyException", "RetriableException"})


class HdfsError(Exception):
    """An answer that is an error; `kind` is the exception of Java that HDFS names."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason


class UnavailableError(HdfsError):
    """No namenode has answered, or none of them is active."""


class LoginError(HdfsError):
    """The server wants more than a name."""


@dataclass(frozen=True, slots=True)
class WebHdfs:
    """The namenodes of a file system, and the user that asks them."""

    scheme: str  # http or https
    hosts: tuple[str, ...]  # HOST:PORT
    user: str

    def call(
        self,
        method: str,
        path: str,
        op: str,
        asked: Mapping[str, str] = _NOTHING,
        body: bytes | memoryview | None = None,
    ) -> bytes:
        """Return the answer to a request about `path`, which begins with a slash.

        Each request can be repeated. Raises HdfsError.
        """
        retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random(0.1, 1),
            reraise=True,
        )
        query = urlencode({"op": op, "user.name": self.user} | dict(asked))
        target = f"/webhdfs/v1{quote(path)}?{query}"
        answer: bytes = retrying(self._call_any, method, target, body)
        return answer

    def ask(self, method: str, path: str, op: str) -> dict[str, Any]:
        """Return the answer to a request as JSON; raises HdfsError."""
        answer = self.call(method, path, op)
        document: dict[str, Any] = orjson.loads(answer) if answer else {}
        return document

    def _call_any(self, method: str, target: str, body: bytes | memoryview | None) -> bytes:
        """Ask one namenode after the other."""
        errors = []
        for host in self.hosts:
            try:
                return self._call(method, f"{self.scheme}://{host}{target}", body)
            except UnavailableError as error:
                errors.append(error)
        raise errors[0]

    def _call(self, method: str, url: str, body: bytes | memoryview | None) -> bytes:
        try:
            answer = _pool().request(method, url, redirect=False)
            if answer.status == _REDIRECT:
                # The namenode must not get the content: it does not read it.
                place = answer.headers["Location"]
                kind = {"Content-Type": "application/octet-stream"}
                content = None if body is None else bytes(body)
                answer = _pool().request(method, place, body=content, headers=kind, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise UnavailableError(type(error).__name__, str(error)) from error
        if answer.status >= _ERRORS:
            raise _error(answer)
        return answer.data


def _error(answer: BaseHTTPResponse) -> HdfsError:
    if answer.status == _UNAUTHORIZED:
        return LoginError("Unauthorized", answer.headers.get("WWW-Authenticate", ""))
    try:
        exception = orjson.loads(answer.data)["RemoteException"]
        kind, message = str(exception["exception"]), str(exception["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = f"HTTP {answer.status}", answer.reason or ""
    # A stack trace follows.
    reason = message.partition("\n")[0]
    return UnavailableError(kind, reason) if kind in _ELSEWHERE else HdfsError(kind, reason)


@cache
def _pool() -> urllib3.PoolManager:
    """Return the connections of this process; threads share them."""
    timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    return urllib3.PoolManager(num_pools=64, maxsize=64, retries=False, timeout=timeout)


_MISSING = "FileNotFoundException"
_EXISTS = "FileAlreadyExistsException"


@dataclass(frozen=True, slots=True)
class HdfsStorage:
    """The files below the folder `root`, which begins with a slash and does not end with one."""

    hdfs: WebHdfs
    root: str

    def read(self, path: str) -> bytes | None:
        try:
            return self.hdfs.call("GET", self._full(path), "OPEN")
        except HdfsError as error:
            self._require_absent(path, error)
            return None

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        parameters = {"offset": str(start), "length": str(size)}
        try:
            return self.hdfs.call("GET", self._full(path), "OPEN", parameters)
        except HdfsError as error:
            if " out of the range " in str(error):
                return b""
            self._require_absent(path, error)
            return None

    def open(self, path: str) -> pa.NativeFile | None:
        """The end of the file is read at once: Parquet files have an index there."""
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
        try:
            self._place(path, content, "OVERWRITE")
        except HdfsError as error:
            raise self._failed(path, error) from error

    def put_if_absent(self, path: str, content: bytes) -> bool:
        try:
            self._place(path, content, "NONE")
        except HdfsError as error:
            if error.kind == _EXISTS:
                return False
            raise self._failed(path, error) from error
        return True

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        try:
            yield from sorted(self._walk(self._full(folder), "", start_after))
        except HdfsError as error:
            raise self._failed(folder, error) from error

    def folders(self, folder: str = "") -> Sequence[str]:
        full = self._full(folder) if folder else self.root
        try:
            listed = self._listed(full)
        except HdfsError as error:
            raise self._failed(folder, error) from error
        return sorted(own["pathSuffix"] for own in listed if own["type"] == "DIRECTORY")

    def delete(self, path: str) -> None:
        try:
            self.hdfs.ask("DELETE", self._full(path), "DELETE")
        except HdfsError as error:
            raise self._failed(path, error) from error

    def note_table(self, path: str, *, exists: bool) -> None:
        """Do nothing: HDFS makes folders by itself."""

    def sync(self, folder: str) -> None:
        """Do nothing: what was answered stays."""

    def verify(self) -> None:
        """A gateway before HDFS may not know all of it."""
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
        for entry in self._listed(folder):
            name = prefix + entry["pathSuffix"]
            if entry["type"] == "DIRECTORY":
                yield from self._walk(f"{folder}/{entry['pathSuffix']}", f"{name}/", start_after)
            elif entry["pathSuffix"] and name > start_after:
                yield StoredFile(name, entry["length"], entry["modificationTime"])

    def _listed(self, folder: str) -> Sequence[dict[str, Any]]:
        """Return the entries of a folder; none if it does not exist."""
        try:
            listed = self.hdfs.ask("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        except HdfsError as error:
            if error.kind == _MISSING:
                return []
            raise
        entries: Sequence[dict[str, Any]] = listed
        return entries

    def _full(self, path: str) -> str:
        return f"{self.root}/{checked_path(path)}"

    def _require_absent(self, path: str, error: HdfsError) -> None:
        """Raise the error if it is another one than that there is no such file."""
        if error.kind != _MISSING:
            raise self._failed(path, error) from error

    def _failed(self, path: str, error: HdfsError) -> MirrorError:
        name = f"webhdfs://{self.hdfs.hosts[0]}{self.root}/{path}"
        if isinstance(error, LoginError):
            return MirrorError(delta_errors.HDFS_LOGIN, path=name, said=error.reason)
        return MirrorError(delta_errors.STORAGE_FAILED, path=name, said=error)

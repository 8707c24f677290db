"""Tables in a bucket of S3 or of Google, or in a container of Azure, through the library obstore.

A put in its mode `create` is refused if the object exists: that makes commits safe. S3 and Azure
get `If-None-Match: *`, Google `x-goog-if-generation-match: 0`. Servers that do not know this header
would overwrite commits, so `verify` tries it first.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
https://learn.microsoft.com/en-us/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
https://cloud.google.com/storage/docs/request-preconditions
"""

import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import obstore
import pyarrow as pa
from obstore import exceptions

from stream_jobs.delta import storage_rights
from stream_jobs.delta.object_clients import Client, CredentialsError, client
from stream_jobs.delta.storage import ObjectFile, StoredFile, checked_path
from stream_jobs.errors import MirrorError, delta_errors

_ACCESS: Final = {
    "s3": storage_rights.AMAZON,
    "gs": storage_rights.GOOGLE,
    "az": storage_rights.AZURE,
    "abfss": storage_rights.AZURE,
}
_AZURE: Final = ("az", "abfss")
_FAILURES: Final = (exceptions.BaseError, OSError, ValueError)
_ATTEMPTS: Final = 10
# The answers to a range after the end of an object.
_EMPTY: Final = ("416 Range Not Satisfiable", "InvalidRange")
# A server that has not regarded the range.
_WHOLE: Final = "Received non-partial response when range requested"
# What is missing if no object is.
_NO_CONTAINER: Final = ("ContainerNotFound", "NoSuchBucket", "FilesystemNotFound")
# Names of errors that say that nobody has proved who asks.
_NOBODY: Final = (
    "AuthenticationFailed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidAuthenticationInfo",
    "InvalidToken",
    "NoAuthenticationInformation",
    "SignatureDoesNotMatch",
    "failed to authenticate",
    # Of the machine's identity, and of a token for a service principal.
    "169.254.169.254",
    "token request",
)
# Names of errors that say that the account may not do this.
_REFUSED: Final = ("AccessDenied", "AuthorizationFailure", "AuthorizationPermissionMismatch")
_CODE: Final = re.compile(r"<Code>([^<]+)</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<\n]*)")
# A signature that gives access to an account is a part of the URL.
_QUERY: Final = re.compile(r"\?\S*")
_SAID_CHARACTERS: Final = 300


class _Found(NamedTuple):
    """An object, or a part of it."""

    content: bytes
    size: int  # of the whole object


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """The objects of a bucket or container whose names begin with `prefix` and a slash."""

    scheme: str  # s3, gs, az or abfss
    host: str  # BUCKET, CONTAINER, or CONTAINER@ACCOUNT.dfs.core.windows.net
    prefix: str

    def read(self, path: str) -> bytes | None:
        found = self._get(path, {})
        return None if found is None else found.content

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        found = self._get(path, {"range": (start, start + size)})
        if found is None:
            return None
        is_whole = len(found.content) == found.size
        return found.content[start : start + size] if is_whole else found.content

    def open(self, path: str) -> pa.NativeFile | None:
        """The end of the object is read at once: Parquet files have an index there."""
        found = self._end(path)
        if found is None:
            return None

        def read_part(start: int, size: int) -> bytes | None:
            return self.read_part(path, start, size)

        return pa.PythonFile(ObjectFile(read_part, found.size, found.content), mode="r")

    def write(self, path: str, content: bytes | memoryview) -> None:
        key = self._key(path)
        try:
            # Arrow has signed bytes.
            obstore.put(self._client(), key, memoryview(content).cast("B"), use_multipart=False)
        except _FAILURES as error:
            raise self._failed(path, "write", error) from error

    def put_if_absent(self, path: str, content: bytes) -> bool:
        key = self._key(path)
        attempt = 0
        while True:
            try:
                obstore.put(self._client(), key, content, mode="create", use_multipart=False)
            except exceptions.AlreadyExistsError as error:
                if self._exists(path):
                    return False
                # Two puts of one object at the same time, or something else is in the way.
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise self._failed(path, "write", error) from error
                time.sleep(random.uniform(0, 0.2))  # noqa: S311 - not a secret
            except _FAILURES as error:
                raise self._failed(path, "write", error) from error
            else:
                return True

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        """Storages with folders of their own have another order of names, so they are sorted."""
        base = self._key(folder)
        after = f"{base}/{start_after}" if start_after else None
        found = []
        try:
            for page in obstore.list(self._client(), base, offset=after, chunk_size=1000):
                for entry in page:
                    name = entry["path"].removeprefix(f"{base}/")
                    modified = int(entry["last_modified"].timestamp() * 1000)
                    found.append(StoredFile(name, entry["size"], modified))
        except _FAILURES as error:
            raise self._failed(folder, "list", error) from error
        yield from sorted(found)

    def folders(self, folder: str = "") -> Sequence[str]:
        base = self._key(folder) if folder else self.prefix
        try:
            listed = obstore.list_with_delimiter(self._client(), base or None)
        except _FAILURES as error:
            raise self._failed(folder, "list", error) from error
        return sorted(name.rpartition("/")[2] for name in listed["common_prefixes"])

    def delete(self, path: str) -> None:
        key = self._key(path)
        try:
            obstore.delete(self._client(), key)
        except _FAILURES as error:
            self._require_absent(path, "delete", error)

    def note_table(self, path: str, *, exists: bool) -> None:
        """Buckets have no folders."""

    def sync(self, folder: str) -> None:
        """Do nothing: what was answered stays."""

    def verify(self) -> None:
        """A gateway may overwrite an object that has to be absent."""
        storage_rights.try_rights(self, self.host)

    def _get(self, path: str, options: Any) -> _Found | None:
        key = self._key(path)
        try:
            answer = obstore.get(self._client(), key, options=options)
            return _Found(bytes(answer.bytes()), answer.meta["size"])
        except _FAILURES as error:
            if any(name in str(error) for name in _EMPTY):
                return _Found(b"", 0)
            if options and _WHOLE in str(error):
                return self._get(path, {})
            self._require_absent(path, "read", error)
            return None

    def _end(self, path: str) -> _Found | None:
        if self.scheme not in _AZURE:
            return self._get(path, {"range": {"suffix": ObjectFile.END_BYTES}})
        # Azure has no ranges that are counted from the end.
        key = self._key(path)
        try:
            size = obstore.head(self._client(), key)["size"]
        except _FAILURES as error:
            self._require_absent(path, "read", error)
            return None
        start = max(size - ObjectFile.END_BYTES, 0)
        content = self.read_part(path, start, size - start) if size else b""
        return None if content is None else _Found(content, size)

    def _exists(self, path: str) -> bool:
        key = self._key(path)
        try:
            obstore.head(self._client(), key)
        except _FAILURES as error:
            self._require_absent(path, "read", error)
            return False
        return True

    def _key(self, path: str) -> str:
        return f"{self.prefix}/{checked_path(path)}" if self.prefix else checked_path(path)

    def _client(self) -> Client:
        return client(self.scheme, self.host)

    def _require_absent(self, path: str, action: storage_rights.Action, error: Exception) -> None:
        """Raise the error if it is another one than that there is no such object."""
        is_absent = isinstance(error, FileNotFoundError)
        if not is_absent or any(name in str(error) for name in _NO_CONTAINER):
            raise self._failed(path, action, error) from error

    def _failed(self, path: str, action: storage_rights.Action, error: Exception) -> MirrorError:
        key = self._key(path) if path else self.prefix
        name = f"{self.scheme}://{self.host}/{key}"
        access = _ACCESS[self.scheme]
        said = _said(error)
        is_unknown = isinstance(error, exceptions.UnauthenticatedError | CredentialsError)
        if is_unknown or any(code in said for code in _NOBODY):
            return storage_rights.no_login(access, name, said)
        if isinstance(error, exceptions.PermissionDeniedError) or said.startswith(_REFUSED):
            return storage_rights.no_right(access, name, action, said)
        return MirrorError(delta_errors.STORAGE_FAILED, path=name, said=said)


def _said(error: Exception) -> str:
    """Return what the storage has answered, in one line without secrets."""
    text = str(error)
    code = _CODE.search(text)
    if code:
        message = _MESSAGE.search(text)
        return f"{code[1]}: {message[1] if message else ''}"
    line = _QUERY.sub("", text.partition("\n")[0])
    return line[:_SAID_CHARACTERS]

"""Tables in a bucket of S3, or of a server that speaks its protocol.

A put with `If-None-Match: *` is refused if the object exists: that makes commits safe. Servers that
do not know this header would overwrite commits, so `verify` tries it first.

Credentials, region and endpoint are those of the AWS SDK: AWS_PROFILE, AWS_ENDPOINT_URL and others.
https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import boto3
import pyarrow as pa
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random

from stream_jobs.delta.storage import ObjectFile, StoredFile, checked_path
from stream_jobs.errors import MirrorError, delta_errors

_MISSING = "NoSuchKey"
_EMPTY = "InvalidRange"
_EXISTS = "PreconditionFailed"
# Two puts of one object at the same time: S3 asks to try again.
_AT_ONCE = "ConditionalRequestConflict"
_ATTEMPTS = 10


class _Found(NamedTuple):
    """An object, or a part of it."""

    content: bytes
    size: int  # of the whole object


@dataclass(frozen=True, slots=True)
class S3Storage:
    """The objects of `bucket` whose keys begin with `prefix` and a slash."""

    bucket: str
    prefix: str

    def read(self, path: str) -> bytes | None:
        answer = self._get(path)
        return None if answer is None else answer.content

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        answer = self._get(path, Range=f"bytes={start}-{start + size - 1}")
        return None if answer is None else answer.content

    def open(self, path: str) -> pa.NativeFile | None:
        """The end of the object is read at once: Parquet files have an index there."""
        answer = self._get(path, Range=f"bytes=-{ObjectFile.END_BYTES}")
        if answer is None:
            return None

        def read_part(start: int, size: int) -> bytes | None:
            return self.read_part(path, start, size)

        return pa.PythonFile(ObjectFile(read_part, answer.size, answer.content), mode="r")

    def write(self, path: str, content: bytes | memoryview) -> None:
        key = self._key(path)
        try:
            _client().put_object(Bucket=self.bucket, Key=key, Body=bytes(content))
        except (ClientError, BotoCoreError) as error:
            raise self._failed(path, error) from error

    def put_if_absent(self, path: str, content: bytes) -> bool:
        target = {"Bucket": self.bucket, "Key": self._key(path)}
        retrying = Retrying(
            retry=retry_if_exception(lambda error: _code(error) == _AT_ONCE),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random(0, 0.2),
            reraise=True,
        )
        try:
            retrying(_client().put_object, **target, Body=content, IfNoneMatch="*")
        except (ClientError, BotoCoreError) as error:
            if _code(error) == _EXISTS:
                return False
            raise self._failed(path, error) from error
        return True

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        base = self._key(folder) + "/"
        parameters = {"Bucket": self.bucket, "Prefix": base, "StartAfter": base + start_after}
        try:
            for page in _client().get_paginator("list_objects_v2").paginate(**parameters):
                for entry in page.get("Contents", ()):
                    modified = int(entry["LastModified"].timestamp() * 1000)
                    yield StoredFile(entry["Key"].removeprefix(base), entry["Size"], modified)
        except (ClientError, BotoCoreError) as error:
            raise self._failed(folder, error) from error

    def delete(self, path: str) -> None:
        key = self._key(path)
        try:
            _client().delete_object(Bucket=self.bucket, Key=key)
        except (ClientError, BotoCoreError) as error:
            raise self._failed(path, error) from error

    def verify(self) -> None:
        """A server may overwrite an object that has to be absent."""
        path = f"_binlog-connector-{uuid.uuid4().hex}"
        self.put_if_absent(path, b"1")
        overwritten = self.put_if_absent(path, b"2")
        self.delete(path)
        if overwritten:
            raise MirrorError(delta_errors.OVERWRITES, bucket=self.bucket)

    def _get(self, path: str, **parameters: str) -> _Found | None:
        key = self._key(path)
        try:
            answer = _client().get_object(Bucket=self.bucket, Key=key, **parameters)
            content = answer["Body"].read()
        except (ClientError, BotoCoreError) as error:
            if _code(error) == _MISSING:
                return None
            if _code(error) == _EMPTY:
                return _Found(b"", 0)
            raise self._failed(path, error) from error
        size = int(answer.get("ContentRange", f"/{len(content)}").rpartition("/")[2])
        return _Found(content, size)

    def _key(self, path: str) -> str:
        return f"{self.prefix}/{checked_path(path)}" if self.prefix else checked_path(path)

    def _failed(self, path: str, error: ClientError | BotoCoreError) -> MirrorError:
        said = error
        if isinstance(error, ClientError):
            said = f"{_code(error)}: {error.response['Error'].get('Message', '')}"
        name = f"s3://{self.bucket}/{self._key(path)}"
        return MirrorError(delta_errors.STORAGE_FAILED, path=name, said=said)


def _code(error: BaseException) -> str:
    """Return the code of an answer of S3; empty without an answer."""
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else ""


@cache
def _client() -> Any:
    """Return the client of this process; threads share it."""
    # Checksums in trailers are not known to many servers.
    config = Config(
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard"},
        max_pool_connections=64,
    )
    return boto3.client("s3", config=config)

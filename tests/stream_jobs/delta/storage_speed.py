"""How fast SeaweedFS answers through boto3, and through obstore, which the job uses.

python -m tests.stream_jobs.delta.storage_speed
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from stream_jobs.delta.object_storage import ObjectStorage
from tests.stream_jobs.catalog_server import serve_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BUCKET = "plain"
_SMALL = os.urandom(2_000)
_LARGE = os.urandom(8_000_000)
_TIMES = 400


class Boto3:
    """A bucket of S3 through boto3, with the requests of a storage."""

    def __init__(self) -> None:
        config = Config(
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries={"mode": "standard"},
            max_pool_connections=64,
        )
        self._client: Any = boto3.client("s3", config=config)

    def read(self, path: str) -> bytes | None:
        return self._get(Key=path)

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        return self._get(Key=path, Range=f"bytes={start}-{start + size - 1}")

    def write(self, path: str, content: bytes) -> None:
        self._client.put_object(Bucket=_BUCKET, Key=path, Body=content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        try:
            self._client.put_object(Bucket=_BUCKET, Key=path, Body=content, IfNoneMatch="*")
        except ClientError:
            return False
        return True

    def list(self, folder: str) -> Iterator[str]:
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=_BUCKET, Prefix=f"{folder}/"):
            yield from (entry["Key"] for entry in page.get("Contents", ()))

    def delete(self, path: str) -> None:
        self._client.delete_object(Bucket=_BUCKET, Key=path)

    def _get(self, **asked: str) -> bytes | None:
        try:
            content: bytes = self._client.get_object(Bucket=_BUCKET, **asked)["Body"].read()
        except ClientError:
            return None
        return content


def work(
    storage: Boto3 | ObjectStorage, run: str
) -> dict[str, tuple[int, Callable[[int], object]]]:
    """What is measured: how often, and what is done."""
    return {
        "put 2 kB": (_TIMES, lambda n: storage.write(f"{run}/a/{n:05}", _SMALL)),
        "put if absent": (_TIMES, lambda n: storage.put_if_absent(f"{run}/b/{n:05}", _SMALL)),
        "refused put": (_TIMES, lambda n: storage.put_if_absent(f"{run}/b/{n:05}", _SMALL)),
        "get 2 kB": (_TIMES, lambda n: storage.read(f"{run}/a/{n:05}")),
        "get what is absent": (_TIMES, lambda n: storage.read(f"{run}/c/{n:05}")),
        f"list of {_TIMES}": (20, lambda _: list(storage.list(f"{run}/a"))),
        "put 8 MB": (10, lambda n: storage.write(f"{run}/large/{n}", _LARGE)),
        "get 64 kB of 8 MB": (200, lambda n: storage.read_part(f"{run}/large/1", n * 4096, 65536)),
        "get 8 MB": (10, lambda n: storage.read(f"{run}/large/{n}")),
        "delete": (_TIMES, lambda n: storage.delete(f"{run}/b/{n:05}")),
    }


def measure(name: str, storage: Boto3 | ObjectStorage, threads: int) -> None:
    """Print wall and CPU milliseconds of this process for each request."""
    storage.write("first", b"1")
    with ThreadPoolExecutor(threads) as pool:
        for what, (times, do) in work(storage, f"{name}{threads}").items():
            began, cpu = time.perf_counter(), time.process_time()
            list(pool.map(do, range(times)))
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
            print(
                f"{name:8} {threads} threads  {what:20} {wall / times * 1000:8.2f} ms "
                f"{cpu / times * 1000:8.2f} ms CPU"
            )


_COST = """
import sys, time
def now():
    with open("/proc/self/status") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return time.process_time() * 1000, rss / 1024
import pyarrow, stream_jobs.delta.storages
began, memory = now()
if sys.argv[1] == "boto3":
    import boto3
    client = boto3.client("s3")
else:
    from stream_jobs.delta.object_storage import ObjectStorage
    storage = ObjectStorage("s3", "plain", "")
    storage._client()
ready, _ = now()
if sys.argv[1] == "boto3":
    client.list_objects_v2(Bucket="plain", Prefix="none/")
else:
    list(storage.list("none"))
done, most = now()
print(f"{sys.argv[1]:8} import and client {ready - began:.0f} ms CPU, first request "
      f"{done - ready:.0f} ms CPU, {most - memory:.0f} MB")
"""


def main() -> None:
    """Measure both."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextmanager(serve_catalog)(Path(folder)) as server,
    ):
        os.environ |= server.variables
        for name in ("boto3", "obstore"):
            subprocess.run([sys.executable, "-c", _COST, name], check=True)
        for threads in (1, 8):
            measure("boto3", Boto3(), threads)
            measure("obstore", ObjectStorage("s3", _BUCKET, ""), threads)


if __name__ == "__main__":
    main()

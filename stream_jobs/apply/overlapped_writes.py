"""Data files are written while the next tables of a task are applied.

To write a small file is mostly to wait: until the disk has it, or until a bucket answers. A task of
thousands of small tables would wait for each of them. So threads write small files, and the results
of a task leave it when all files are there: a commit names only files that exist.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore
from typing import Final

import pyarrow as pa

from stream_jobs.apply.table_failures import DEFECT_TYPES, table_defect
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.delta.storage import Storage, StoredFile
from stream_jobs.errors import MirrorError

# A disk syncs several files together, and a bucket answers many requests at a time.
_THREADS: Final = 8
# Larger files take longer to write than to wait for. With these numbers, 32 MB wait at most.
_SMALL_BYTES: Final = 1024 * 1024
_PENDING_MAX: Final = 32


class OverlappedWrites:
    """The storage of one task; small writes may still be under way when `write` returns."""

    def __init__(self, storage: Storage, pool: ThreadPoolExecutor) -> None:
        """Write to `storage`, small files in the threads of `pool`."""
        self._storage = storage
        self._pool = pool
        self._room = BoundedSemaphore(_PENDING_MAX)
        # By the name of a file, which is unique.
        self._pending: dict[str, Future[None]] = {}

    def finish(self, results: Iterable[PartResult]) -> None:
        """Wait for the files of `results`; one that cannot be written is the error of its table.

        Raises what else a write has raised.
        """
        for result in results:
            for file in result.files:
                writing = self._pending.pop(_name(file.path), None)
                if writing is None:
                    continue
                try:
                    writing.result()
                except MirrorError as error:
                    result.error = error
                except DEFECT_TYPES as error:
                    result.error = table_defect(result.topic, error)

    def wait(self) -> None:
        """Wait for all writes, however they end."""
        wait(self._pending.values())

    def write(self, path: str, content: bytes | memoryview) -> None:
        """Write a file, or begin to."""
        if len(content) > _SMALL_BYTES:
            self._storage.write(path, content)
            return
        self._room.acquire()
        self._pending[_name(path)] = self._pool.submit(self._write, path, content)

    def _write(self, path: str, content: bytes | memoryview) -> None:
        try:
            self._storage.write(path, content)
        finally:
            self._room.release()

    def read(self, path: str) -> bytes | None:
        return self._storage.read(path)

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        return self._storage.read_part(path, start, size)

    def open(self, path: str) -> pa.NativeFile | None:
        return self._storage.open(path)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        return self._storage.put_if_absent(path, content)

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        return self._storage.list(folder, start_after)

    def folders(self, folder: str = "") -> Sequence[str]:
        return self._storage.folders(folder)

    def delete(self, path: str) -> None:
        self._storage.delete(path)

    def note_table(self, path: str, *, exists: bool) -> None:
        self._storage.note_table(path, exists=exists)

    def sync(self, folder: str) -> None:
        self._storage.sync(folder)

    def verify(self) -> None:
        self._storage.verify()


@contextmanager
def overlapped_writes(storage: Storage) -> Iterator[OverlappedWrites]:
    """Write in threads for the length of a block; nothing is under way after it."""
    writes = OverlappedWrites(storage, _pool())
    try:
        yield writes
    finally:
        writes.wait()


@cache
def _pool() -> ThreadPoolExecutor:
    # A task of a few tables is over as soon as the threads of its own would have started.
    return ThreadPoolExecutor(_THREADS, "writes")


def _name(path: str) -> str:
    return path.rpartition("/")[2]

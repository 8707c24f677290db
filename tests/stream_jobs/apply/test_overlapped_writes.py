"""Small files are written together, and a result leaves a task when its file is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.overlapped_writes import overlapped_writes
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, delta_errors

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Meeting(LocalStorage):
    """A folder in which a write ends when three of them are under way."""

    barrier: Barrier = field(default_factory=lambda: Barrier(3, timeout=20))

    def write(self, path: str, content: bytes | memoryview) -> None:
        self.barrier.wait()
        LocalStorage.write(self, path, content)


@dataclass(frozen=True, slots=True)
class FullFolder(LocalStorage):
    """A folder that has room for the files of one table alone."""

    def write(self, path: str, content: bytes | memoryview) -> None:
        if path.startswith("lost/"):
            raise MirrorError(delta_errors.STORAGE_FAILED, path=path, said="no space")
        if path.startswith("odd/"):
            raise ValueError(path)
        if path.startswith("dead/"):
            raise KeyboardInterrupt
        LocalStorage.write(self, path, content)


def result(name: str) -> PartResult:
    return PartResult(name, files=(DataFile(f"{name}.parquet", 3, 1, 0),))


def test_files_are_written_together_and_are_there_when_the_results_leave(tmp_path: Path) -> None:
    results = [result(name) for name in ("a", "b", "c")]
    with overlapped_writes(Meeting(str(tmp_path))) as writes:
        for each in results:
            writes.write(f"{each.topic}/{each.topic}.parquet", each.topic.encode())
        writes.finish(results)
        assert [writes.read(f"{name}/{name}.parquet") for name in "abc"] == [b"a", b"b", b"c"]
    assert not any(each.error for each in results)


def test_a_file_that_cannot_be_written_is_the_error_of_its_table(tmp_path: Path) -> None:
    results = [result(name) for name in ("kept", "lost", "odd")]
    with overlapped_writes(FullFolder(str(tmp_path))) as writes:
        for each in results:
            writes.write(f"{each.topic}/{each.topic}.parquet", memoryview(b"PAR"))
        writes.finish(results)
    codes = [None if each.error is None else each.error.code for each in results]
    assert codes[:2] == [None, delta_errors.STORAGE_FAILED]
    assert codes[2] is not None
    assert (tmp_path / "kept" / "kept.parquet").read_bytes() == b"PAR"


def test_what_ends_a_process_ends_the_task(tmp_path: Path) -> None:
    with overlapped_writes(FullFolder(str(tmp_path))) as writes:
        writes.write("dead/dead.parquet", b"PAR")
        with pytest.raises(KeyboardInterrupt):
            writes.finish([result("dead")])


def test_a_large_file_is_there_at_once(tmp_path: Path) -> None:
    content = bytes(2 * 1024 * 1024)
    with overlapped_writes(LocalStorage(str(tmp_path))) as writes:
        writes.write("t/large.parquet", content)
        assert (tmp_path / "t" / "large.parquet").read_bytes() == content

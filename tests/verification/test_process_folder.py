"""Temporary files go with their process, also if it is interrupted or killed."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from verification.process_folder import process_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert tempfile.tempdir == str(tmp_path)


def test_an_interrupted_process_leaves_no_file(root: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    # As a thread has it that is not waited for.
    kept = []

    def interrupted() -> None:
        with process_folder():
            kept.append(TemporaryDirectory(prefix="rows-"))
            (folder,) = root.iterdir()
            assert Path(kept[0].name).is_relative_to(folder)
            Path(kept[0].name, "rows-0").write_bytes(b"digests")
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(root.iterdir())
    with pytest.raises(FileNotFoundError):
        Path(kept[0].name, "rows-1").write_bytes(b"more digests")
    assert signal.getsignal(signal.SIGTERM) == before
    kept[0].cleanup()


@contextmanager
def process_folder_at(root: Path, changed: pytest.MonkeyPatch) -> Iterator[None]:
    """As another process has it."""
    changed.setattr(tempfile, "tempdir", str(root))
    with process_folder():
        yield


def test_what_a_killed_process_has_left_is_removed_by_the_next_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process_folder():
        (folder,) = root.iterdir()
        # It has the lock, so another process leaves it alone.
        with monkeypatch.context() as changed, process_folder_at(root, changed):
            (other,) = set(root.iterdir()) - {folder}
        assert list(root.iterdir()) == [folder]
    for place in (folder, other):
        place.mkdir()
        (place / "rows-0").write_bytes(b"digests")
    lock = os.open(other, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (root / "another").mkdir()
    with process_folder():
        assert not folder.exists()
    assert {place.name for place in root.iterdir()} == {"another", other.name}
    os.close(lock)


def test_without_a_place_for_files_what_needs_none_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(tempfile, "tempdir", str(root / "missing"))
        with process_folder(), pytest.raises(FileNotFoundError):
            TemporaryDirectory()

"""A folder for the temporary files of this process, which goes with it however it ends.

Digests of rows are sorted on disk: gigabytes, of large tables. A command that is interrupted leaves
threads that still write, and runs no more code of theirs. So all files lie in one folder, and the
command removes that. If it is killed, the next one does: a folder without a lock has no process.
"""

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "binlog-connector-verification-"


@contextmanager
def process_folder() -> Iterator[None]:
    """Keep what `tempfile` makes in a folder for the length of a block, and remove the folder.

    SIGTERM ends the block as Ctrl-C does, by KeyboardInterrupt. Where no folder can be made, files
    cannot be made either, and what needs one says so: many comparisons need none.
    """
    try:
        root = Path(tempfile.gettempdir())
        _remove_abandoned(root)
        folder, lock = _locked_folder(root)
    except OSError:
        yield
        return
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        tempfile.tempdir = before
        _remove(folder)
        os.close(lock)


def _locked_folder(root: Path) -> tuple[Path, int]:
    """Return a new folder, and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        lock = _opened(folder)
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)
        # Another process has taken it for one that was left.


def _opened(folder: Path) -> int | None:
    """Return a descriptor of a folder; None if it is gone, or of another user."""
    with suppress(OSError):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    return None


def _remove_abandoned(root: Path) -> None:
    """Remove the folders of processes that were killed."""
    for folder in root.glob(f"{_PREFIX}*"):
        lock = _opened(folder)
        if lock is None:
            continue
        with suppress(OSError):
            # Its process holds it as long as it lives.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        os.close(lock)


def _remove(folder: Path) -> None:
    # Under the old name, threads that still run can make no other file.
    gone = folder.rename(f"{folder}-gone")
    shutil.rmtree(gone, ignore_errors=True)

"""Files of the folder: its lock, names of segments, and writes that are on the disk."""

import fcntl
import os
import re
from errno import EAGAIN, EWOULDBLOCK
from pathlib import Path
from typing import Final

from connector.foundation.errors.kinds import SinkRefused
from connector.kafka.folder import folder_errors
from connector.kafka.folder.mounts import network_type
from connector.kafka.folder.results import FolderInUse

_LOCK: Final = "lock"
_NEW: Final = ".new"  # a file that is not whole yet
_SEGMENT: Final = re.compile(r"([0-9]{20})\.log")


def lock(folder: Path) -> int:
    """Return the descriptor of the lock file, which holds the lock until it is closed.

    Raises FolderInUse if it is taken, OSError, or SinkRefused on a file system whose locks do not
    keep all others out.
    """
    if kind := network_type(folder):
        raise SinkRefused(folder_errors.NETWORK, folder=folder, kind=kind)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in {EAGAIN, EWOULDBLOCK}:
            raise FolderInUse(folder) from None
        raise SinkRefused(folder_errors.NO_LOCKS, folder=folder, why=error.strerror) from error
    return descriptor


def segment_path(folder: Path, segment: int) -> Path:
    """Return the file of a segment."""
    return folder / f"{segment:020}.log"


def index_path(folder: Path, segment: int) -> Path:
    """Return the file of a segment's index."""
    return folder / f"{segment:020}.index"


def compacted_path(folder: Path) -> Path:
    """Return the file that says how many bytes compaction has left; it may be missing."""
    return folder / "compacted"


def segments(folder: Path) -> list[int]:
    """Return the numbers of all segments, in order; remove files that were never whole."""
    found = []
    for path in folder.iterdir():
        if path.suffix == _NEW:
            path.unlink()
        elif match := _SEGMENT.fullmatch(path.name):
            found.append(int(match[1]))
    return sorted(found)


def replace(path: Path, content: bytes) -> None:
    """Write a whole file: at each moment the disk has either the old one or the new one."""
    rename_new(write_new(path, content), path)


def write_new(path: Path, content: bytes) -> Path:
    """Write what is to replace a file under another name, which is returned."""
    new = path.with_name(path.name + _NEW)
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write(descriptor, content, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def rename_new(new: Path, path: Path) -> None:
    """Let a file of `write_new` take its place."""
    new.rename(path)
    sync_folder(path.parent)


def write(descriptor: int, content: bytes | memoryview, position: int) -> None:
    """Write all bytes at a position."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(descriptor, rest, position)
        position += written
        rest = rest[written:]


def sync_folder(folder: Path) -> None:
    """Have names of files on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_segment(folder: Path, segment: int) -> None:
    """Remove a segment and its index; raises OSError."""
    index_path(folder, segment).unlink(missing_ok=True)
    segment_path(folder, segment).unlink()

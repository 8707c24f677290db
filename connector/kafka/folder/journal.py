"""The journal: frames go to the end of the last segment, and `fdatasync` puts them on the disk.

Callers that wait for the disk at the same time share one `fdatasync`. It runs without the lock, so
readers and writers go on. A segment ends on the disk before the next one begins, and a new one has
a first frame when it gets its name.
"""

import os
import threading
from collections.abc import Callable
from errno import EBADF
from pathlib import Path
from typing import Final, NamedTuple

import structlog
from kafka import errors

from connector.kafka.folder import files, frames
from connector.kafka.folder.frames import Event, Kind

SEGMENT_BYTES: Final = 64 * 1024 * 1024


class Place(NamedTuple):
    """Where a frame lies; `end` counts the bytes of the journal since the opening, with it."""

    position: int
    size: int
    end: int


class Journal:
    """The last segment, open for frames.

    `lock` is held by callers, but for `await_disk`.
    """

    def __init__(
        self,
        folder: Path,
        lock: threading.Lock,
        segment: int,
        size: int,
        on_disk: Callable[[int], None],
    ) -> None:
        """Go on at the end of a segment, which is on the disk.

        `on_disk` is called with the lock, and the `end` up to which all is on the disk now.
        """
        self.segment = segment
        self.size = size
        self._folder = folder
        self._on_disk = on_disk
        self._descriptor = self._open()
        # In bytes of the journal: where the segment begins, what is written, what is on the disk.
        self._begin = -size
        self.written = 0
        self._synced = 0
        self._is_syncing = False
        self._lock = lock
        self._turn = threading.Condition(lock)
        self.failure: OSError | None = None

    def check(self) -> None:
        """Raise KafkaStorageError if the disk has failed."""
        if self.failure is not None:
            raise errors.KafkaStorageError(str(self.failure)) from self.failure

    def write(self, event: Event) -> Place:
        """Write the frame of an event; raises KafkaStorageError, and then nothing is written."""
        self.check()
        kind, body = frames.body_of(event)
        synced = max(self._synced - self._begin, 0)
        frame = frames.encode(self.segment, self.size, kind, body, synced)
        try:
            files.write(self._descriptor, frame, self.size)
        except OSError as error:
            self._undo(error)
            raise errors.KafkaStorageError(str(error)) from error
        position = self.size
        self.size += len(frame)
        self.written += len(frame)
        return Place(position, len(frame), self.written)

    def begin_segment(self, segment: int, state: bytes) -> None:
        """End the segment, and begin another with a state, right after `settle`.

        Raises KafkaStorageError.
        """
        self.check()
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise self._failed(error) from error
        self._report(self.written)
        try:
            self._create(segment, state)
        except OSError as error:
            raise errors.KafkaStorageError(str(error)) from error

    def settle(self) -> None:
        """Wait until nobody else waits for the disk, which may give the lock away."""
        while self._is_syncing:
            self._turn.wait()

    def await_disk(self, end: int) -> None:
        """Wait, without the lock, until all is on the disk up to an `end`."""
        with self._lock:
            while self._synced < end:
                self.check()
                if self._is_syncing:
                    self._turn.wait()
                else:
                    self._sync()

    def close(self) -> None:
        """Close the file, after the last `fdatasync`."""
        self.settle()
        os.close(self._descriptor)
        if self.failure is None:
            self.failure = OSError(EBADF, "the log is closed")

    def _sync(self) -> None:
        self._is_syncing = True
        end, descriptor = self.written, self._descriptor
        self._lock.release()
        error: OSError | None = None
        try:
            os.fdatasync(descriptor)
        except OSError as failure:
            error = failure
        finally:
            self._lock.acquire()
            self._is_syncing = False
            self._turn.notify_all()
        if error is not None:
            raise self._failed(error) from error
        self._report(end)

    def _report(self, end: int) -> None:
        if end > self._synced:
            self._synced = end
            self._on_disk(end)

    def _create(self, segment: int, state: bytes) -> None:
        frame = frames.encode(segment, 0, Kind.STATE, state, 0)
        files.replace(files.segment_path(self._folder, segment), frame)
        old, self.segment = self._descriptor, segment
        try:
            self._descriptor = self._open()
        except OSError as error:
            # Its name is there, so nothing may be written to the old one any more.
            raise self._failed(error) from error
        os.close(old)
        self._begin = self.written
        self.written = self._synced = self.written + len(frame)
        self.size = len(frame)

    def _open(self) -> int:
        path = files.segment_path(self._folder, self.segment)
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def _undo(self, error: OSError) -> None:
        """Remove a part of a frame, as a full disk leaves it."""
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError:
            self._failed(error)

    def _failed(self, error: OSError) -> errors.KafkaStorageError:
        # The kernel may have dropped what it could not write, and a second fdatasync would not say
        # so: https://wiki.postgresql.org/wiki/Fsync_Errors
        self.failure = error
        structlog.get_logger().error("the disk of the log failed", error=str(error))
        return errors.KafkaStorageError(str(error))

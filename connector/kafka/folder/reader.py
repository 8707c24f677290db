"""Reads batches from segments. The lock is needed to find them, and not to read them.

Files are opened while the lock is held: cleaning may replace the file of a segment, and a thread
that has opened the old one can read it to the end.
"""

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from kafka import errors

from connector.kafka.folder import batches, files, frames
from connector.kafka.folder.folder_errors import LogDamaged
from connector.kafka.folder.frames import Append, End, Key
from connector.kafka.folder.log_index import LogIndex

# Frames of others between two are read, too, if they are smaller.
_GAP_BYTES_MAX: Final = 16 * 1024
_RUN_BYTES_MAX: Final = 4 * 1024 * 1024
# So many segments one reader has open at a time.
_SEGMENTS_MAX: Final = 32
# A batch in which the partition begins may have its largest timestamp before that.
_CANDIDATES: Final = 2


class _Frame(NamedTuple):
    position: int
    size: int


class _Source(NamedTuple):
    segment: int
    path: Path
    descriptor: int
    wanted: list[_Frame]


class Unreadable(errors.KafkaStorageError):  # type: ignore[misc]  # the library has no types
    """What one request wants cannot be read; nothing was written, so the log is still of use."""


class BatchReader:
    """Batches of one partition, chosen with the lock and read without it.

    `with` closes the files, gives errors of the disk and damage to `tell`, and raises Unreadable or
    CorruptRecordError for them.
    """

    def __init__(self, folder: Path, tell: Callable[[OSError | LogDamaged], None]) -> None:
        """Begin without batches."""
        self._folder = folder
        self._tell = tell
        self._key: Key = (0, 0)
        self._sources: list[_Source] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for source in self._sources:
            os.close(source.descriptor)
        if isinstance(error, (OSError, LogDamaged)):
            self._tell(error)
            failure = Unreadable if isinstance(error, OSError) else errors.CorruptRecordError
            raise failure(str(error)) from error

    def choose(self, index: LogIndex, key: Key, offset: int, limit: int, max_bytes: int) -> int:
        """Choose batches from an offset to below another; return the offset after them.

        They have `max_bytes` at most, and come from 32 segments at most, but there is one if it
        exists. The caller has the lock.
        """
        self._key = key
        total = 0
        end = offset
        for segment, entries, first in index.find(key, offset):
            if len(self._sources) == _SEGMENTS_MAX:
                return end
            for at in range(first, entries.high):
                last, size = entries.lasts[at], entries.sizes[at]
                if last >= limit or (total and total + size > max_bytes):
                    return end
                self._add(segment, entries.positions[at], size)
                total += size
                end = last + 1
        return end

    def choose_time(
        self, index: LogIndex, key: Key, timestamp_ms: int, start: int, limit: int
    ) -> None:
        """Choose the batches that may have the first record from a timestamp on.

        It has an offset from `start` to below a limit. The caller has the lock.
        """
        self._key = key
        count = 0
        for segment, entries, at in index.find_time(key, timestamp_ms):
            last = entries.lasts[at]
            if last >= limit:
                return
            if last >= start:
                self._add(segment, entries.positions[at], entries.sizes[at])
                count += 1
                if count == _CANDIDATES:
                    return

    def read(self) -> list[bytes]:
        """Return the chosen batches; raises LogDamaged."""
        found: list[bytes] = []
        for source in self._sources:
            run: list[_Frame] = []
            for wanted in source.wanted:
                if run and (
                    wanted.position - run[-1].position - run[-1].size > _GAP_BYTES_MAX
                    or wanted.position - run[0].position > _RUN_BYTES_MAX
                ):
                    self._read_run(source, run, found)
                    run = []
                run.append(wanted)
            self._read_run(source, run, found)
        return found

    def _add(self, segment: int, position: int, size: int) -> None:
        """Choose a batch, after those before; the caller has the lock."""
        if not self._sources or self._sources[-1].segment != segment:
            path = files.segment_path(self._folder, segment)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._sources.append(_Source(segment, path, descriptor, []))
        self._sources[-1].wanted.append(_Frame(position, size))

    def _read_run(self, source: _Source, run: list[_Frame], found: list[bytes]) -> None:
        origin = run[0].position
        end = run[-1].position + run[-1].size
        try:
            data = os.pread(source.descriptor, end - origin, origin)
        except OSError as error:
            raise LogDamaged(source.path, origin, str(error)) from error
        for wanted in run:
            frame = frames.decode(source.segment, data, wanted.position, origin)
            batch = None if frame is None else _batch_of(frames.event_of(frame), self._key)
            if batch is None:
                what = "a batch has become another one"
                raise LogDamaged(source.path, wanted.position, what)
            found.append(batch)


def _batch_of(event: frames.Event, key: Key) -> bytes | None:
    """Return the batch that an event has in a partition."""
    if isinstance(event, Append) and event.key == key:
        return event.batch
    if isinstance(event, End):
        for topic, partition, offset, _ in event.markers:
            if (topic, partition) == key:
                return batches.control_batch(
                    offset, event.producer_id, event.epoch, event.time_ms, commit=event.commit
                )
    return None

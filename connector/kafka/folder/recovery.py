"""What a folder has when it is opened: the last segment is read, and the indexes of the others.

A power failure may leave anything where bytes were not on the disk yet: a tail without valid
frames, or with a hole. It is cut off. Damage of what was on the disk is refused: in a closed
segment, or before a frame that says so.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from connector.kafka.folder import files, frames
from connector.kafka.folder.folder_errors import LogDamaged
from connector.kafka.folder.frames import Kind
from connector.kafka.folder.journal import Place
from connector.kafka.folder.log_index import LogIndex
from connector.kafka.folder.state import LogState

_FIRST: Final = 1


class Recovered(NamedTuple):
    """The state, the index, the last segment and its bytes; and whether a tail was cut off."""

    state: LogState
    log_index: LogIndex
    segment: int
    size: int
    is_cut: bool


def recover(folder: Path) -> Recovered:
    """Read a folder, whose lock the caller has; raises LogDamaged, LogNewer, OSError."""
    numbers = files.segments(folder)
    if not numbers:
        empty = frames.encode(_FIRST, 0, Kind.STATE, LogState().encode(set()), 0)
        files.replace(files.segment_path(folder, _FIRST), empty)
        numbers = [_FIRST]
    *closed, last = numbers
    state = LogState()
    index = LogIndex(folder, lambda key: state.partition(key) is not None)
    index.begin(last)
    path = files.segment_path(folder, last)
    data = path.read_bytes()
    end, synced = _replay(last, data, state, index)
    if end == 0:
        raise LogDamaged(path, 0, "the first frame is not valid")
    if end < len(data):
        _cut(path, last, data, end)
    _put_on_disk(path, data, synced, end)
    _open_closed(folder, closed, state, index)
    for topic in state.topics.values():
        for key, partition in zip(topic.keys(), topic.partitions, strict=True):
            index.forget(key, partition.start_offset)
    return Recovered(state, index, last, end, end < len(data))


def _replay(segment: int, data: bytes, state: LogState, index: LogIndex) -> tuple[int, int]:
    """Apply the frames of the last segment.

    Return the end of the last valid one, and up to where the frames say that all is on the disk.
    """
    end = synced = 0
    for frame in frames.frames(segment, data):
        if frame.position == 0:
            if frame.kind is not Kind.STATE:
                return 0, 0
            state.load(frame.body)
        else:
            event = frames.event_of(frame)
            state.apply(event)
            index.add(event, Place(frame.position, frame.size, 0))
        end = frame.position + frame.size
        synced = max(synced, frame.synced)
    return end, synced


def _cut(path: Path, segment: int, data: bytes, end: int) -> None:
    later = frames.kept_after(segment, data, end)
    if later is not None:
        raise LogDamaged(
            path, end, f"no valid frame begins here, but one was kept at {later.position}"
        )
    structlog.get_logger().warning(
        "the end of the log was not on the disk, and is cut off",
        file=str(path),
        position=end,
        bytes=len(data) - end,
    )
    os.truncate(path, end)


def _put_on_disk(path: Path, data: bytes, synced: int, end: int) -> None:
    """Have the bytes of a segment on the disk up to an end, of which `synced` are there."""
    # A process that was killed may have left what is not there. If a sync of that process failed,
    # the kernel takes the pages for written, and a sync alone would not write them again.
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        files.write(descriptor, memoryview(data)[synced:end], synced)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_closed(folder: Path, closed: list[int], state: LogState, index: LogIndex) -> None:
    missing = state.segments.difference(closed)
    if missing:
        raise LogDamaged(files.segment_path(folder, min(missing)), 0, "the file is missing")
    for segment in closed:
        if segment in state.segments:
            index.open_closed(segment)
        else:
            files.remove_segment(folder, segment)

"""Where the batches of a segment are: in memory while it grows, then in a file beside it.

::

    "FLI1" 4 │ checksum of the rest 4 │ size of the segment 8 │ partitions 4 │ aborted 4 │ entries 8
    partitions: topic 4 │ partition 4 │ entries 8 │ largest timestamp 8 │ bytes 8
    aborted transactions: topic 4 │ partition 4 │ producer id 8 │ first offset 8 │ marker's offset 8
    last offsets 8 each │ timestamps 8 each │ positions 4 each │ sizes 4 each

Columns are in the order of the partitions, so the entries of one partition can be read alone.

The file can be made from the segment at any time, so one that is missing or wrong is made.
"""

import os
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from connector.kafka.folder import batches, files, frames
from connector.kafka.folder.frames import Append, End, Event, Frame, Key, Kind

_MAGIC: Final = b"FLI1"
_START: Final = Struct("<4sI")
_HEAD: Final = Struct("<QIIQ")
_PARTITION: Final = Struct("<IIQqQ")
_ABORTED: Final = Struct("<IIQqq")
_COLUMNS: Final = "qqII"
NO_TIME: Final = -1  # of a marker


class Layout(NamedTuple):
    """Where the columns of a file begin, and how many entries each has."""

    start: int
    total: int


class Aborted(NamedTuple):
    """An aborted transaction in a partition: its first offset, and that of its marker."""

    producer_id: int
    first: int
    marker: int


@dataclass(slots=True)
class Entries:
    """The batches of one partition in one segment, from `low` to below `high` in the columns."""

    lasts: "array[int]" = field(default_factory=lambda: array("q"))  # the last offset of each
    times: "array[int]" = field(default_factory=lambda: array("q"))  # its largest timestamp
    positions: "array[int]" = field(default_factory=lambda: array("I"))
    sizes: "array[int]" = field(default_factory=lambda: array("I"))  # of the frames
    low: int = 0
    high: int = 0
    time_max: int = NO_TIME
    bytes: int = 0  # of batches, without markers

    def add(self, last: int, time_ms: int, position: int, size: int) -> None:
        """Add a batch, after all others."""
        self.lasts.append(last)
        self.times.append(time_ms)
        self.positions.append(position)
        self.sizes.append(size)
        self.high += 1
        self.time_max = max(self.time_max, time_ms)
        if time_ms != NO_TIME:
            self.bytes += size

    @property
    def last(self) -> int:
        """The last offset of all; there is one batch at least."""
        return self.lasts[self.high - 1]

    def find(self, offset: int) -> int:
        """Return the number of the batch with an offset, or of the next one."""
        return bisect_left(self.lasts, offset, self.low, self.high)


class SegmentIndex:
    """The batches of a segment by their partitions, and the transactions that it aborts."""

    def __init__(self) -> None:
        """Begin without batches."""
        self.partitions: dict[Key, Entries] = {}
        self.aborted: list[tuple[Key, Aborted]] = []

    def add(self, event: Event, position: int, size: int) -> None:
        """Add what an event puts into partitions, if anything."""
        if isinstance(event, Append):
            header = batches.header_of(event.batch)
            self._entries(event.key).add(
                header.last_offset, header.max_timestamp_ms, position, size
            )
        elif isinstance(event, End):
            for topic, partition, offset, first in event.markers:
                key = topic, partition
                self._entries(key).add(offset, NO_TIME, position, size)
                if not event.commit and first >= 0:
                    self.aborted.append((key, Aborted(event.producer_id, first, offset)))

    @property
    def layout(self) -> Layout:
        """How the file has the columns."""
        head = len(self.partitions) * _PARTITION.size + len(self.aborted) * _ABORTED.size
        total = sum(entries.high - entries.low for entries in self.partitions.values())
        return Layout(_START.size + _HEAD.size + head, total)

    def _entries(self, key: Key) -> Entries:
        entries = self.partitions.get(key)
        if entries is None:
            entries = self.partitions[key] = Entries()
        return entries


def indexed(found: Iterable[Frame]) -> SegmentIndex:
    """Return the index of the frames of a segment."""
    index = SegmentIndex()
    for frame in found:
        if frame.kind in {Kind.APPEND, Kind.END}:
            index.add(frames.event_of(frame), frame.position, frame.size)
    return index


def write(path: Path, index: SegmentIndex, segment_size: int) -> None:
    """Write the file of an index; raises OSError."""
    columns: list[bytearray] = [bytearray() for _ in range(4)]
    directory = bytearray()
    total = 0
    for (topic, partition), entries in index.partitions.items():
        count = entries.high - entries.low
        directory += _PARTITION.pack(topic, partition, count, entries.time_max, entries.bytes)
        total += count
        sources = entries.lasts, entries.times, entries.positions, entries.sizes
        for column, source in zip(columns, sources, strict=True):
            column.extend(_little(source[entries.low : entries.high]).tobytes())
    aborted = b"".join(_ABORTED.pack(*key, *each) for key, each in index.aborted)
    head = _HEAD.pack(segment_size, len(index.partitions), len(index.aborted), total)
    rest = b"".join((head, directory, aborted, *columns))
    files.replace(path, _START.pack(_MAGIC, zlib.crc32(rest)) + rest)


def read(path: Path, segment_size: int) -> SegmentIndex | None:
    """Read the file of an index; None if it is missing, wrong, or not of this segment."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) < _START.size + _HEAD.size:
        return None
    magic, checksum = _START.unpack_from(content)
    rest = memoryview(content)[_START.size :]
    if magic != _MAGIC or checksum != zlib.crc32(rest):
        return None
    size, partitions, aborted, total = _HEAD.unpack_from(rest)
    if size != segment_size:
        return None
    return _decoded(rest[_HEAD.size :], partitions, aborted, total)


def read_entries(path: Path, layout: Layout, low: int, count: int) -> Entries | None:
    """Read the entries of one partition, from the number `low` on; None if they are not there.

    The file was whole when the log was opened, or this process has written it. Raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        columns = list(_slices(descriptor, layout, low, count))
    finally:
        os.close(descriptor)
    lasts, times, positions, sizes = columns
    if len(sizes) < count:
        return None
    return Entries(lasts, times, positions, sizes, 0, count)


def _slices(descriptor: int, layout: Layout, low: int, count: int) -> "Iterator[array[int]]":
    start = layout.start
    for typecode in _COLUMNS:
        column = array(typecode)
        size = column.itemsize
        data = os.pread(descriptor, count * size, start + low * size)
        column.frombytes(data[: len(data) // size * size])
        yield _little(column)
        start += layout.total * size


def _decoded(rest: memoryview, partitions: int, aborted: int, total: int) -> SegmentIndex:
    index = SegmentIndex()
    directory_end = partitions * _PARTITION.size
    at = directory_end + aborted * _ABORTED.size
    columns = []
    for typecode in _COLUMNS:
        column = array(typecode)
        end = at + total * column.itemsize
        column.frombytes(rest[at:end])
        columns.append(_little(column))
        at = end
    lasts, times, positions, sizes = columns
    low = 0
    for topic, partition, count, time_max, size in _PARTITION.iter_unpack(rest[:directory_end]):
        high = low + count
        index.partitions[topic, partition] = Entries(
            lasts, times, positions, sizes, low, high, time_max, size
        )
        low = high
    ended = rest[directory_end : directory_end + aborted * _ABORTED.size]
    for topic, partition, producer_id, first, marker in _ABORTED.iter_unpack(ended):
        index.aborted.append(((topic, partition), Aborted(producer_id, first, marker)))
    return index


def _little(column: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column

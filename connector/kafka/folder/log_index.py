"""Where the batches of all partitions are, over all segments.

In memory are, for each partition, the segments that have batches of it, and the last segment's
batches. Of closed segments, a partition's part of the index is read when it is needed: the whole
one may be a thousand times as large. A few whole ones are kept.
"""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import structlog

from connector.kafka.folder import files, folder_errors, frames, segment_index
from connector.kafka.folder.frames import Event, Key
from connector.kafka.folder.journal import Place
from connector.kafka.folder.segment_index import Aborted, Entries, Layout, SegmentIndex

_KEPT_MAX: Final = 8


class Spans:
    """The closed segments that have batches of one partition, oldest first."""

    __slots__ = ("bytes", "counts", "lasts", "lows", "segments", "times")

    def __init__(self) -> None:
        """Begin without segments."""
        self.segments = array("I")
        self.lasts = array("q")  # the last offset in each
        self.times = array("q")  # the largest timestamp in each
        self.bytes = array("q")
        # Where the entries are in the columns of each file, and how many.
        self.lows = array("I")
        self.counts = array("I")

    def add(self, segment: int, entries: Entries, low: int) -> None:
        """Add a segment whose file has the entries from the number `low` on, or replace it."""
        self.remove(segment)
        at = bisect_left(self.segments, segment)
        self.segments.insert(at, segment)
        self.lasts.insert(at, entries.last)
        self.times.insert(at, entries.time_max)
        self.bytes.insert(at, entries.bytes)
        self.lows.insert(at, low)
        self.counts.insert(at, entries.high - entries.low)

    def remove(self, segment: int) -> None:
        """Forget a segment, if it is here."""
        at = bisect_left(self.segments, segment)
        if at < len(self.segments) and self.segments[at] == segment:
            for name in self.__slots__:
                del getattr(self, name)[at]


class LogIndex:
    """The index of the log; callers hold the lock."""

    def __init__(self, folder: Path, is_alive: Callable[[Key], bool]) -> None:
        """Begin without segments; `is_alive` says whether a partition is not deleted."""
        self._folder = folder
        self._is_alive = is_alive
        self.segment = 0  # the last one
        self.last = SegmentIndex()
        self.closed: set[int] = set()
        self.spans: dict[Key, Spans] = {}
        self.aborted: dict[Key, list[Aborted]] = {}
        self._layouts: dict[int, Layout] = {}
        self._kept: OrderedDict[int, SegmentIndex] = OrderedDict()

    def add(self, event: Event, place: Place) -> None:
        """Add what an event put at its place in the last segment."""
        before = len(self.last.aborted)
        self.last.add(event, place.position, place.size)
        for key, aborted in self.last.aborted[before:]:
            self.aborted.setdefault(key, []).append(aborted)

    def begin(self, segment: int) -> None:
        """Let a new segment be the last one."""
        self.segment, self.last = segment, SegmentIndex()

    def close_last(self, size: int) -> None:
        """Close the last segment, which has `size` bytes."""
        _keep(self._folder, self.segment, self.last, size)
        self._add_closed(self.segment, self.last)

    def open_closed(self, segment: int) -> None:
        """Take a closed segment of the folder; raises LogDamaged, OSError."""
        index = self.read(segment)
        self._add_closed(segment, index)
        self._add_aborted(index)

    def replace(self, segment: int, index: SegmentIndex, size: int) -> None:
        """Take what is left of a closed segment, which has `size` bytes now."""
        self._forget_segment(segment, index)
        self._add_closed(segment, index)
        _keep(self._folder, segment, index, size)

    def remove(self, segment: int) -> None:
        """Forget a closed segment."""
        self._forget_segment(segment, SegmentIndex())
        self.closed.remove(segment)
        del self._layouts[segment]

    def drop(self, key: Key) -> None:
        """Forget a partition that is deleted."""
        self.spans.pop(key, None)
        self.aborted.pop(key, None)

    def forget(self, key: Key, before: int) -> None:
        """Forget which transactions were aborted before an offset of a partition."""
        left = [aborted for aborted in self.aborted.pop(key, ()) if aborted.marker >= before]
        if left:
            self.aborted[key] = left

    def find(self, key: Key, offset: int) -> Iterator[tuple[int, Entries, int]]:
        """Yield segments and their batches from the one with an offset on, and its number."""
        spans = self.spans.get(key)
        if spans is not None:
            for at in range(bisect_left(spans.lasts, offset), len(spans.segments)):
                entries = self._entries(key, spans, at)
                yield spans.segments[at], entries, entries.find(offset)
        entries = self.last.partitions.get(key, Entries())
        yield self.segment, entries, entries.find(offset)

    def find_time(self, key: Key, timestamp_ms: int) -> Iterator[tuple[int, Entries, int]]:
        """Yield segments and batches with a record that is not older than a timestamp."""
        spans = self.spans.get(key)
        if spans is not None:
            for number, time_ms in enumerate(spans.times):
                if time_ms >= timestamp_ms:
                    yield from _since(
                        spans.segments[number], self._entries(key, spans, number), timestamp_ms
                    )
        last = self.last.partitions.get(key, Entries())
        yield from _since(self.segment, last, timestamp_ms)

    def read(self, segment: int) -> SegmentIndex:
        """Return the index of a segment; raises LogDamaged, OSError."""
        if segment == self.segment:
            return self.last
        index = self._kept.get(segment)
        if index is None:
            index = self._kept[segment] = _read(self._folder, segment)
        self._kept.move_to_end(segment)
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)
        return index

    def _entries(self, key: Key, spans: Spans, at: int) -> Entries:
        """Return the batches of a partition in one of its closed segments."""
        segment = spans.segments[at]
        if segment not in self._kept:
            path = files.index_path(self._folder, segment)
            layout, low, count = self._layouts[segment], spans.lows[at], spans.counts[at]
            entries = segment_index.read_entries(path, layout, low, count)
            if entries is not None:
                return entries
        return self.read(segment).partitions[key]

    def _forget_segment(self, segment: int, index: SegmentIndex) -> None:
        old = self.read(segment)
        for key in old.partitions.keys() - index.partitions.keys():
            if key in self.spans:
                self.spans[key].remove(segment)
        self._kept.pop(segment, None)

    def _add_closed(self, segment: int, index: SegmentIndex) -> None:
        self.closed.add(segment)
        self._layouts[segment] = index.layout
        low = 0
        for key, entries in index.partitions.items():
            if self._is_alive(key):
                self.spans.setdefault(key, Spans()).add(segment, entries, low)
            low += entries.high - entries.low

    def _add_aborted(self, index: SegmentIndex) -> None:
        for key, aborted in index.aborted:
            if self._is_alive(key):
                self.aborted.setdefault(key, []).append(aborted)


def _since(segment: int, entries: Entries, timestamp_ms: int) -> Iterator[tuple[int, Entries, int]]:
    for at in range(entries.low, entries.high):
        if entries.times[at] >= timestamp_ms:
            yield segment, entries, at


def _read(folder: Path, segment: int) -> SegmentIndex:
    path = files.segment_path(folder, segment)
    size = path.stat().st_size
    index = segment_index.read(files.index_path(folder, segment), size)
    if index is not None:
        return index
    index = scanned(folder, segment)
    _keep(folder, segment, index, size)
    return index


def _keep(folder: Path, segment: int, index: SegmentIndex, size: int) -> None:
    try:
        segment_index.write(files.index_path(folder, segment), index, size)
    except OSError as error:
        # It can be made from the segment.
        structlog.get_logger().warning("an index of the log was not written", error=str(error))


def scanned(folder: Path, segment: int) -> SegmentIndex:
    """Return the index of a closed segment from its frames; raises LogDamaged, OSError."""
    path = files.segment_path(folder, segment)
    data = path.read_bytes()
    found = list(frames.frames(segment, data))
    end = found[-1].position + found[-1].size if found else 0
    if end < len(data) or not found:
        raise folder_errors.LogDamaged(path, end, "no valid frame begins here")
    return segment_index.indexed(found)

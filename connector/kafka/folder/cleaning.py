"""Gives disk space back: retention of topics, deleted topics, and compaction.

A segment that nothing needs is removed. One of which more than half is of no use is written again,
with the same offsets, and takes the place of the old file; so does one with compacted topics from
which enough goes. Compaction keeps the newest record of each key, also one without a value, and
the last batch of the partition, so that a reader reaches its end. It has a million keys in memory
at a time; if there are more, it goes over the segments several times.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from kafka import errors

from connector.foundation.errors.kinds import SinkRefused
from connector.kafka.folder import compaction, files, topic_settings
from connector.kafka.folder.compaction import Rules
from connector.kafka.folder.core import LogCore
from connector.kafka.folder.folder_errors import LogDamaged
from connector.kafka.folder.frames import Key, SegmentGone, Start
from connector.kafka.folder.log_index import Spans
from connector.kafka.folder.reader import BatchReader, Unreadable
from connector.kafka.folder.segment_index import SegmentIndex
from connector.kafka.folder.state import Partition
from connector.kafka.folder.topic_settings import Retention

_PAUSE_MS: Final = 60_000
_READ_BYTES: Final = 4 * 1024 * 1024
# Of a segment's bytes.
_LIVE_MAX: Final = 0.5
_COMPACTED_MAX: Final = 0.95
# Each needs about 170 bytes of memory.
_KEYS_MAX: Final = 1_000_000


class Cleaner:
    """One thread at a time may clean."""

    def __init__(self, core: LogCore) -> None:
        """Clean this log."""
        self._core = core
        self._next_ms = 0
        # Of segments that were written again: the bytes that were of use then.
        self._live_before: dict[int, int] = {}
        # Of compacted topics, after the last compaction, which an earlier opening may have done.
        self._compacted_bytes = self._kept_bytes()

    def clean(self) -> None:
        """Clean if the pause is over; raises KafkaStorageError."""
        now_ms = self._core.now_ms()
        if now_ms < self._next_ms:
            return
        self._next_ms = now_ms + _PAUSE_MS
        with _disk():
            self._expire(now_ms)
            self._remove()
            self._compact()

    def _expire(self, now_ms: int) -> None:
        """Move the earliest offsets of partitions past what their topics need not keep."""
        core = self._core
        with core.lock:
            core.make_room()
            end = core.journal.written
            for key, partition, retention in self._partitions():
                spans = core.index.spans.get(key)
                start = 0 if spans is None else _start(spans, retention, now_ms)
                start = min(start, core.visibility.limits(key).stable)
                if start > partition.start_offset:
                    end = core.write(Start(*key, start))
                    core.index.forget(key, start)
        core.await_disk(end)

    def _remove(self) -> None:
        """Remove segments that nothing needs, and rewrite those that are mostly of no use."""
        core = self._core
        with core.lock:
            core.journal.check()
            live = self._live_bytes()
            dead = core.index.closed - live.keys()
        for segment in dead:
            self._drop(segment)
        for segment, size in live.items():
            whole = files.segment_path(core.folder, segment).stat().st_size
            before = self._live_before.get(segment, whole)
            if size < _LIVE_MAX * before and self._rewrite(segment, {}, whole):
                self._live_before[segment] = size

    def _compact(self) -> None:
        """Drop old records of compacted topics, once there are as many again as were kept."""
        core = self._core
        with core.lock:
            core.journal.check()
            compacted = {
                key: core.visibility.limits(key).stable
                for key, _, retention in self._partitions()
                if retention.is_compacted
            }
            size = self._bytes_of(compacted)
        if size < self._compacted_bytes:
            # Topics were deleted, or are not compacted any more.
            self._keep_bytes(size)
        if size <= 2 * self._compacted_bytes + core.segment_bytes:
            return
        positions = dict.fromkeys(compacted, 0)
        offsets, done = sum(compacted.values()), 0
        while rules := self._next_rules(compacted, positions):
            # What goes for some of the keys is little of each segment. Together, these bounds
            # leave as much as the one for all keys.
            before, done = done, sum(positions.values())
            self._compact_by(rules, 1 - (1 - _COMPACTED_MAX) * (done - before) / offsets)
        with core.lock:
            size = self._bytes_of(compacted)
        self._keep_bytes(size)

    def _keep_bytes(self, size: int) -> None:
        """Keep the bytes of compacted topics, also for the next opening."""
        core = self._core
        self._compacted_bytes = size
        with core.rewriting:
            with core.lock:
                core.journal.check()
            try:
                files.replace(files.compacted_path(core.folder), b"%d" % size)
            except OSError as error:
                core.tell(error)

    def _kept_bytes(self) -> int:
        """Return what an earlier opening has kept; 0 if it cannot be read."""
        try:
            return int(files.compacted_path(self._core.folder).read_bytes())
        except (FileNotFoundError, ValueError):
            return 0
        except OSError as error:
            self._core.tell(error)
            return 0

    def _next_rules(self, limits: Mapping[Key, int], positions: dict[Key, int]) -> dict[Key, Rules]:
        """Return rules for the keys from some positions on, which move to where the rules end."""
        rules: dict[Key, Rules] = {}
        room = _KEYS_MAX
        for key, limit in limits.items():
            if room <= 0 or positions[key] >= limit:
                continue
            start, positions[key] = positions[key], limit
            # What cannot be read was told, and stays as it is.
            with suppress(errors.CorruptRecordError, Unreadable):
                rules[key] = own = self._rules(key, start, limit, room)
                positions[key] = own.limit
                room -= own.keys
        return rules

    def _compact_by(self, rules: Mapping[Key, Rules], part: float) -> None:
        """Write the segments again that these rules let have less than a part of their size."""
        core = self._core
        segments: set[int] = set()
        with core.lock:
            for key, own in rules.items():
                spans = core.index.spans.get(key)
                if spans is not None:
                    segments.update(spans.segments[: bisect_left(spans.lasts, own.limit) + 1])
        for segment in sorted(segments):
            whole = files.segment_path(core.folder, segment).stat().st_size
            self._rewrite(segment, rules, int(whole * part))

    def _rules(self, key: Key, start: int, limit: int, keys_max: int) -> Rules:
        """Return which records are the newest of their keys, from a start to below a limit."""
        core = self._core
        with core.lock:
            partition = core.state.partition(key)
            offset = limit if partition is None else max(start, partition.start_offset)
            rules = Rules(limit, tuple(core.index.aborted.get(key, ())), keys_max)
        while offset < limit:
            with BatchReader(core.folder, core.tell) as reader:
                with core.lock:
                    core.journal.check()
                    following = reader.choose(core.index, key, offset, limit, _READ_BYTES)
                if not all(rules.note(batch) for batch in reader.read()) or following == offset:
                    break
            offset = following
        return rules

    def _rewrite(self, segment: int, rules: Mapping[Key, Rules], size_max: int) -> bool:
        """Write a segment without what is of no use, if it becomes smaller than `size_max`.

        Return whether that was done, or is not worth it. What cannot be read or written is told,
        and the segment stays as it is.
        """
        core = self._core
        path = files.segment_path(core.folder, segment)
        try:
            with core.lock:
                core.journal.check()
                keys = core.index.read(segment).partitions.keys()
                bounds = {
                    key: (partition.start_offset, partition.next_offset)
                    for key in keys
                    if (partition := core.state.partition(key)) is not None
                }
            content, index = compaction.rewritten(path, segment, bounds, rules)
        except (OSError, SinkRefused) as error:
            core.tell(error)
            return False
        if not index.partitions:
            self._drop(segment)
        elif len(content) < size_max:
            return self._replace(segment, content, index)
        return True

    def _replace(self, segment: int, content: bytes, index: SegmentIndex) -> bool:
        """Replace the file of a segment; return whether the new one could be written."""
        core = self._core
        path = files.segment_path(core.folder, segment)
        with core.rewriting:
            with core.lock:
                core.journal.check()
            try:
                new = files.write_new(path, content)
            except OSError as error:
                core.tell(error)
                return False
            with core.lock:
                core.journal.check()
                # It says what goes, and need not be among the indexes that are kept any more.
                core.index.read(segment)
                # An index of the old file must not be taken for one of the new file.
                files.index_path(core.folder, segment).unlink(missing_ok=True)
                files.sync_folder(core.folder)
                files.rename_new(new, path)
                core.index.replace(segment, index, len(content))
        return True

    def _drop(self, segment: int) -> None:
        core = self._core
        with core.lock:
            end = core.write(SegmentGone(segment))
        core.await_disk(end)
        with core.lock:
            core.journal.check()
            core.index.remove(segment)
            files.remove_segment(core.folder, segment)

    def _partitions(self) -> Iterator[tuple[Key, Partition, Retention]]:
        for topic in self._core.state.topics.values():
            retention = topic_settings.retention(topic.topic.configuration)
            for key, partition in zip(topic.keys(), topic.partitions, strict=True):
                yield key, partition, retention

    def _live_bytes(self) -> dict[int, int]:
        """Return the bytes of batches that are of use, by the closed segments that have some."""
        live: dict[int, int] = {}
        for key, partition, _ in self._partitions():
            spans = self._core.index.spans.get(key)
            if spans is not None:
                for segment, last, size in zip(
                    spans.segments, spans.lasts, spans.bytes, strict=True
                ):
                    if last >= partition.start_offset:
                        live[segment] = live.get(segment, 0) + size
        return live

    def _bytes_of(self, keys: Mapping[Key, int]) -> int:
        spans = self._core.index.spans
        return sum(sum(spans[key].bytes) for key in keys if key in spans)


def _start(spans: Spans, retention: Retention, now_ms: int) -> int:
    """Return the offset before which the retention lets whole segments go; 0 if it keeps all."""
    start = 0
    rest = sum(spans.bytes)
    for last, time_ms, size in zip(spans.lasts, spans.times, spans.bytes, strict=True):
        is_old = retention.ms is not None and time_ms < now_ms - retention.ms
        rest -= size
        if not is_old and (retention.bytes is None or rest < retention.bytes):
            break
        start = last + 1
    return start


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except (OSError, LogDamaged) as error:
        raise errors.KafkaStorageError(str(error)) from error

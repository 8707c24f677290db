"""The parts of an open log, which change together: journal, state, index, what is visible."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog
from kafka import errors

from connector.foundation.errors.kinds import SinkRefused
from connector.kafka.folder.frames import Append, End, Event, Key
from connector.kafka.folder.journal import SEGMENT_BYTES, Journal
from connector.kafka.folder.recovery import recover
from connector.kafka.folder.results import PartitionId
from connector.kafka.folder.state import NumberedTopic, Partition
from connector.kafka.folder.visibility import Limits, Visibility, Waiter


class LogCore:
    """Callers hold `lock`, but for `await_disk` and `tell`."""

    def __init__(
        self, folder: Path, now_ms: Callable[[], int], segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """Read a folder whose lock the caller has; raises LogDamaged, LogNewer, OSError."""
        self.folder = folder
        self.now_ms = now_ms
        self.lock = threading.Lock()
        # Held while the file of a closed segment is written, before `lock`.
        self.rewriting = threading.Lock()
        # Why parts of the log cannot be read.
        self._told: set[str] = set()
        self.state, self.index, segment, size, self.is_cut = recover(folder)
        self.visibility = Visibility()
        self.journal = Journal(folder, self.lock, segment, size, self.visibility.on_disk)
        self.segment_bytes = segment_bytes
        for topic in self.state.topics.values():
            self.show(topic)

    def show(self, topic: NumberedTopic) -> None:
        """Let partitions be seen that nobody has seen, with all that is on the disk."""
        for key, partition in zip(topic.keys(), topic.partitions, strict=True):
            self.visibility.begin_partition(
                key, Limits(partition.next_offset, partition.stable_offset)
            )

    def make_room(self) -> None:
        """Begin another segment if the last one is full.

        It may give the lock away for a while, so it comes before anything is looked at. Raises
        KafkaStorageError.
        """
        self.journal.check()
        if self.journal.size < self.segment_bytes:
            return
        self.journal.settle()
        if self.journal.size < self.segment_bytes:
            return
        segment, size = self.journal.segment, self.journal.size
        self.state.drop_idle(self.now_ms())
        self.journal.begin_segment(segment + 1, self.state.encode(self.state.segments | {segment}))
        self.state.segments.add(segment)
        self.index.close_last(size)
        self.index.begin(segment + 1)

    def write(self, event: Event) -> int:
        """Write an event and apply it; return the `end` for `await_disk`.

        Raises KafkaStorageError, and then nothing has changed.
        """
        place = self.journal.write(event)
        self.state.apply(event)
        self.index.add(event, place)
        if isinstance(event, Append):
            self._expect(place.end, event.key)
        elif isinstance(event, End):
            for topic, partition, _, _ in event.markers:
                self._expect(place.end, (topic, partition))
        return place.end

    def await_disk(self, end: int) -> None:
        """Wait until all is on the disk up to `end`; raises KafkaStorageError."""
        self.journal.await_disk(end)

    def tell(self, error: OSError | SinkRefused) -> None:
        """Log, once, why a part of the log cannot be read or cleaned: the rest is of use."""
        text = error.text if isinstance(error, SinkRefused) else str(error)
        if text in self._told:
            return
        self._told.add(text)
        if isinstance(error, SinkRefused):
            structlog.get_logger().error(text, code=str(error.code))
        else:
            structlog.get_logger().error("a part of the log cannot be used", error=text)

    def wait(self, wanted: Mapping[PartitionId, int], seconds: float, *, committed: bool) -> bool:
        """Wait, without the lock, until one of these offsets can be fetched, or is unknown."""
        keys = {}
        with self.lock:
            for (name, number), offset in wanted.items():
                topic = self.state.topics.get(name)
                if topic is None:
                    return True
                keys[topic.number, number] = offset
            waiter = Waiter(keys, committed)
            self.visibility.begin_wait(waiter)
        try:
            waiter.news.wait(seconds)
        finally:
            with self.lock:
                self.visibility.end_wait(waiter)
                is_ready = self.visibility.is_ready(waiter)
        return is_ready

    def topic(self, name: str) -> NumberedTopic:
        """Return a topic; raises UnknownTopicOrPartitionError, KafkaStorageError."""
        self.journal.check()
        topic = self.state.topics.get(name)
        if topic is None:
            raise errors.UnknownTopicOrPartitionError
        return topic

    def partition(self, partition: PartitionId) -> tuple[Key, Partition]:
        """Return a partition; raises UnknownTopicOrPartitionError."""
        name, number = partition
        topic = self.topic(name)
        if not 0 <= number < len(topic.partitions):
            raise errors.UnknownTopicOrPartitionError
        return (topic.number, number), topic.partitions[number]

    def _expect(self, end: int, key: Key) -> None:
        partition = self.state.partition(key)
        assert partition is not None
        limits = Limits(partition.next_offset, partition.stable_offset)
        self.visibility.expect(end, key, limits)

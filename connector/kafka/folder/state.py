"""What the log knows but for the records: topics, partitions, producers, by the events in order.

A live log and a recovery apply the same events. Each segment begins with the whole state, so that
any older segment can go.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafka import errors

from connector.kafka.folder import batches, frames, results
from connector.kafka.folder.batches import NO_PRODUCER
from connector.kafka.folder.folder_errors import LogNewer
from connector.kafka.folder.producers import RECENT_MAX, Numbered, Producer, Transaction

_FORMAT: Final = 1
# A producer without transactions that has sent nothing for so long is forgotten, as by a broker.
_IDLE_MS: Final = 24 * 60 * 60 * 1000
# So is an offset that a group committed so long ago (offsets.retention.minutes).
_GROUP_MS: Final = 7 * 24 * 60 * 60 * 1000


@dataclass(slots=True)
class Partition:
    """A partition; `open` has the first offset of each open transaction by its producer's id."""

    start_offset: int = 0
    next_offset: int = 0
    open: dict[int, int] = field(default_factory=dict)

    @property
    def stable_offset(self) -> int:
        """The first offset that an open transaction has, or the next one."""
        return min(self.open.values(), default=self.next_offset)


@dataclass(slots=True)
class NumberedTopic:
    """A topic with its number and its partitions."""

    number: int
    topic: results.Topic
    partitions: list[Partition]

    def form(self) -> frames.TopicForm:
        """Return the event that makes it."""
        name, topic_id, count, configuration = self.topic
        return frames.TopicForm(self.number, name, topic_id.hex(), count, configuration)

    def keys(self) -> Iterator[frames.Key]:
        """Yield the keys of its partitions."""
        return ((self.number, partition) for partition in range(len(self.partitions)))


class GroupOffset(NamedTuple):
    """An offset, and when a group committed it."""

    offset: int
    time_ms: int


class LogState:
    """The state after some events."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self.openings = 0
        self.segments: set[int] = set()
        self.topics: dict[str, NumberedTopic] = {}
        self.next_topic = 1
        self.next_producer_id = 1
        self.producers: dict[int, Producer] = {}
        self.transactional: dict[str, Producer] = {}
        self.groups: dict[str, dict[frames.Key, GroupOffset]] = {}
        self._numbers: dict[int, NumberedTopic] = {}
        self._without_dots: set[str] = set()
        # Made when it is asked for, after a change.
        self._names: Mapping[str, results.Topic] | None = None
        self._apply: Mapping[type, Callable[[Any], None]] = {
            frames.Append: self._append,
            frames.Join: self._join,
            frames.End: self._end,
            frames.ProducerEpoch: self._producer_epoch,
            frames.TopicForm: self._topic_form,
            frames.TopicGone: self._topic_gone,
            frames.Start: self._start,
            frames.SegmentGone: self._segment_gone,
            frames.Opening: self._opening,
            frames.GroupCommit: self._group_commit,
        }

    def apply(self, event: frames.Event) -> None:
        """Take what happened."""
        self._apply[type(event)](event)

    def names(self) -> Mapping[str, results.Topic]:
        """Return all topics by their names; nobody changes it."""
        if self._names is None:
            self._names = {name: each.topic for name, each in self.topics.items()}
        return self._names

    def collides(self, name: str) -> bool:
        """Return whether a topic's name differs by dots and underscores alone, as Kafka forbids."""
        return _without_dots(name) in self._without_dots

    def partition(self, key: frames.Key) -> Partition | None:
        """Return a partition; None if its topic is deleted."""
        topic = self._numbers.get(key[0])
        return None if topic is None else topic.partitions[key[1]]

    def open_producers(self) -> list[Producer]:
        """Return the producers that have open transactions."""
        return [each for each in self.transactional.values() if each.transaction is not None]

    def open_transactions(self) -> list[results.OpenTransaction]:
        """Return all open transactions."""
        found = []
        for producer in self.open_producers():
            transaction = producer.transaction
            assert transaction is not None
            assert producer.transactional_id is not None
            first = {}
            for key, offset in transaction.first.items():
                topic = self._numbers[key[0]].topic
                first[topic.name, key[1]] = offset
            found.append(
                results.OpenTransaction(
                    producer.transactional_id,
                    producer.producer_id,
                    producer.epoch,
                    producer.timeout_ms,
                    transaction.start_ms,
                    first,
                )
            )
        return found

    def group_offsets(self, group: str, now_ms: int) -> dict[results.PartitionId, int]:
        """Return what a group has committed within a week."""
        return {
            (self._numbers[topic].topic.name, number): own.offset
            for (topic, number), own in self.groups.get(group, {}).items()
            if own.time_ms >= now_ms - _GROUP_MS
        }

    def producers_of(self, key: frames.Key) -> list[results.PartitionProducer]:
        """Return the producers that have written to a partition lately, or have a transaction."""
        partition = self.partition(key)
        assert partition is not None
        return [
            results.PartitionProducer(
                each.producer_id,
                each.epoch,
                each.recent[key][-1].last if key in each.recent else results.NO_OFFSET,
                each.used_ms,
                partition.open.get(each.producer_id, results.NO_OFFSET),
            )
            for each in self.producers.values()
            if key in each.recent or each.producer_id in partition.open
        ]

    def producer_of(self, transactional_id: str, producer_id: int, epoch: int) -> Producer:
        """Return a producer; raises InvalidProducerIdMappingError, ProducerFencedError."""
        producer = self.transactional.get(transactional_id)
        if producer is None:
            raise errors.InvalidProducerIdMappingError
        producer.require(producer_id, epoch)
        return producer

    def end_of(self, producer: Producer, epoch: int, time_ms: int, *, commit: bool) -> frames.End:
        """Return the event that ends the transaction of a producer."""
        markers = []
        if producer.transaction is not None:
            for key, first in sorted(producer.transaction.first.items()):
                partition = self.partition(key)
                if partition is not None:
                    markers.append(frames.Marker(*key, partition.next_offset, first))
        return frames.End(producer.producer_id, epoch, commit, time_ms, markers)

    def drop_idle(self, now_ms: int) -> None:
        """Forget producers without transactions, and groups, that have sent nothing for long."""
        for group, offsets in list(self.groups.items()):
            kept = {key: own for key, own in offsets.items() if own.time_ms >= now_ms - _GROUP_MS}
            self.groups[group] = kept
            if not kept:
                del self.groups[group]
        for producer in list(self.producers.values()):
            if producer.transactional_id is None and producer.used_ms < now_ms - _IDLE_MS:
                del self.producers[producer.producer_id]

    def encode(self, segments: set[int]) -> bytes:
        """Return the state as JSON; `segments` are those before this one."""
        return frames.json_of(
            {
                "format": _FORMAT,
                "openings": self.openings,
                "segments": sorted(segments),
                "next_topic": self.next_topic,
                "next_producer_id": self.next_producer_id,
                "topics": [
                    [
                        each.form(),
                        [[part.start_offset, part.next_offset] for part in each.partitions],
                    ]
                    for each in self.topics.values()
                ],
                "producers": [_fields_of(producer) for producer in self.producers.values()],
                "groups": [
                    [group, [[*key, *own] for key, own in offsets.items()]]
                    for group, offsets in self.groups.items()
                ],
            }
        )

    def load(self, content: bytes) -> None:
        """Take a state of `encode`, before any event; raises LogNewer for a format of later."""
        fields = json.loads(content)
        if fields["format"] > _FORMAT:
            raise LogNewer(what="a state of format", number=fields["format"])
        self.openings = fields["openings"]
        self.segments = set(fields["segments"])
        for form, partitions in fields["topics"]:
            event = frames.TopicForm(*form)
            self._topic_form(event)
            for partition, (start, following) in zip(
                self.topics[event.name].partitions, partitions, strict=True
            ):
                partition.start_offset, partition.next_offset = start, following
        for each in fields["producers"]:
            self._add_producer(_producer_of(each))
        for group, offsets in fields.get("groups", ()):
            self.groups[group] = {
                (topic, number): GroupOffset(*own) for topic, number, *own in offsets
            }
        self.next_topic = fields["next_topic"]
        self.next_producer_id = fields["next_producer_id"]

    def _add_producer(self, producer: Producer) -> None:
        self.producers[producer.producer_id] = producer
        if producer.transactional_id is not None:
            self.transactional[producer.transactional_id] = producer
        if producer.transaction is not None:
            for key, first in producer.transaction.first.items():
                partition = self.partition(key)
                if partition is not None and first != results.NO_OFFSET:
                    partition.open[producer.producer_id] = first

    def _append(self, event: frames.Append) -> None:
        header = batches.header_of(event.batch)
        partition = self.partition(event.key)
        assert partition is not None
        partition.next_offset = header.last_offset + 1
        if header.producer_id != NO_PRODUCER:
            self.producers[header.producer_id].append(event.key, header)
            if header.is_transactional:
                partition.open.setdefault(header.producer_id, header.base_offset)

    def _join(self, event: frames.Join) -> None:
        self.producers[event.producer_id].join(event)

    def _end(self, event: frames.End) -> None:
        self.producers[event.producer_id].end(event.epoch, commit=event.commit)
        for topic, number, offset, _ in event.markers:
            partition = self.partition((topic, number))
            assert partition is not None
            partition.next_offset = offset + 1
            partition.open.pop(event.producer_id, None)

    def _producer_epoch(self, event: frames.ProducerEpoch) -> None:
        producer_id, epoch, transactional_id, timeout_ms, previous_epoch, time_ms = event
        self.next_producer_id = max(self.next_producer_id, producer_id + 1)
        if transactional_id is not None and transactional_id in self.transactional:
            del self.producers[self.transactional[transactional_id].producer_id]
        self._add_producer(
            Producer(producer_id, epoch, transactional_id, timeout_ms, previous_epoch, time_ms)
        )

    def _topic_form(self, event: frames.TopicForm) -> None:
        number, name, topic_id, count, configuration = event
        topic = results.Topic(name, bytes.fromhex(topic_id), count, configuration)
        before = self._numbers.get(number)
        partitions = [] if before is None else before.partitions
        partitions += [Partition() for _ in range(count - len(partitions))]
        made = NumberedTopic(number, topic, partitions)
        self.topics[name] = self._numbers[number] = made
        if before is None:
            for producer in self.producers.values():
                producer.see(name, made.keys())
        self._without_dots.add(_without_dots(name))
        self._names = None
        self.next_topic = max(self.next_topic, number + 1)

    def _topic_gone(self, event: frames.TopicGone) -> None:
        gone = self._numbers.pop(event.number)
        del self.topics[gone.topic.name]
        self._without_dots.discard(_without_dots(gone.topic.name))
        self._names = None
        keys = set(gone.keys())
        for producer in self.producers.values():
            producer.forget(gone.topic.name, keys)
        for offsets in self.groups.values():
            for key in keys & offsets.keys():
                del offsets[key]

    def _start(self, event: frames.Start) -> None:
        partition = self.partition((event.topic, event.partition))
        assert partition is not None
        partition.start_offset = event.offset

    def _segment_gone(self, event: frames.SegmentGone) -> None:
        self.segments.discard(event.segment)

    def _opening(self, event: frames.Opening) -> None:
        self.openings = event.number

    def _group_commit(self, event: frames.GroupCommit) -> None:
        offsets = self.groups.setdefault(event.group, {})
        for topic, number, offset in event.offsets:
            offsets[topic, number] = GroupOffset(offset, event.time_ms)


def _without_dots(name: str) -> str:
    return name.replace(".", "_")


def _fields_of(producer: Producer) -> list[object]:
    transaction = producer.transaction
    return [
        producer.producer_id,
        producer.epoch,
        producer.transactional_id,
        producer.timeout_ms,
        producer.previous_epoch,
        producer.used_ms,
        producer.committed,
        None if transaction is None else [transaction.start_ms, list(transaction.first.items())],
        [[key, list(batches)] for key, batches in producer.recent.items()],
    ]


def _producer_of(fields: list[Any]) -> Producer:
    *simple, transaction, recent = fields
    producer = Producer(*simple)
    if transaction is not None:
        start_ms, first = transaction
        producer.transaction = Transaction(start_ms, {tuple(key): offset for key, offset in first})
    for key, numbered in recent:
        producer.recent[tuple(key)] = deque(
            (Numbered(*each) for each in numbered), maxlen=RECENT_MAX
        )
    return producer

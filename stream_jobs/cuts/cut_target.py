"""The target of a cut: a moment of the source, and an offset in each partition.

The connector's newest progress record is read first, then the ends of all partitions. Kafka ends
a transaction in each partition separately, so these ends are not one moment:

* They may be too far. So tasks stop before the first record whose sequence is not below the
  moment's (`DeliveredPosition.bound`).
* They may be too near: the marker of a transaction whose progress record was read may not have
  reached a partition yet. A producer begins its next transaction only when the markers of the
  previous one are everywhere. So the ends have everything if no partition has an open transaction,
  or if an open one belongs to a later moment. Otherwise the ends are read again.

A table that the connector copies does not have all its rows. The state of a copy may belong to
the next transaction, if that one is just ending. So a copy counts as complete if no transaction
is open or unread, or if it was complete when an earlier target was found, because the new target
comes after that transaction.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from connector.foundation.errors.message import Message
from connector.foundation.record_reader import SEQUENCE_BYTES, RecordColumns
from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.state_topics import COPYING, DeliveredPosition, ProgressTopic, SnapshotTopic
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.record_batches import read_committed_records
from stream_jobs.source.requests import Partition
from stream_jobs.source.sequence import PackedSequence, PackedSequences
from stream_jobs.source.topic_filter import SkippedTables, TopicFilter
from stream_jobs.source.topics import row_topics, schema_topic

# Markers come to all partitions within milliseconds.
_PAUSE_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 5.0
# New tables are known by their schemas; this is for topics that are gone.
_DISCOVERY_SECONDS: Final = 10.0


class CutTarget(NamedTuple):
    """A moment, and where each partition has everything before it."""

    delivered: DeliveredPosition
    ends: Mapping[str, Mapping[int, int]]  # by topic and partition
    # Tables that do not have all rows of this moment when they have come to it, and why; also those
    # that have no topic yet.
    incomplete: Mapping[str, str]


class CutTargetFinder:
    """Finds the newest target."""

    def __init__(
        self,
        client: KafkaClient,
        prefix: str,
        progress: ProgressTopic,
        copies: SnapshotTopic,
        topics: TopicFilter,
    ) -> None:
        """Look at the topics of `prefix` that `topics` does not leave out."""
        self._client = client
        self._prefix = prefix
        self._progress = progress
        self._copies = copies
        # What was copied when the last target was found, and its sequence.
        self._incomplete: tuple[PackedSequence, Mapping[str, str]] | None = None
        # The partitions of control topics that tell whether a transaction is open.
        self._control: list[Partition] = []
        self._filter = topics
        self._topics: dict[str, int] = {}
        self._looked_at = -math.inf
        self._schemas: dict[Partition, int] = {}
        # The ends of partitions in which no transaction was open there.
        self._closed: dict[Partition, int] = {}
        # Why there is no target.
        self.problem: Message | None = None

    @classmethod
    def of(cls, client: KafkaClient, prefix: str, skipped: SkippedTables) -> "CutTargetFinder":
        """Look at the topics of `prefix`, but for those of `skipped` tables."""
        progress, copies = ProgressTopic(client, prefix), SnapshotTopic(client, prefix)
        return cls(client, prefix, progress, copies, TopicFilter(prefix, skipped))

    def delivered(self) -> DeliveredPosition | None:
        """Return the newest moment up to which the topics have everything.

        Raises MirrorError if the brokers do not answer.
        """
        newest = self._progress.newest()
        if newest is None:
            self.problem = Message(cut_errors.NO_PROGRESS, {"topic": self._progress.topic})
        elif self._progress.are_several:
            self.problem = Message(cut_errors.SEVERAL, {"topic": self._progress.topic})
            return None
        return newest

    def has_copied(self, names: Collection[str]) -> bool:
        """Return whether the copy of a table in `names`, which was under way, has ended.

        Raises MirrorError if the brokers do not answer.
        """
        newest = self._progress.newest() if names else None
        if newest is None:
            return False
        if math.isinf(self._looked_at):
            self._discover()
        place, copied = (self._copies.topic, 0), set(newest.cascaded)
        if place in self._control:
            reasons = self._copies.incomplete(self._client.end_offsets([place])[place])
            copied.update(name for name, why in reasons.items() if why == COPYING)
        return not copied.issuperset(names)

    @property
    def progress_topic(self) -> str:
        """The topic that says up to where the topics have everything."""
        return self._progress.topic

    def highest(self) -> PackedSequence | None:
        """Return the sequence that no change of any pipeline reaches; None if that is not known.

        Raises MirrorError if the brokers do not answer.
        """
        return self._progress.highest()

    def newest(self, topics: Iterable[str]) -> CutTarget | None:
        """Return the newest target; None if there is none. `topics` are known to be there.

        Raises MirrorError if the brokers do not answer.
        """
        is_due = time.monotonic() - self._looked_at >= _DISCOVERY_SECONDS
        if is_due or not self._topics.keys() >= set(topics):
            self._discover()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (delivered := self.delivered()) is not None:
            rows = [(topic, n) for topic, count in self._topics.items() for n in range(count)]
            every = [*rows, *self._schemas, *self._control]
            written = self._client.written_offsets(every)
            ends = self._ends(written)
            if any(ends[place] != end for place, end in self._schemas.items()):
                # There may be a new table.
                self._discover()
                continue
            are_open = [place for place in every if ends[place] < written[place]]
            if not are_open or self._is_later(delivered, ends, set(are_open) & set(rows)):
                incomplete = self._not_copied(delivered, ends, is_quiet=not are_open)
                return CutTarget(delivered, _by_topic(ends, rows), incomplete)
            if time.monotonic() >= deadline:
                self.problem = Message(cut_errors.HELD_UP, {"topic": are_open[0][0]})
                break
            time.sleep(_PAUSE_SECONDS)
        return None

    def _ends(self, written: dict[Partition, int]) -> dict[Partition, int]:
        """Return how far partitions can be read; `written` says how far they go.

        Where nothing was written since a look that found no open transaction, there is none. So
        only the others are asked for.
        """
        moved = [place for place, end in written.items() if self._closed.get(place) != end]
        ends = written | self._client.end_offsets(moved)
        for place in moved:
            if ends[place] == written[place]:
                self._closed[place] = ends[place]
            else:
                self._closed.pop(place, None)
        return ends

    def _not_copied(
        self, delivered: DeliveredPosition, ends: Mapping[Partition, int], *, is_quiet: bool
    ) -> dict[str, str]:
        """Return the tables that may lack rows of copies at `delivered`, and why."""
        now = self._copies.incomplete(ends.get((self._copies.topic, 0), 0))
        now |= dict.fromkeys(delivered.cascaded, COPYING)
        now = {name: why for name, why in now.items() if not self._filter.skips(name)}
        if is_quiet and ends[self._progress.topic, 0] == self._progress.read_to:
            self._incomplete = delivered.bound, now
            return now
        before = self._incomplete
        if before is None or before[0] < delivered.bound:
            self._incomplete = delivered.bound, now
        return now if before is None else {**before[1], **now}

    def _discover(self) -> None:
        counts = self._client.partition_counts()
        schemas = schema_topic(self._prefix)
        self._schemas = self._client.end_offsets(
            (schemas, number) for number in range(counts.get(schemas, 0))
        )
        self._control = [
            (topic, 0) for topic in (self._progress.topic, self._copies.topic) if counts.get(topic)
        ]
        self._looked_at = time.monotonic()
        # A topic that was made again may end where the one before it did.
        self._closed.clear()
        topics = row_topics(self._prefix, counts)
        self._topics = self._filter.without_skipped(self._client, topics)

    def _is_later(
        self, delivered: DeliveredPosition, ends: Mapping[Partition, int], are_open: set[Partition]
    ) -> bool:
        """Return whether an open transaction has begun after `delivered`."""
        for place in sorted(are_open):
            for fetched in self._client.fetch_open(place, ends[place]):
                columns = RecordColumns()
                read_committed_records(fetched, ends[place], ends[place] + 1, columns)
                digits = columns.sequences.getvalue()[:SEQUENCE_BYTES]
                if digits and not PackedSequences(digits).are_below(delivered.bound)[0]:
                    return True
        return False


def _by_topic(
    ends: Mapping[Partition, int], places: Iterable[Partition]
) -> dict[str, dict[int, int]]:
    nested: dict[str, dict[int, int]] = {}
    for topic, number in places:
        nested.setdefault(topic, {})[number] = ends[topic, number]
    return nested

"""The committed records of many partitions, in the order of their sequences.

Each partition is read in the order of its offsets, and the lowest sequence of all next records
comes first, so the reader gives one stream that can be compared with the log. Memory is bounded: a
partition that is far ahead waits. The end of a partition is the one that it had when reading began.

A record's sequence is in its headers, which also say whether another pipeline wrote it.
"""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any, Final, Self

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation import contract
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.envelope.event_encoder import HALVES
from connector.stream.sink import connection
from verification.topics.start_offsets import first_offsets


class PartitionBuffer:
    """One partition, and its next records with their sequences."""

    __slots__ = (
        "begin",
        "end",
        "ended",
        "first",
        "last",
        "last_is_tombstone",
        "number",
        "partition",
        "position",
        "records",
        "serial",
        "topic",
    )

    def __init__(self, number: int, partition: TopicPartition, begin: int, end: int) -> None:
        """Read the partition from offset `begin` to before `end`; `number` distinguishes lanes."""
        self.number = number
        self.topic: str = partition.topic
        self.partition = partition
        self.begin = begin
        self.end = end
        self.ended = begin >= end
        # Where to read on, while the client does not read it.
        self.position = begin
        self.records: deque[tuple[bytes, Any]] = deque()
        # Rises with each record that was taken.
        self.serial = 0
        # The sequence of the first record, and of the last one that was taken.
        self.first = b""
        self.last = b""
        self.last_is_tombstone = False

    @property
    def follows(self) -> bool:
        """Whether the next record may follow the last one that was taken.

        It has a higher sequence, or it is the tombstone after its delete.
        """
        sequence, record = self.records[0]
        is_tombstone = record.value is None and not self.last_is_tombstone
        return sequence > self.last or (sequence == self.last and is_tombstone)

    def has_lost(self, sequence: bytes) -> bool:
        """Return whether a record with a sequence may be older than what the partition kept."""
        return self.begin > 0 and (not self.first or sequence < self.first)


def header_of(record: Any, name: str) -> bytes | None:
    """Return a header of a record; None without one."""
    for header, value in record.headers:
        if header == name:
            content: bytes | None = value
            return content
    return None


def sequence_of(record: Any) -> bytes | None:
    """Return the digits of cdc.seq; None if the record has no such header."""
    value = header_of(record, contract.HEADER_SEQ)
    return (
        value
        if value is not None and len(value) == contract.SEQ_DIGITS and value.isdigit()
        else None
    )


class Writers:
    """Tells the records of a pipeline from those that others write to the same topics."""

    def __init__(self, pipeline: str, shared: frozenset[str]) -> None:
        """Take the name of the pipeline, and the topics to which others may write."""
        self._pipeline = pipeline.encode()
        self._shared = shared

    def is_other(self, record: Any) -> bool:
        """Return whether another pipeline or another program has written a record."""
        if record.topic not in self._shared:
            return False
        pipeline = header_of(record, contract.HEADER_PIPELINE)
        return pipeline != self._pipeline and (pipeline is not None or sequence_of(record) is None)

    def own_sequence(self, record: Any) -> bytes | None:
        """Return what `sequence_of` does; None for a record of somebody else."""
        return None if self.is_other(record) else sequence_of(record)


_POLL_MS = 500
_POLL_RECORDS = 2000
# Give up after so long without records, although the end is not reached.
_IDLE_SECONDS_MAX = 30.0
# A partition waits with more records than the first, and is read again with fewer than the second.
_AHEAD_MAX = 4000
_AHEAD_MIN = 1000
# Fewer records are read rather than skipped.
_SKIPPED_MIN = 2000


class TopicRecords:
    """Reads partitions side by side; methods raise SinkUnavailable or SinkRefused."""

    def __init__(
        self,
        settings: KafkaSettings,
        topics: Iterable[str],
        writers: Writers,
        clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
    ) -> None:
        """Read `topics` from their beginnings to their current ends, without others' records."""
        self._settings = settings
        self._writers = writers
        self._clients = clients
        self.lanes: list[PartitionBuffer] = []
        self.by_topic: dict[str, list[PartitionBuffer]] = {}
        # Records without a sequence, which no connector writes.
        self.unnumbered: list[Any] = []
        # The number of records of others, by topic.
        self.others: Counter[str] = Counter()
        self._by_partition: dict[TopicPartition, PartitionBuffer] = {}
        self._starved: set[PartitionBuffer] = set()
        # The lanes that the client reads now.
        self._read: set[PartitionBuffer] = set()
        self._order: list[tuple[bytes, int, int]] = []
        topics = sorted(topics)
        self._doing = connection.reading(*topics)
        self._consumer: Any = None
        with self._speaking():
            arguments = connection.client_settings(settings) | {
                "enable_auto_commit": False,
                "group_id": None,
                "check_crcs": True,
                "max_poll_records": _POLL_RECORDS,
            }
            self._consumer = clients.open_consumer(**arguments, isolation_level="read_committed")
            partitions = [
                TopicPartition(topic, number)
                for topic in topics
                for number in sorted(self._consumer.partitions_for_topic(topic) or ())
            ]
            if not partitions:
                return
            begins = self._consumer.beginning_offsets(partitions)
            # An open transaction holds records back that the progress already counts: Kafka
            # answers a commit before it marks every partition.
            everything = clients.open_consumer(**arguments, isolation_level="read_uncommitted")
            try:
                ends = everything.end_offsets(partitions)
            finally:
                everything.close()
            self._open(partitions, begins, ends)

    def _open(
        self,
        partitions: list[TopicPartition],
        begins: dict[TopicPartition, int],
        ends: dict[TopicPartition, int],
    ) -> None:
        for partition in partitions:
            lane = PartitionBuffer(len(self.lanes), partition, begins[partition], ends[partition])
            self.lanes.append(lane)
            self.by_topic.setdefault(lane.topic, []).append(lane)
            self._by_partition[partition] = lane
            if not lane.ended:
                self._starved.add(lane)

    def lowest(self) -> PartitionBuffer | None:
        """Return the lane whose next record has the lowest sequence; None at all ends."""
        if self._starved:
            with self._speaking():
                self._fill()
        order = self._order
        while order:
            _, number, serial = order[0]
            lane = self.lanes[number]
            if lane.serial == serial:
                return lane
            heappop(order)
        return None

    def skip_to(self, lower: bytes) -> None:
        """Leave out records before the first one with `lower` or a higher sequence."""
        for lane in self._read:
            lane.position = self._consumer.position(lane.partition)
        ranges = {}
        for lane in self.lanes:
            while lane.records and lane.records[0][0] < lower:
                self.take(lane)
            if not lane.records and lane.end - lane.position > _SKIPPED_MIN:
                ranges[lane.partition] = (lane.position, lane.end)
        if not ranges:
            return
        with self._speaking():
            offsets = first_offsets(
                self._settings, ranges, lower, self._writers.own_sequence, self._clients
            )
        # The client has fetched further; reading begins again.
        self._consumer.assign([])
        self._read = set()
        for partition, offset in offsets.items():
            lane = self._by_partition[partition]
            if offset > lane.position and not lane.first:
                lane.first = lower
            lane.position = offset

    def take(self, lane: PartitionBuffer) -> Any:
        """Return the next record of a lane, which has one."""
        sequence, record = lane.records.popleft()
        lane.last = sequence
        lane.last_is_tombstone = record.value is None
        lane.serial += 1
        if lane.records:
            heappush(self._order, (lane.records[0][0], lane.number, lane.serial))
        elif not lane.ended:
            self._starved.add(lane)
        return record

    def _fill(self) -> None:
        """Poll until every lane has a record or has ended."""
        moved_at = time.monotonic()
        while self._starved:
            self._choose()
            polled = self._consumer.poll(timeout_ms=_POLL_MS)
            for partition, records in polled.items():
                self._keep(self._by_partition[partition], records)
            moved = bool(polled)
            for lane in list(self._starved):
                if lane.records:
                    heappush(self._order, (lane.records[0][0], lane.number, lane.serial))
                elif self._consumer.position(lane.partition) >= lane.end:
                    lane.ended = True
                else:
                    continue
                moved = True
                self._starved.discard(lane)
            if moved:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > _IDLE_SECONDS_MAX:
                lane = next(iter(self._starved))
                raise connection.open_transaction_timeout(self._consumer, lane.partition, lane.end)

    def _keep(self, lane: PartitionBuffer, records: list[Any]) -> None:
        for record in records:
            if record.offset >= lane.end:
                lane.ended = True
                return
            if self._writers.is_other(record):
                self.others[lane.topic] += 1
                continue
            sequence = sequence_of(record)
            if sequence is None:
                self.unnumbered.append(record)
                continue
            if not lane.first:
                lane.first = sequence
            lane.records.append((sequence, record))

    def _choose(self) -> None:
        """Leave out lanes that are far ahead, and take them in again when they are not.

        The client's own `pause` can lose what it has fetched for a partition: it then never reads
        this partition again.
        """
        wanted = {
            lane
            for lane in self.lanes
            if not lane.ended
            and len(lane.records) < (_AHEAD_MAX if lane in self._read else _AHEAD_MIN)
        }
        if wanted == self._read:
            return
        for lane in self._read - wanted:
            lane.position = self._consumer.position(lane.partition)
        self._consumer.assign([lane.partition for lane in wanted])
        for lane in wanted - self._read:
            self._consumer.seek(lane.partition, lane.position)
        self._read = wanted

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except (KafkaError, OSError) as error:
            self.close()
            raise connection.connector_error(self._settings, self._doing, error) from error

    def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# The digits that all records of an event share.
EVENT_DIGITS: Final = contract.SEQ_DIGITS - contract.SEQ_ROW_DIGITS
# The digits that all records of a transaction share, or all records between two transactions.
TRANSACTION_DIGITS: Final = (
    contract.SEQ_EPOCH_DIGITS + contract.SEQ_FILE_DIGITS + contract.SEQ_POSITION_DIGITS
)


def row_of(sequence: bytes) -> int:
    """Return the number of the row in its event."""
    return int(sequence[EVENT_DIGITS:]) // HALVES

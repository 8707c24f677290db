"""The committed records of many partitions, in the order of their sequences.

Each partition is read in the order of its offsets. The lowest sequence of all next records comes
first, so the reader gives one stream that can be compared with the log. Memory is bounded: a
partition that is far ahead waits. The end of a partition is that of the moment at which reading
began.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Self

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.proof.headers import sequence_of
from connector.proof.lane import Lane
from connector.proof.start_offsets import first_offsets
from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import client_settings, connector_error
from connector.sink.timeouts import open_transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.proof.headers import Writers
    from connector.settings.sections import KafkaSettings

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
        clients: KafkaClients = KAFKA_CLIENTS,
    ) -> None:
        """Read `topics` from their beginnings to their current ends, without others' records."""
        self._settings = settings
        self._writers = writers
        self._clients = clients
        self.lanes: list[Lane] = []
        self.by_topic: dict[str, list[Lane]] = {}
        # Records without a sequence, which no connector writes.
        self.unnumbered: list[Any] = []
        # The number of records of others, by topic.
        self.others: Counter[str] = Counter()
        self._by_partition: dict[TopicPartition, Lane] = {}
        self._starved: set[Lane] = set()
        # The lanes that the client reads now.
        self._read: set[Lane] = set()
        self._order: list[tuple[bytes, int, int]] = []
        topics = sorted(topics)
        self._doing = attempts.reading(*topics)
        self._consumer: Any = None
        with self._speaking():
            arguments = client_settings(settings) | {
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
            lane = Lane(len(self.lanes), partition, begins[partition], ends[partition])
            self.lanes.append(lane)
            self.by_topic.setdefault(lane.topic, []).append(lane)
            self._by_partition[partition] = lane
            if not lane.ended:
                self._starved.add(lane)

    def lowest(self) -> Lane | None:
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
            found = first_offsets(
                self._settings, ranges, lower, self._writers.own_sequence, self._clients
            )
        # The client has fetched further; reading begins again.
        self._consumer.assign([])
        self._read = set()
        for partition, offset in found.items():
            lane = self._by_partition[partition]
            if offset > lane.position and not lane.first:
                lane.first = lower
            lane.position = offset

    def take(self, lane: Lane) -> Any:
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
                raise open_transaction(self._consumer, lane.partition, lane.end)

    def _keep(self, lane: Lane, records: list[Any]) -> None:
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
            raise connector_error(self._settings, self._doing, error) from error

    def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

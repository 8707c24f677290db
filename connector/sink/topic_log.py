"""The committed records of topics with one partition, up to the end that they had when opened."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.sink import attempts
from connector.sink.connection import connector_error, consumer_settings
from connector.sink.timeouts import open_transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.settings.sections import KafkaSettings
    from connector.sink.clients import KafkaClients

_POLL_MS = 500
# Give up after so many polls without records, although the end is not reached.
_IDLE_POLLS_MAX = 60


@dataclass(frozen=True, slots=True)
class TopicLog:
    """The committed records of a partition; one log of a consumer is read at a time."""

    consumer: Any
    partition: TopicPartition
    begin: int
    end: int

    def offset_at(self, time_ms: int) -> int:
        """Return the first offset that is not older than a time; the end if all are."""
        wanted = {self.partition: max(time_ms, 0)}
        found = self.consumer.offsets_for_times(wanted)[self.partition]
        return self.end if found is None else max(self.begin, int(found.offset))

    def follow(self, patience_seconds: float) -> Iterator[Any]:
        """Yield committed records after the end as they arrive, until the timeout."""
        self.consumer.assign([self.partition])
        self.consumer.seek(self.partition, self.end)
        # Both limits: in simulated time, polls take no time.
        polls = int(patience_seconds * 1000 / _POLL_MS)
        until = time.monotonic() + patience_seconds
        while polls and time.monotonic() < until:
            batch = self.consumer.poll(timeout_ms=_POLL_MS).get(self.partition, ())
            yield from batch
            polls -= not batch

    def read(self, start: int, end: int) -> Iterator[Any]:
        """Yield the committed records with start <= offset < end."""
        if start >= end:
            return
        consumer, partition = self.consumer, self.partition
        consumer.assign([partition])
        consumer.seek(partition, start)
        idle_polls = 0
        while (position := consumer.position(partition)) < end:
            batch = consumer.poll(timeout_ms=_POLL_MS)
            for record in batch.get(partition, ()):
                if record.offset < end:
                    yield record
            # Markers and aborted records move the position, but are not returned.
            moved = consumer.position(partition) > position
            idle_polls = 0 if moved else idle_polls + 1
            if idle_polls > _IDLE_POLLS_MAX:
                raise open_transaction(consumer, partition, end)


@contextmanager
def opened_logs(
    settings: KafkaSettings,
    topics: Sequence[str],
    clients: KafkaClients,
    *,
    to_the_last: bool = False,
) -> Iterator[dict[str, TopicLog]]:
    """Yield the logs of topics with one partition, by topic.

    A log ends at the first open transaction; with `to_the_last`, at its last record, and then
    reading waits for the end of open transactions. Raises SinkUnavailable or SinkRefused.
    """
    partitions = [TopicPartition(topic, 0) for topic in topics]
    try:
        consumer = clients.open_consumer(**_consumer_settings(settings))
        try:
            begins = consumer.beginning_offsets(partitions)
            if to_the_last:
                ends = last_offsets(settings, partitions, clients)
            else:
                ends = consumer.end_offsets(partitions)
            yield {
                partition.topic: TopicLog(consumer, partition, begins[partition], ends[partition])
                for partition in partitions
            }
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.reading(*topics), error) from error


def last_offsets(
    settings: KafkaSettings, partitions: list[TopicPartition], clients: KafkaClients
) -> dict[TopicPartition, int]:
    """Return the end offsets of partitions, including uncommitted records; raises KafkaError."""
    uncommitted = _consumer_settings(settings) | {"isolation_level": "read_uncommitted"}
    consumer = clients.open_consumer(**uncommitted)
    try:
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
        return ends
    finally:
        consumer.close()


def _consumer_settings(settings: KafkaSettings) -> dict[str, Any]:
    return consumer_settings(settings) | {"check_crcs": True}

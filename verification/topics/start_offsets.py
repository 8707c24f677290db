"""Finds the first record of each partition from a sequence on, without reading all before it.

The records of a partition are in the order of their sequences, so the search halves what is left
with each look, in all partitions together. Damage breaks that order: a record that is repeated
late has a low sequence among high ones. So the records before each place that was found are looked
at too, and if they do not belong before it, the search goes on there.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka import TopicPartition

from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink.connection import KAFKA_CLIENTS, KafkaClients, client_settings

# Gives the sequence of a record; None if it has none.
SequenceOf = Callable[[Any], bytes | None]

# Kafka sends whole batches: one of a partition, or so many bytes of them.
_FETCH_BYTES: Final = 16 * 1024
_POLL_RECORDS: Final = 50
_POLL_MS: Final = 200
# An open transaction may hold records back. Then the search goes on before them.
_WAIT_SECONDS: Final = 2.0
# So many offsets before the offset that was found are looked at.
_BEFORE: Final = 50


class _Search:
    """The search in one partition."""

    def __init__(self, begin: int, end: int, sequence_of: SequenceOf) -> None:
        self.begin = begin
        self.sequence_of = sequence_of
        # All records before `low` are too low, and that at `high` is not.
        self.low, self.high = begin, end
        self.is_found = begin >= end

    @property
    def next(self) -> int:
        """The offset to look at."""
        if self.low < self.high:
            return (self.low + self.high) // 2
        return max(self.begin, self.high - _BEFORE)

    def learn(self, records: list[Any], lower: bytes) -> None:
        """Note the first records from `next` on."""
        looked_at, is_search = self.next, self.low < self.high
        numbered = [
            (record.offset, sequence)
            for record in records
            if record.offset < self.high and (sequence := self.sequence_of(record)) is not None
        ]
        above = next((offset for offset, sequence in numbered if sequence >= lower), None)
        if above is None:
            if not is_search:
                self.is_found = True
            elif numbered:
                self.low = numbered[-1][0] + 1
            else:
                self.high = looked_at
        else:
            if not is_search:
                self.low = self.begin
            elif above != numbered[0][0]:
                self.low = above
            self.high = above
        self.is_found = self.is_found or self.high == self.begin


def first_offsets(
    settings: KafkaSettings,
    ranges: Mapping[TopicPartition, tuple[int, int]],
    lower: bytes,
    sequence_of: SequenceOf,
    clients: KafkaClients = KAFKA_CLIENTS,
) -> dict[TopicPartition, int]:
    """Return where to begin to read each partition for all records from `lower` on.

    `ranges` has the offsets between which to look. Records without a sequence are passed over.
    Raises KafkaError or OSError.
    """
    searches = {partition: _Search(*between, sequence_of) for partition, between in ranges.items()}
    consumer = clients.open_consumer(
        **client_settings(settings),
        enable_auto_commit=False,
        group_id=None,
        isolation_level="read_committed",
        max_poll_records=_POLL_RECORDS,
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_wait_ms=_POLL_MS,
    )
    try:
        while wanted := {p: search.next for p, search in searches.items() if not search.is_found}:
            for partition, records in _look(consumer, wanted, searches).items():
                searches[partition].learn(records, lower)
    finally:
        consumer.close()
    return {partition: search.high for partition, search in searches.items()}


def _look(
    consumer: Any, wanted: dict[TopicPartition, int], searches: dict[TopicPartition, _Search]
) -> dict[TopicPartition, list[Any]]:
    """Return the first records from each offset on; none if there are none before the end."""
    first_records: dict[TopicPartition, list[Any]] = {partition: [] for partition in wanted}
    consumer.assign(list(wanted))
    for partition, offset in wanted.items():
        consumer.seek(partition, offset)
    waiting = set(wanted)
    until = time.monotonic() + _WAIT_SECONDS
    while waiting and time.monotonic() < until:
        for partition, records in consumer.poll(timeout_ms=_POLL_MS).items():
            first_records[partition] += records
        waiting = {
            partition
            for partition in waiting
            if not _has_looked(
                consumer.position(partition), first_records[partition], searches[partition]
            )
        }
    return first_records


def _has_looked(position: int, records: list[Any], search: _Search) -> bool:
    """Return whether enough of a partition was read."""
    if position >= search.high:
        return True
    if search.low < search.high:
        return any(search.sequence_of(record) is not None for record in records)
    return False

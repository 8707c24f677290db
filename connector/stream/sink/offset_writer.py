"""Writes records to a partition at given offsets; what is between them is no record for consumers.

Kafka numbers records as they come. A gap is filled by a transaction that is aborted: its records,
which no consumer of committed records sees, and the mark at its end, which takes an offset, too. A
mark that ends a transaction of records takes the first offset of the gap after them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from kafka import KafkaProducer, TopicPartition
from librt.strings import BytesWriter

from connector.foundation import kafka_records, record_batch
from connector.foundation.errors import SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.cluster import Cluster
from connector.kafka.encoded_batch import CODECS, EncodedBatch
from connector.kafka.transaction_client import TransactionClient
from connector.stream.sink import connection, log_copy_errors
from connector.stream.sink.recovery import committed_settings

_BATCH_BYTES: Final = 512 * 1024
_SIZE_MAX: Final = 2**31 - 1
_LOOK_SECONDS: Final = 0.01


class OffsetWriter(record_batch.BatchReceiver):
    """Writes to one partition after the other; all before `take` is on its way or written."""

    def __init__(
        self,
        settings: KafkaSettings,
        cluster: Cluster,
        client: TransactionClient,
        producer: Any,
        consumer: Any,
    ) -> None:
        """Write by clients of one log; `opened` makes them."""
        self._settings = settings
        self._cluster = cluster
        self._client = client
        self._producer = producer
        self._consumer = consumer
        self._codec = CODECS[settings.compression]
        self._target = record_batch.BatchingTarget(self, _BATCH_BYTES, _BATCH_BYTES, _SIZE_MAX)
        self._topic, self._partition = "", 0
        self._is_open = self._is_plain = False
        # The offset of the next record.
        self._at = 0
        # Of a record that was sent without a transaction.
        self._failure: Exception | None = None

    def begin(self, topic: str, partition: int, *, plain: bool) -> None:
        """Write to an empty partition; `plain` if its last offset is that of a record.

        Such a partition leaves no room for the mark of a transaction.
        """
        self._cluster.partitions_of(topic, _go_on)
        self._topic, self._partition, self._is_plain, self._at = topic, partition, plain, 0

    def take(self, record: Any) -> None:
        """Write a record of kafka-python's at its offset."""
        self.fill(record.offset)
        headers = record.headers
        if self._is_plain:
            self._producer.send(
                self._topic,
                value=record.value,
                key=record.key,
                headers=list(headers),
                partition=self._partition,
                timestamp_ms=record.timestamp,
            ).add_errback(self._note)
        else:
            self._open()
            self._target.take(
                self._topic, record.key, record.value, _encoded(headers), record.timestamp
            )
        self._at += 1

    def fill(self, end: int) -> None:
        """End what is open, and fill the offsets up to `end`."""
        if self._at == end:
            return
        if self._is_plain:
            self._flush()
        elif self._is_open:
            self._end(commit=True)
        gap = end - self._at
        if gap:
            self._open()
            for _ in range(gap - 1):
                self._target.take(self._topic, None, None, b"\0", 0)
            self._at += gap - 1
            self._end(commit=False)
            if self._is_plain:
                # The producer without transactions does not wait for the mark.
                self.require_end(end)

    def close_partition(self, end: int) -> None:
        """Fill the partition up to its end; raises SinkUnavailable if it ends elsewhere."""
        self.fill(end)
        self._flush()
        self.require_end(end)

    def require_end(self, end: int) -> None:
        """Wait until the partition ends at `end`; raises SinkUnavailable if it does not."""
        partition = TopicPartition(self._topic, self._partition)
        until = time.monotonic() + self._settings.request_timeout_seconds
        while (found := self._consumer.end_offsets([partition])[partition]) != end:
            if found > end or time.monotonic() > until:
                raise SinkUnavailable(
                    log_copy_errors.OFFSETS_DIFFER,
                    servers=connection.servers_of(self._settings),
                    topic=self._topic,
                    partition=self._partition,
                    found=found,
                    wanted=end,
                )
            time.sleep(_LOOK_SECONDS)

    def _open(self) -> None:
        if not self._is_open:
            self._client.add_partitions([(self._topic, self._partition)])
            self._is_open = True

    def _end(self, *, commit: bool) -> None:
        self._target.flush()
        self._client.end(commit=commit)
        self._is_open = False
        self._at += 1

    def _flush(self) -> None:
        self._producer.flush()
        if self._failure is not None:
            raise self._failure

    def _note(self, error: Exception) -> None:
        self._failure = error

    def partition_count(self, topic: str) -> int:
        """Return one: batches are of the partition that `begin` names."""
        del topic
        return 1

    def receive(self, batch: record_batch.RecordBatch) -> None:
        """Write a batch, and wait until Kafka has it."""
        batch.partition = self._partition
        self._client.write([EncodedBatch(batch, self._codec)])
        while self._client.unacknowledged:
            self._client.acknowledge()

    def has_room(self, batch: record_batch.RecordBatch) -> bool:
        """Leave it to Kafka: the topic has the limit of the one that had the records."""
        del batch
        return True


def _go_on() -> None:
    """Let a wait go on: nothing interrupts it."""


def _encoded(headers: Any) -> bytes:
    out = BytesWriter()
    kafka_records.put_varint(out, len(headers))
    for name, value in headers:
        if value is None:
            kafka_records.put_varint(out, len(name.encode()))
            out.write(name.encode())
            kafka_records.put_varint(out, -1)
        else:
            kafka_records.put_header(out, name.encode(), value)
    return out.getvalue()


@contextmanager
def opened(settings: KafkaSettings, transactional_id: str) -> Iterator[OffsetWriter]:
    """Yield a writer; another one with this id is fenced. Raises KafkaError or OSError."""
    arguments = connection.client_settings(settings)
    uncommitted = committed_settings(settings) | {"isolation_level": "read_uncommitted"}
    with (
        closing(Cluster(arguments)) as cluster,
        closing(connection.KAFKA_CLIENTS.open_consumer(**uncommitted)) as consumer,
        closing(KafkaProducer(**arguments, acks="all", enable_idempotence=True)) as producer,
        closing(
            TransactionClient(
                cluster,
                arguments,
                transactional_id,
                settings.transaction_timeout_seconds,
                _go_on,
            )
        ) as client,
    ):
        yield OffsetWriter(settings, cluster, client, producer, consumer)

"""How record batches get into kafka-python's producer: whole, or else record by record.

*Whole.* `send` costs more than all that comes before it, so a batch is put where `send` would have
made it: into the client's accumulator, whose thread compresses, numbers, sends and repeats it. At
the start the client's private names are looked at, and one batch is compared with the client's own.

*Record by record.* Where anything is not as expected, batches are taken apart and go by `send`, and
a warning says so.

*Nothing is lost within a transaction.* A batch that was given up because its time ran out is, to
the client, no reason not to commit the rest. Here it is.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from kafka import TopicPartition

from connector.errors import kafka
from connector.records.record_batch import BatchingTarget, BatchReceiver, RecordBatch
from connector.sink.timeouts import TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka import KafkaProducer

# ruff: noqa: SLF001 - the client's accumulator is not meant to be filled from outside

# How often a wait for room looks for what it is not told of.
_LOOK_SECONDS = 0.1


class Delivery(Protocol):
    """Takes batches into the open transaction of a producer."""

    in_flight_bytes: int  # of batches that Kafka may not have acknowledged

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait until `size` more bytes in flight are not more than `limit`, or are alone.

        Raises KafkaTimeoutError.
        """

    def deliver(self, batch: RecordBatch) -> None:
        """Queue a batch. Raises KafkaError."""

    def settle(self, timeout_seconds: float) -> None:
        """Make sure that a commit fails if a batch did. Raises KafkaError."""

    def aborted(self) -> None:
        """Take note that the transaction was aborted, and its batches with it."""


def delivery_of(producer: KafkaProducer) -> Delivery:
    """Return the fastest way into a transactional producer that this release of it allows."""
    try:
        return BatchDelivery(producer)
    except Exception as error:  # noqa: BLE001  # whatever is not as expected, `send` remains
        structlog.get_logger().warning(
            "records are sent one by one, which is slow: this release of kafka-python does not "
            "take record batches as 3.0 does",
            error=f"{type(error).__name__}: {error}",
        )
        return RecordDelivery(producer)


class BatchDelivery:
    """Batches are put into the accumulator, as if `send` had filled them.

    The private names are those of kafka-python 3.0.
    """

    def __init__(self, producer: KafkaProducer) -> None:
        """Look at everything that is used later; raises whatever is not as expected."""
        from kafka.producer.producer_batch import ProducerBatch  # noqa: PLC0415  # may be missing
        from kafka.record.memory_records import (  # noqa: PLC0415  # may be missing
            MemoryRecordsBuilder,
        )

        self.in_flight_bytes = 0
        self._lock = threading.Lock()
        self._acknowledged = threading.Event()
        self._producer_batch = ProducerBatch
        self._records_builder = MemoryRecordsBuilder
        self._accumulator: Any = producer._accumulator
        self._manager: Any = producer._transaction_manager
        self._wake: Callable[[], None] = producer._sender.wakeup
        self._check_names()
        self._check_encoding()
        self._fail_whole_transactions()

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait for acknowledgements; see `Delivery`."""
        deadline = time.monotonic() + timeout_seconds
        while self.in_flight_bytes + size > limit:
            self._acknowledged.clear()
            if not self._accumulator.has_incomplete:
                # Of a batch that was split because the topic takes smaller ones, no end is told.
                self.in_flight_bytes = 0
                return
            if self._manager.has_error():
                return
            if time.monotonic() > deadline:
                raise TimedOut(kafka.NOT_ACKNOWLEDGED, seconds=timeout_seconds)
            self._wake()
            self._acknowledged.wait(_LOOK_SECONDS)

    def deliver(self, batch: RecordBatch) -> None:
        """Put a batch into the accumulator; the sender's thread is not woken."""
        partition = TopicPartition(batch.topic, batch.partition)
        self._manager.maybe_add_partition_to_transaction(partition)
        queued = self._producer_batch(partition, self._filled(batch))
        with self._lock:
            self.in_flight_bytes += len(batch.data)
        queued.produce_future.add_both(self._done, len(batch.data))
        accumulator = self._accumulator
        accumulator._appends_in_progress.increment()
        try:
            with accumulator._tp_lock(partition):
                accumulator._batches[partition].append(queued)
                accumulator._incomplete.add(queued)
        finally:
            accumulator._appends_in_progress.decrement()

    def settle(self, timeout_seconds: float) -> None:
        """Do nothing: a batch that fails takes its transaction with it."""

    def aborted(self) -> None:
        """Do nothing: each batch has told of its end."""

    def _done(self, size: int, _result: object) -> None:
        with self._lock:
            self.in_flight_bytes -= size
        self._acknowledged.set()

    def _builder(self) -> Any:
        config = self._accumulator.config
        return self._records_builder(
            config["message_version"], config["compression_attrs"], config["batch_size"]
        )

    def _filled(self, batch: RecordBatch) -> Any:
        records = self._builder()
        records._next_offset = batch.count
        builder = records._builder
        builder._buffer = bytearray(batch.data)
        builder._num_records = batch.count
        builder._last_offset = batch.count - 1
        builder._first_timestamp = batch.first_timestamp_ms
        builder._max_timestamp = batch.max_timestamp_ms
        return records

    def _check_names(self) -> None:
        accumulator, manager = self._accumulator, self._manager
        partition = TopicPartition("", 0)
        with accumulator._tp_lock(partition):
            # Not by an entry: the sender's thread would ask for its leader.
            _ = accumulator._batches.default_factory().append
        accumulator._appends_in_progress.increment()
        accumulator._appends_in_progress.decrement()
        _ = accumulator._incomplete.add, accumulator.has_incomplete
        _ = manager.maybe_add_partition_to_transaction, manager.has_error()
        _ = self._producer_batch(partition, self._builder()).produce_future.add_both

    def _check_encoding(self) -> None:
        """Compare the bytes of a batch with the client's."""
        topic = "sample"
        sample = _Sample()
        target = BatchingTarget(sample, 1 << 20, 1 << 20, 1 << 20)
        theirs = self._builder()
        for key, value, timestamp_ms in (
            (b"key", b"value" * 40, 1_700_000_000_000),
            (None, b"", 1_700_000_123_456),
            (b"k" * 200, None, 1_699_999_999_999),
        ):
            target.take(topic, key, value, b"\x02\x08name\x0avalue", timestamp_ms)
            theirs.append(timestamp_ms, key, value, [("name", b"value")])
        target.flush()
        ours = self._filled(sample.batches[0])
        for records in (ours, theirs):
            records.set_producer_state(7, 8, 9, True)
            records.close()
        if ours.next_offset() != theirs.next_offset() or ours.buffer() != theirs.buffer():
            reason = "it encodes a batch differently"
            raise ValueError(reason)

    def _fail_whole_transactions(self) -> None:
        manager = self._manager
        classify, fatal = manager.classify_batch_error, manager.ERROR_CLASS_FATAL
        abortable = manager.ERROR_CLASS_ABORTABLE

        def classify_strictly(*arguments: Any, **named: Any) -> Any:
            return fatal if classify(*arguments, **named) == fatal else abortable

        manager.classify_batch_error = classify_strictly


class RecordDelivery:
    """Batches are taken apart again, by what the client documents."""

    def __init__(self, producer: KafkaProducer) -> None:
        """Send by `producer`."""
        self.in_flight_bytes = 0
        self._producer: Any = producer
        self._error: Exception | None = None

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait until everything is acknowledged; see `Delivery`."""
        if self.in_flight_bytes + size > limit:
            self._producer.flush(timeout=timeout_seconds)
            self.in_flight_bytes = 0

    def deliver(self, batch: RecordBatch) -> None:
        """Send the records of a batch."""
        for record in batch.records():
            self._producer.send(
                record.topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                partition=batch.partition,
                timestamp_ms=record.timestamp_ms,
            ).add_errback(self._fail)
        self.in_flight_bytes += len(batch.data)

    def settle(self, timeout_seconds: float) -> None:
        """Wait until everything is acknowledged, and raise what was not."""
        self._producer.flush(timeout=timeout_seconds)
        self.in_flight_bytes = 0
        if self._error is not None:
            raise self._error

    def aborted(self) -> None:
        """Forget what became of the batches."""
        self.in_flight_bytes = 0
        self._error = None

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error


class _Sample(BatchReceiver):
    """Keeps batches of topics with one partition."""

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []

    def partition_count(self, topic: str) -> int:
        del topic
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.batches.append(batch)

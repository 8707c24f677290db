"""How record batches enter kafka-python's producer: whole, or record by record.

*Whole.* `send` costs more than everything before it. So a batch goes directly into the client's
accumulator, whose thread numbers, sends and retries it. At the start, the client's private names
are checked, and one batch is compared with the client's own.

*Record by record.* If anything differs, batches are split and sent by `send`, and a warning says
so.

*Nothing is lost within a transaction.* If the client gives up a batch because of a timeout, it
would still commit the rest. Here the whole transaction fails.
"""

from collections.abc import Callable
from typing import Any, Protocol

import structlog
from kafka import KafkaProducer, TopicPartition

from connector.foundation.record_batch import BatchingTarget, BatchReceiver, RecordBatch
from connector.stream.sink import kafka_errors
from connector.stream.sink.attempts import TimedOut
from connector.stream.sink.encoded_batch import EncodedBatch, InFlightBatches

# ruff: noqa: SLF001 - the client has no public way to fill its accumulator


class Delivery(Protocol):
    """Takes batches into the open transaction of a producer."""

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet, as they are in memory."""

    def records_of(self, batch: RecordBatch) -> EncodedBatch:
        """Return a batch as the client holds it, not compressed and numbered yet."""

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait until `size` more bytes in flight are at most `limit`, or are alone.

        Raises KafkaTimeoutError.
        """

    def deliver(self, records: EncodedBatch) -> None:
        """Queue the records of a batch. Raises KafkaError."""

    def settle(self, timeout_seconds: float) -> None:
        """Make sure that a commit fails if a batch did. Raises KafkaError."""

    def aborted(self) -> None:
        """Note that the transaction was aborted together with its batches."""


def delivery_of(producer: KafkaProducer, in_flight: InFlightBatches) -> Delivery:
    """Return the fastest way into a transactional producer that this kafka-python allows."""
    try:
        return BatchDelivery(producer, in_flight)
    except Exception as error:  # noqa: BLE001  # any difference: `send` still works
        structlog.get_logger().warning(
            "records are sent one by one, which is slow: this release of kafka-python does not "
            "take record batches as 3.0 does",
            error=f"{type(error).__name__}: {error}",
        )
        return RecordDelivery(producer)


class BatchDelivery:
    """Puts batches into the accumulator, as `send` does.

    The private names are those of kafka-python 3.0.
    """

    def __init__(self, producer: KafkaProducer, in_flight: InFlightBatches) -> None:
        """Check every private name that is used later; raises any error if one differs."""
        from kafka.producer.producer_batch import ProducerBatch  # noqa: PLC0415  # may be missing
        from kafka.record.memory_records import (  # noqa: PLC0415  # may be missing
            MemoryRecordsBuilder,
        )

        self._in_flight = in_flight
        self._producer_batch = ProducerBatch
        self._records_builder = MemoryRecordsBuilder
        self._accumulator: Any = producer._accumulator
        self._manager: Any = producer._transaction_manager
        self._wake: Callable[[], None] = producer._sender.wakeup
        self._codec: int = self._accumulator.config["compression_attrs"]
        self._check_names()
        self._check_encoding()
        self._fail_whole_transactions()

    @property
    def in_flight_bytes(self) -> int:
        """Bytes in memory; see `Delivery`."""
        return self._in_flight.bytes

    def records_of(self, batch: RecordBatch) -> EncodedBatch:
        """Return a batch as the client holds it; see `Delivery`."""
        return EncodedBatch(batch, self._codec)

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait for acknowledgements; see `Delivery`."""

        def may_go_on() -> bool:
            if self.in_flight_bytes + size <= limit:
                return True
            if not self._accumulator.has_incomplete:
                # If the topic takes only smaller batches, the client splits one and reports no end
                # for it.
                self._in_flight.clear()
                return True
            self._wake()
            return bool(self._manager.has_error())

        if not self._in_flight.wait_until(may_go_on, timeout_seconds):
            raise TimedOut(kafka_errors.NOT_ACKNOWLEDGED, seconds=timeout_seconds)

    def deliver(self, records: EncodedBatch) -> None:
        """Put a batch into the accumulator, without waking the sender's thread."""
        partition = TopicPartition(records.topic, records.partition)
        self._manager.maybe_add_partition_to_transaction(partition)
        queued = self._producer_batch(partition, records)
        self._in_flight.add(records)
        queued.produce_future.add_both(self._done, records)
        accumulator = self._accumulator
        accumulator._appends_in_progress.increment()
        try:
            with accumulator._tp_lock(partition):
                accumulator._batches[partition].append(queued)
                accumulator._incomplete.add(queued)
        finally:
            accumulator._appends_in_progress.decrement()

    def settle(self, timeout_seconds: float) -> None:
        """Nothing to do: if a batch fails, its transaction fails."""

    def aborted(self) -> None:
        """Nothing to do: each batch has reported its end."""

    def _done(self, records: EncodedBatch, _result: object) -> None:
        self._in_flight.discard(records)

    def _builder(self) -> Any:
        config = self._accumulator.config
        return self._records_builder(config["message_version"], self._codec, config["batch_size"])

    def _check_names(self) -> None:
        accumulator, manager = self._accumulator, self._manager
        partition = TopicPartition("", 0)
        with accumulator._tp_lock(partition):
            # Do not create an entry: the sender's thread would ask for its leader.
            _ = accumulator._batches.default_factory().append
        accumulator._appends_in_progress.increment()
        accumulator._appends_in_progress.decrement()
        _ = accumulator._incomplete.add, accumulator.has_incomplete
        _ = manager.maybe_add_partition_to_transaction, manager.has_error()
        _ = self._producer_batch(partition, self._builder()).produce_future.add_both

    def _check_encoding(self) -> None:
        """Compare the bytes of a batch with those that the client would encode."""
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
        ours = self.records_of(sample.batches[0])
        for records in (ours, theirs):
            records.set_producer_state(7, 8, 9, True)
            records.close()
        state = "producer_id", "producer_epoch", "base_sequence"
        if (
            ours.next_offset() != theirs.next_offset()
            or ours.buffer() != theirs.buffer()
            or any(getattr(ours, name) != getattr(theirs, name) for name in state)
        ):
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
    """Sends each record of a batch by the client's public `send`."""

    def __init__(self, producer: KafkaProducer) -> None:
        self.in_flight_bytes = 0
        self._producer: Any = producer
        self._error: Exception | None = None

    def records_of(self, batch: RecordBatch) -> EncodedBatch:
        """Return a batch, which is not compressed: the client has records of its own."""
        return EncodedBatch(batch, 0)

    def make_room(self, size: int, limit: int, timeout_seconds: float) -> None:
        """Wait until everything is acknowledged; see `Delivery`."""
        if self.in_flight_bytes + size > limit:
            self._producer.flush(timeout=timeout_seconds)
            self.in_flight_bytes = 0

    def deliver(self, records: EncodedBatch) -> None:
        """Send the records of a batch."""
        for record in records.uncompressed().records():
            self._producer.send(
                record.topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                partition=records.partition,
                timestamp_ms=record.timestamp_ms,
            ).add_errback(self._fail)
        self.in_flight_bytes += records.size

    def settle(self, timeout_seconds: float) -> None:
        """Wait until everything is acknowledged, and raise what was not."""
        self._producer.flush(timeout=timeout_seconds)
        self.in_flight_bytes = 0
        if self._error is not None:
            raise self._error

    def aborted(self) -> None:
        """Drop the results of the batches."""
        self.in_flight_bytes = 0
        self._error = None

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error


class _Sample(BatchReceiver):
    """Collects batches of topics with one partition."""

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []

    def partition_count(self, topic: str) -> int:
        del topic
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.batches.append(batch)

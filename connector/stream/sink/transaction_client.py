"""The requests of Kafka transactions, sent and awaited without kafka-python's event loop.

kafka-python encodes requests by a description of the protocol, and hands each one to an event
loop in a thread of its own. For a transaction of one row, this is nearly all the work of the
connector; for large ones, it keeps the only thread that may run Python from encoding. Here the
same requests are sent over connections of our own: partitions are added, record batches written,
the transaction is ended.

*One numbering.* Producer id, epoch and the numbers of record batches come from kafka-python's
transaction manager, which does nothing meanwhile.

*All goes well, or kafka-python goes on.* After any error, the caller gives the same transaction
to kafka-python, which finds brokers, waits and repeats. Batches get the same numbers again, so
Kafka keeps none twice. A batch that was acknowledged is not given to it again; then only the
commit is repeated, which Kafka allows. But if a request gets no response in time, nothing is
repeated: it may still arrive, and a late commit would commit the start of the next transaction.
"""

import time
from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto
from math import inf
from typing import Any, TypeAlias

import structlog
from kafka import KafkaProducer, TopicPartition
from kafka.errors import (
    ConcurrentTransactionsError,
    IncompatibleBrokerVersion,
    NodeNotReadyError,
    RetriableError,
    for_code,
)
from kafka.producer.transaction_manager import TransactionState
from kafka.protocol.metadata import CoordinatorType

from connector.stream.sink import broker_connection, kafka_errors
from connector.stream.sink.attempts import TimedOut
from connector.stream.sink.encoded_batch import EncodedBatch

# ruff: noqa: SLF001 - the client has no public way to read its numbers

# The coordinator ends the transaction before within about this time.
_CONCURRENT_SECONDS = 0.001
# After a failure, the client's own requests are used for this time, which doubles each time.
_PAUSE_SECONDS = 1.0
_PAUSE_SECONDS_MAX = 300.0
# Between two attempts to take over.
_RETRY_SECONDS = 0.1
_MS = 1000
_NO_ERROR = 0
# Numbers of records begin again at 0 after this one.
_SEQUENCE_MAX = 0x7FFF_FFFF

# Batches that were written in one request each, by the leader that was asked.
WrittenBatches: TypeAlias = dict[broker_connection.BrokerConnection, list[EncodedBatch]]


class TransactionStage(Enum):
    """How far a transaction has come."""

    NOTHING = auto()  # no request was sent
    SENT = auto()  # partitions may be added, and records may be written
    ACKNOWLEDGED = auto()  # all records are written; it may be committed
    ENDED = auto()


class TransactionClient:
    """The connections of one producer; private names are those of kafka-python 3.0.

    One thread at a time may use it. All methods that send raise OSError or KafkaError; TimeoutError
    if there is no response in time.
    """

    def __init__(
        self, producer: KafkaProducer, settings: dict[str, Any], timeout_seconds: float
    ) -> None:
        """Connect later, by the `settings` of `producer`; raises any error if a name differs."""
        self._settings = settings
        self._request_seconds = settings["request_timeout_ms"] / _MS
        # A transaction that waits for the one before it.
        self._patience_seconds = min(timeout_seconds, self._request_seconds)
        self._cluster: Any = producer._metadata
        self._manager: Any = producer._transaction_manager
        self._accumulator: Any = producer._accumulator
        self._connections: dict[tuple[str, int], broker_connection.BrokerConnection] = {}
        # Records that were written and not acknowledged yet.
        self._unacknowledged: Counter[TopicPartition] = Counter()
        self._not_before = 0.0
        self._pause_seconds = _PAUSE_SECONDS
        # Id and epoch, for which requests are encoded.
        self._producer = (-1, -1)
        self._requests: broker_connection.TransactionRequests
        _ = self.is_ready
        _ = self._manager._transaction_coordinator, self._manager._transaction_started
        _ = self._manager.transition_to_fatal_error, self._cluster.get_coordinator
        _ = self._manager.sequence_number, self._manager.increment_sequence_number
        _ = self._manager.update_last_acked_offset, self._cluster.leader_for_partition

    @property
    def is_ready(self) -> bool:
        """Whether a transaction may begin: kafka-python has none, and no failure was just now."""
        manager = self._manager
        return (
            time.monotonic() >= self._not_before
            and manager._current_state is TransactionState.READY
            and not manager.has_in_flight_transactional_request()
            and not manager._pending_requests
            and not self._accumulator.has_incomplete
        )

    def connect(self) -> None:
        """Connect to the coordinator, if there is no connection yet."""
        self._encode()
        self._coordinator()

    def add_partitions(self, wanted: tuple[TopicPartition, ...]) -> None:
        """Add partitions to the transaction, once the one before has ended."""
        coordinator = self._coordinator()
        until = time.monotonic() + self._patience_seconds
        while True:
            coordinator.send(self._requests.add_partitions(coordinator.next_number(), wanted))
            errors = broker_connection.add_partitions_errors(coordinator.receive())
            concurrent = ConcurrentTransactionsError.errno in errors.values()
            if not concurrent or time.monotonic() > until:
                break
            time.sleep(_CONCURRENT_SECONDS)
        for partition in wanted:
            _require_success(errors.get(partition))

    def write(self, ready: Iterable[EncodedBatch]) -> WrittenBatches:
        """Write one batch to each of some partitions; `acknowledge` awaits that."""
        by_leader: WrittenBatches = {}
        for records in ready:
            partition = partition_of(records)
            leader = self._connection_to(self._cluster.leader_for_partition(partition))
            number = self._manager.sequence_number(partition) + self._unacknowledged[partition]
            records.set_producer_state(*self._producer, number & _SEQUENCE_MAX, True)
            records.close()
            self._unacknowledged[partition] += records.count
            by_leader.setdefault(leader, []).append(records)
        for leader, batches in by_leader.items():
            whole = [(batch.topic, batch.partition, batch.buffer()) for batch in batches]
            leader.send(self._requests.produce(leader.next_number(), whole))
        return by_leader

    def acknowledge(self, written: WrittenBatches) -> None:
        """Wait until Kafka has what was written first of all that is not acknowledged."""
        results: dict[broker_connection.PartitionId, tuple[int, int]] = {}
        for leader in written:
            results |= broker_connection.produce_results(leader.receive())
        batches = [records for leader_batches in written.values() for records in leader_batches]
        for records in batches:
            result = results.get((records.topic, records.partition))
            _require_success(None if result is None else result[0])
        for records in batches:
            partition = partition_of(records)
            _, offset = results[partition]
            self._unacknowledged[partition] -= records.count
            self._manager.increment_sequence_number(partition, records.count)
            self._manager.update_last_acked_offset(partition, offset, records.count)

    def end(self, *, commit: bool) -> None:
        """Commit or abort the transaction."""
        coordinator = self._coordinator()
        coordinator.send(self._requests.end(coordinator.next_number(), commit=commit))
        _require_success(broker_connection.end_txn_error(coordinator.receive()))
        self._pause_seconds = _PAUSE_SECONDS

    def give_up(self, error: Exception, reached: TransactionStage) -> None:
        """Leave a transaction that came so far to kafka-python, which goes on for a while.

        Raises KafkaTimeoutError if a request may still arrive; then the producer has failed.
        """
        self.close()
        if isinstance(error, IncompatibleBrokerVersion):
            self._pause_seconds = inf
        self._not_before = time.monotonic() + self._pause_seconds
        self._pause_seconds = min(2 * self._pause_seconds, _PAUSE_SECONDS_MAX)
        if isinstance(error, TimeoutError) and reached is not TransactionStage.NOTHING:
            raise self.fail(self._request_seconds) from error
        # The leader of a new partition is not known yet, which needs nobody's attention.
        structlog.get_logger().debug(
            "a transaction goes on by kafka-python's own requests",
            reached=reached.name,
            error=f"{type(error).__name__}: {error}",
        )

    def fail(self, seconds: float) -> TimedOut:
        """Give the producer up, because nothing was heard for so long; return the error."""
        failure = TimedOut(kafka_errors.NO_ANSWER_IN_TIME, seconds=seconds)
        self._manager.transition_to_fatal_error(failure)
        return failure

    def take_over(self, timeout_seconds: float) -> None:
        """Abort what is open by the next epoch of the producer, which then is of no use any more.

        Kafka also refuses what still arrives from the client. Raises OSError or KafkaError, also if
        another producer has a newer epoch.
        """
        until = time.monotonic() + timeout_seconds
        while True:
            self.close()
            try:
                return self._try_to_take_over()
            except (OSError, RetriableError):
                # A broker that stood still leads nothing for a while.
                if time.monotonic() > until:
                    raise
                time.sleep(_RETRY_SECONDS)

    def interrupt(self) -> None:
        """Have every request that another thread waits for fail."""
        for connection in list(self._connections.values()):
            connection.interrupt()

    def close(self) -> None:
        """Close the connections; the next request opens them again."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._unacknowledged.clear()

    def _try_to_take_over(self) -> None:
        manager = self._manager
        coordinator = self._connection_to(
            self._cluster.get_coordinator(manager.transactional_id, CoordinatorType.TRANSACTION)
        )
        self._encode()
        number, timeout_ms = coordinator.next_number(), manager.transaction_timeout_ms
        coordinator.send(self._requests.take_over(number, timeout_ms))
        error = broker_connection.end_txn_error(coordinator.receive())
        # Kafka aborts it now, or had begun to end it.
        if error != ConcurrentTransactionsError.errno:
            _require_success(error)

    def _encode(self) -> None:
        """Encode what the requests of this producer have in common."""
        whose = self._manager.producer_id_and_epoch
        producer = whose.producer_id, whose.epoch
        if producer != self._producer:
            self._requests = broker_connection.TransactionRequests(
                self._settings["client_id"],
                self._manager.transactional_id,
                producer,
                self._settings["request_timeout_ms"],
            )
            self._producer = producer

    def _coordinator(self) -> broker_connection.BrokerConnection:
        return self._connection_to(self._manager._transaction_coordinator)

    def _connection_to(self, node_id: object) -> broker_connection.BrokerConnection:
        node = self._cluster.broker_metadata(node_id)
        if node is None:
            raise NodeNotReadyError(node_id)
        address = node.host, node.port
        connection = self._connections.get(address)
        if connection is None:
            connection = broker_connection.BrokerConnection.open(
                self._settings, *address, self._request_seconds
            )
            self._connections[address] = connection
        return connection


def partition_of(records: EncodedBatch) -> TopicPartition:
    """Return where a batch goes, as kafka-python names it."""
    return TopicPartition(records.topic, records.partition)


def _require_success(error: int | None) -> None:
    """Raise the error that a response names; Malformed if it says nothing."""
    if error is None:
        raise broker_connection.MalformedResponse
    if error != _NO_ERROR:
        raise for_code(error)

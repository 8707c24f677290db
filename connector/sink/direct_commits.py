"""Commits a small transaction with three requests, each sent and awaited in the caller's thread.

kafka-python encodes requests by a description of the protocol, and hands each one to an event loop
in a thread of its own. For a transaction of one row, this is nearly all the work of the connector.
Here the same requests are sent over connections of our own: partitions are added, record batches
written, the transaction is committed.

*One numbering.* Producer id, epoch and the numbers of record batches are those of kafka-python's
transaction manager, which does nothing meanwhile.

*All goes well, or kafka-python goes on.* After any error, the caller gives the same transaction to
kafka-python, which finds brokers, waits and repeats. Batches get the same numbers again, so Kafka
keeps none twice. A batch that was acknowledged is not given to it again; then only the commit is
repeated, which Kafka allows. But if a request gets no response in time, nothing is repeated: it may
still arrive, and a late commit would commit the start of the next transaction.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING, Any

import structlog
from kafka import TopicPartition
from kafka.errors import (
    ConcurrentTransactionsError,
    IncompatibleBrokerVersion,
    KafkaError,
    NodeNotReadyError,
    RetriableError,
    for_code,
)
from kafka.producer.transaction_manager import TransactionState
from kafka.protocol.metadata import CoordinatorType

from connector.errors import kafka
from connector.sink.direct_connection import DirectConnection
from connector.sink.direct_requests import (
    Malformed,
    PartitionId,
    TransactionRequests,
    added,
    ended,
    produced,
)
from connector.sink.timeouts import TimedOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka import KafkaProducer

    from connector.sink.sealed_records import SealedRecords

# ruff: noqa: SLF001 - the client has no public way to read its numbers

# A larger transaction goes to the client's thread, which compresses while this one encodes.
_BYTES_MAX = 256 * 1024
# The coordinator ends the transaction before within about this time.
_CONCURRENT_SECONDS = 0.001
# After a failure, the client's own requests are used for this time, which doubles each time.
_PAUSE_SECONDS = 1.0
_PAUSE_SECONDS_MAX = 300.0
# Between two attempts to take over.
_RETRY_SECONDS = 0.1
_MS = 1000
_NO_ERROR = 0


class Reached(Enum):
    """How far a transaction has come."""

    NOTHING = auto()  # no request was sent
    SENT = auto()  # partitions may be added, and records may be written
    ACKNOWLEDGED = auto()  # all records are written; it may be committed
    COMMITTED = auto()


def is_small(held: Sequence[SealedRecords]) -> bool:
    """Return whether `DirectCommits` may commit these: few bytes, and one batch a partition."""
    partitions = {(records.topic, records.partition) for records in held}
    size = sum(records.size for records in held)
    return size <= _BYTES_MAX and len(partitions) == len(held)


class DirectCommits:
    """Commits transactions of one producer; private names are those of kafka-python 3.0."""

    def __init__(
        self,
        producer: KafkaProducer,
        settings: dict[str, Any],
        timeout_seconds: float,
    ) -> None:
        """Connect later, by the `settings` of `producer`; raises any error if a name differs."""
        self._settings = settings
        self._request_seconds = settings["request_timeout_ms"] / _MS
        # A transaction that waits for the one before it.
        self._patience_seconds = min(timeout_seconds, self._request_seconds)
        self._cluster: Any = producer._metadata
        self._manager: Any = producer._transaction_manager
        self._accumulator: Any = producer._accumulator
        self._connections: dict[tuple[str, int], DirectConnection] = {}
        self._not_before = 0.0
        self._pause_seconds = _PAUSE_SECONDS
        # Id and epoch, for which requests are encoded.
        self._producer = (-1, -1)
        self._requests: TransactionRequests
        _ = self._is_idle()
        _ = self._manager._transaction_coordinator, self._manager._transaction_started
        _ = self._manager.transition_to_fatal_error, self._cluster.get_coordinator
        _ = self._manager.sequence_number, self._manager.increment_sequence_number
        _ = self._manager.update_last_acked_offset, self._cluster.leader_for_partition

    def commit(self, held: Sequence[SealedRecords]) -> Reached:
        """Commit one batch for each of some partitions; return how far that has come.

        They may be closed then. Raises KafkaTimeoutError if Kafka may have committed; then the
        producer has failed.
        """
        if not self._is_idle() or time.monotonic() < self._not_before:
            return Reached.NOTHING
        commit = _Commit(held)
        try:
            self._run(commit)
        except (OSError, KafkaError) as error:
            self._pause(error)
            if isinstance(error, TimeoutError) and commit.reached is not Reached.NOTHING:
                failure = TimedOut(kafka.NO_ANSWER_IN_TIME, seconds=self._request_seconds)
                self._manager.transition_to_fatal_error(failure)
                raise failure from error
            structlog.get_logger().info(
                "a small transaction goes on by kafka-python's own requests",
                reached=commit.reached.name,
                error=f"{type(error).__name__}: {error}",
            )
        else:
            self._pause_seconds = _PAUSE_SECONDS
        return commit.reached

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

    def close(self) -> None:
        """Close the connections; the next commit opens them again."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _is_idle(self) -> bool:
        """Return whether kafka-python has no transaction and nothing to send."""
        manager = self._manager
        return (
            manager._current_state is TransactionState.READY
            and not manager.has_in_flight_transactional_request()
            and not manager._pending_requests
            and not self._accumulator.has_incomplete
        )

    def _pause(self, error: Exception) -> None:
        self.close()
        if isinstance(error, IncompatibleBrokerVersion):
            self._pause_seconds = inf
        self._not_before = time.monotonic() + self._pause_seconds
        self._pause_seconds = min(2 * self._pause_seconds, _PAUSE_SECONDS_MAX)

    def _run(self, commit: _Commit) -> None:
        manager = self._manager
        requests = self._encoder()
        coordinator = self._connection_to(manager._transaction_coordinator)
        by_leader: dict[DirectConnection, list[tuple[str, int, bytes]]] = {}
        for partition, records in commit.records.items():
            leader = self._connection_to(self._cluster.leader_for_partition(partition))
            records.set_producer_state(*self._producer, manager.sequence_number(partition), True)
            records.close()
            ready = records.topic, records.partition, records.buffer()
            by_leader.setdefault(leader, []).append(ready)
        commit.reached = Reached.SENT
        self._add_partitions(requests, coordinator, tuple(commit.records))
        self._produce(requests, by_leader, commit)
        commit.reached = Reached.ACKNOWLEDGED
        coordinator.send(requests.end(coordinator.next_number()))
        _require_success(ended(coordinator.receive()))
        commit.reached = Reached.COMMITTED

    def _try_to_take_over(self) -> None:
        manager = self._manager
        coordinator = self._connection_to(
            self._cluster.get_coordinator(manager.transactional_id, CoordinatorType.TRANSACTION)
        )
        number, timeout_ms = coordinator.next_number(), manager.transaction_timeout_ms
        coordinator.send(self._encoder().take_over(number, timeout_ms))
        error = ended(coordinator.receive())
        # Kafka aborts it now, or had begun to end it.
        if error != ConcurrentTransactionsError.errno:
            _require_success(error)

    def _encoder(self) -> TransactionRequests:
        whose = self._manager.producer_id_and_epoch
        producer = whose.producer_id, whose.epoch
        if producer != self._producer:
            self._requests = TransactionRequests(
                self._settings["client_id"],
                self._manager.transactional_id,
                producer,
                self._settings["request_timeout_ms"],
            )
            self._producer = producer
        return self._requests

    def _add_partitions(
        self,
        requests: TransactionRequests,
        coordinator: DirectConnection,
        wanted: tuple[TopicPartition, ...],
    ) -> None:
        until = time.monotonic() + self._patience_seconds
        while True:
            coordinator.send(requests.add_partitions(coordinator.next_number(), wanted))
            errors = added(coordinator.receive())
            concurrent = ConcurrentTransactionsError.errno in errors.values()
            if not concurrent or time.monotonic() > until:
                break
            time.sleep(_CONCURRENT_SECONDS)
        for partition in wanted:
            _require_success(errors.get(partition))

    def _produce(
        self,
        requests: TransactionRequests,
        by_leader: dict[DirectConnection, list[tuple[str, int, bytes]]],
        commit: _Commit,
    ) -> None:
        for leader, ready in by_leader.items():
            leader.send(requests.produce(leader.next_number(), ready))
        results: dict[PartitionId, tuple[int, int]] = {}
        for leader in by_leader:
            results |= produced(leader.receive())
        for partition in commit.records:
            _require_success(results[partition][0] if partition in results else None)
        for partition, records in commit.records.items():
            _, offset = results[partition]
            self._manager.increment_sequence_number(partition, records.count)
            self._manager.update_last_acked_offset(partition, offset, records.count)

    def _connection_to(self, node_id: object) -> DirectConnection:
        node = self._cluster.broker_metadata(node_id)
        if node is None:
            raise NodeNotReadyError(node_id)
        address = node.host, node.port
        connection = self._connections.get(address)
        if connection is None:
            connection = DirectConnection.open(self._settings, *address, self._request_seconds)
            self._connections[address] = connection
        return connection


class _Commit:
    """One transaction on its way."""

    def __init__(self, held: Sequence[SealedRecords]) -> None:
        self.records = {TopicPartition(each.topic, each.partition): each for each in held}
        self.reached = Reached.NOTHING


def _require_success(error: int | None) -> None:
    """Raise the error that a response names; Malformed if it says nothing."""
    if error is None:
        raise Malformed
    if error != _NO_ERROR:
        raise for_code(error)

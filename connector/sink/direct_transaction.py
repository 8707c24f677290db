"""One small transaction on its way: its requests, in one of three ways.

::

    add partitions │ produce │ end                     all brokers
    add partitions │ produce │ end, raise the epoch    Kafka 4.0, transaction.version 2 (KIP-890)
                     produce │ end, raise the epoch    the same, if partitions may join

*Epochs.* After a raised epoch, a repeated end does no harm, and a request that arrives late belongs
to an epoch that is over.

*Joining.* A partition that may join is added by the broker, before it writes the records. But it is
not added if it has records of the same epoch in a transaction that is not marked yet: then the new
ones would belong to that transaction. So partitions may join only in an epoch without records.

*Marks.* Kafka answers an end before it marks the partitions. If a partition is added meanwhile, the
answer says so, and the sink tries again after a millisecond. If a partition joins meanwhile, the
broker tries again, but only after 20 ms; so a transaction that follows at once adds them.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.errors import ConcurrentTransactionsError, for_code
from kafka.producer.transaction_manager import ProducerIdAndEpoch

from connector.sink.direct_requests import Malformed, added, ended, next_producer, produced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connector.records.record_batch import RecordBatch
    from connector.sink.direct_connection import DirectConnection
    from connector.sink.direct_connections import DirectConnections
    from connector.sink.direct_requests import PartitionId, TransactionRequests
    from connector.sink.sealed_records import SealedRecords

# ruff: noqa: SLF001 - the client has no public way to change its numbers

# The coordinator ends the transaction before within about this time.
_CONCURRENT_SECONDS = 0.001
_CONCURRENT = ConcurrentTransactionsError.errno
_NO_ERROR = 0


class Reached(Enum):
    """How far a transaction has come."""

    NOTHING = auto()  # no request was sent
    SENT = auto()  # partitions may be added, and records may be written
    ACKNOWLEDGED = auto()  # all records are written; it may be committed
    COMMITTED = auto()


class DirectTransaction:
    """A transaction of one batch for each of some partitions.

    `manager` is kafka-python's transaction manager; its private names are those of 3.0.
    """

    def __init__(
        self, manager: Any, connections: DirectConnections, batches: Sequence[RecordBatch]
    ) -> None:
        """Send nothing yet."""
        self.reached = Reached.NOTHING
        self._manager = manager
        self._connections = connections
        self._batches = {TopicPartition(each.topic, each.partition): each for each in batches}
        self._by_leader: dict[DirectConnection, list[tuple[str, int, bytes]]] = {}
        # The time for answers that ask to wait for the end of the transaction before.
        self._until = 0.0

    def commit(
        self,
        requests: TransactionRequests,
        records_of: Callable[[RecordBatch], SealedRecords],
        patience_seconds: float,
        *,
        may_join: bool,
    ) -> None:
        """Write the records and commit; `may_join` says that the transaction before is over.

        Raises OSError or KafkaError; `reached` says how far it came.
        """
        self._until = time.monotonic() + patience_seconds
        # The numbers of an epoch begin with its first records.
        may_join = may_join and not self._manager._sequence_numbers
        coordinator = self._connections.to(self._manager._transaction_coordinator)
        self._seal(records_of)
        raising = coordinator.raising and all(leader.raising for leader in self._by_leader)
        self.reached = Reached.SENT
        # Kafka drops batches that it has, so those that have joined may be sent again.
        if not raising or not may_join or not self._produce(requests, joining=True):
            self._add_partitions(requests, coordinator)
            self._produce(requests, joining=False)
        self.reached = Reached.ACKNOWLEDGED
        if raising:
            self._end_and_raise(requests, coordinator)
        else:
            coordinator.send(requests.end(coordinator.next_number(), raising=False))
            require_success(ended(coordinator.receive()))
        self.reached = Reached.COMMITTED

    def _seal(self, records_of: Callable[[RecordBatch], SealedRecords]) -> None:
        whose = self._manager.producer_id_and_epoch
        for partition, batch in self._batches.items():
            records = records_of(batch)
            sequence = self._manager.sequence_number(partition)
            records.set_producer_state(whose.producer_id, whose.epoch, sequence, True)
            records.close()
            ready = batch.topic, batch.partition, records.buffer()
            self._by_leader.setdefault(self._connections.to_leader(partition), []).append(ready)

    def _add_partitions(self, requests: TransactionRequests, coordinator: DirectConnection) -> None:
        wanted = tuple(self._batches)
        while True:
            coordinator.send(requests.add_partitions(coordinator.next_number(), wanted))
            errors = added(coordinator.receive())
            if _CONCURRENT not in errors.values() or time.monotonic() > self._until:
                break
            time.sleep(_CONCURRENT_SECONDS)
        for partition in wanted:
            require_success(errors.get(partition))

    def _produce(self, requests: TransactionRequests, *, joining: bool) -> bool:
        """Write the records; return False if they cannot join yet."""
        for leader, ready in self._by_leader.items():
            leader.send(requests.produce(leader.next_number(), ready, joining=joining))
        results: dict[PartitionId, tuple[int, int]] = {}
        for leader in self._by_leader:
            results |= produced(leader.receive())
        errors = [results[each][0] if each in results else None for each in self._batches]
        if joining and _CONCURRENT in errors:
            return False
        for error in errors:
            require_success(error)
        for partition, batch in self._batches.items():
            _, offset = results[partition]
            self._manager.increment_sequence_number(partition, batch.count)
            self._manager.update_last_acked_offset(partition, offset, batch.count)
        return True

    def _end_and_raise(self, requests: TransactionRequests, coordinator: DirectConnection) -> None:
        """Commit, and take the raised epoch.

        If the connection breaks, repeat it once: Kafka also knows the epoch before.
        """
        is_repeated = False
        while True:
            try:
                coordinator.send(requests.end(coordinator.next_number(), raising=True))
                response = coordinator.receive()
            except OSError as error:
                if is_repeated or isinstance(error, TimeoutError):
                    raise
                is_repeated = True
                self._connections.close()
                coordinator = self._connections.to(self._manager._transaction_coordinator)
                continue
            code = ended(response)
            if code != _CONCURRENT or time.monotonic() > self._until:
                break
            # The first one has arrived, and Kafka marks the partitions.
            time.sleep(_CONCURRENT_SECONDS)
        require_success(code)
        with self._manager._lock:
            raised = ProducerIdAndEpoch(*next_producer(response))
            self._manager.set_producer_id_and_epoch(raised)
            # Each epoch numbers its records from 0.
            self._manager._sequence_numbers.clear()


def require_success(error: int | None) -> None:
    """Raise the error that a response names; Malformed if it says nothing."""
    if error is None:
        raise Malformed
    if error != _NO_ERROR:
        raise for_code(error)

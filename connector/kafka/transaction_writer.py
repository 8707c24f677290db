"""A thread that writes and ends large transactions, while the caller encodes.

It takes batches in their order, adds the partitions of a transaction when they are met first, and
writes before earlier batches are acknowledged. The next transaction may be delivered while one is
being ended.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Final, TypeAlias

from connector.kafka.encoded_batch import EncodedBatch, InFlightBatches
from connector.kafka.transaction_client import TransactionClient
from connector.kafka.transaction_requests import PartitionId

# Kafka knows the numbers of the last five batches of each partition, and so finds repeated ones.
_UNACKNOWLEDGED_MAX: Final = 5
# Batches of several partitions share a request up to this size.
_REQUEST_BYTES: Final = 256 * 1024
# A connection that is being opened delays the end of the thread.
_END_SECONDS: Final = 5.0

# A batch of a transaction, None for the transaction's end.
Order: TypeAlias = "tuple[TransactionInFlight, EncodedBatch | None]"


class TransactionInFlight:
    """A transaction that the thread has."""

    def __init__(self) -> None:
        self.has_ended = False
        # False if it is to be aborted.
        self.commits = True
        # Those that were added, and may have been written to.
        self.partitions: set[PartitionId] = set()


class TransactionWriter:
    """The thread, and the transactions that it has."""

    def __init__(self, client: TransactionClient, in_flight: InFlightBatches) -> None:
        """Write by `client`, which nobody else uses while a transaction is open here."""
        self._client = client
        self._in_flight = in_flight
        # None ends the thread.
        self._orders: SimpleQueue[Order | None] = SimpleQueue()
        # One that was taken too early.
        self._next: Order | None = None
        # Why the thread has ended.
        self._failure: Exception | None = None
        self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="kafka-writer", daemon=True)
        self._thread.start()

    def deliver(self, transaction: TransactionInFlight, records: EncodedBatch) -> None:
        """Have a batch written."""
        self._in_flight.add(records)
        self._orders.put((transaction, records))

    def end(self, transaction: TransactionInFlight, *, commit: bool) -> None:
        """Have a transaction ended after its batches; those not yet written are not for an abort.

        It has ended then, or `check` raises why not.
        """
        transaction.commits = commit
        self._orders.put((transaction, None))

    def check(self) -> None:
        """Raise why the thread has ended, if it has."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the thread, whatever it waits for."""
        self._orders.put(None)
        self._client.interrupt()
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            while (order := self._taken()) is not None:
                self._serve(order)
        except Exception as error:  # noqa: BLE001  # the caller raises it
            self._failure = error
        self._in_flight.notify()

    def _serve(self, order: Order) -> None:
        transaction, records = order
        if records is None:
            # Then the caller may use the client.
            self._end(transaction)
            return
        self._write(transaction, records)
        # With nothing to write, somebody may wait for room.
        while self._client.unacknowledged and not self._has_orders:
            self._acknowledge()

    @property
    def _has_orders(self) -> bool:
        return self._next is not None or not self._orders.empty()

    def _taken(self) -> Order | None:
        order, self._next = self._next, None
        return order or self._orders.get()

    def _write(self, transaction: TransactionInFlight, records: EncodedBatch) -> None:
        batches = self._gathered(records)
        if not transaction.commits:
            for batch in batches:
                self._in_flight.discard(batch)
            return
        if new := {batch.partition_id for batch in batches} - transaction.partitions:
            # Nothing else may wait for a response of that connection.
            self._acknowledge_all()
            transaction.partitions |= new
            self._client.add_partitions(new)
        self._client.write(batches)
        if self._client.unacknowledged == _UNACKNOWLEDGED_MAX:
            self._acknowledge()

    def _gathered(self, records: EncodedBatch) -> list[EncodedBatch]:
        """Return a batch with small ones that follow it and go to other partitions."""
        batches = {records.partition_id: records}
        size = records.size_in_bytes()
        while size < _REQUEST_BYTES and not self._orders.empty():
            self._next = self._orders.get()
            if self._next is None:
                self._orders.put(None)
                break
            following = self._next[1]
            if following is None or following.partition_id in batches:
                break
            self._next = None
            batches[following.partition_id] = following
            size += following.size_in_bytes()
        return list(batches.values())

    def _acknowledge(self) -> None:
        for records in self._client.acknowledge():
            self._in_flight.discard(records)

    def _acknowledge_all(self) -> None:
        while self._client.unacknowledged:
            self._acknowledge()

    def _end(self, transaction: TransactionInFlight) -> None:
        # Before an abort, too: what still arrives would get into the next transaction.
        self._acknowledge_all()
        if transaction.partitions:
            self._client.end(commit=transaction.commits)
        transaction.has_ended = True
        self._in_flight.notify()

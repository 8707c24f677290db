"""Writes and ends large transactions in a thread of its own, while the caller encodes.

The thread takes batches in their order, adds the partitions of a transaction when they are met
first, and writes before earlier batches are acknowledged. The next transaction may be delivered
while one is being ended.

After any error, the thread ends, and leaves what was not acknowledged to the caller.
"""

from __future__ import annotations

import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TypeAlias

from connector.sink.direct_link import DirectLink, Reached, Written, partition_of

if TYPE_CHECKING:
    from kafka import TopicPartition

    from connector.sink.in_flight import InFlight
    from connector.sink.sealed_records import SealedRecords

# Kafka knows the numbers of the last five batches of each partition, and so finds repeated ones.
_UNACKNOWLEDGED_MAX: Final = 5
# Batches of several partitions share a request up to this size.
_REQUEST_BYTES: Final = 256 * 1024


# A batch of a transaction, None for the transaction's end; None ends the thread.
_Order: TypeAlias = "tuple[DirectTransaction, SealedRecords | None] | None"


class DirectTransaction:
    """What of a transaction is not acknowledged, and how far it has come."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.reached = Reached.NOTHING
        # False if it is to be aborted.
        self.commits = True
        self._added: set[TopicPartition] = set()
        # In the order of delivery.
        self._rest: dict[SealedRecords, None] = {}

    @property
    def unacknowledged(self) -> list[SealedRecords]:
        """Batches that Kafka may not have, in the order of delivery."""
        return list(self._rest)

    def take(self, records: SealedRecords) -> None:
        """Note a batch that is delivered."""
        self._rest[records] = None

    def acknowledged(self, records: SealedRecords) -> None:
        """Note that Kafka has a batch."""
        del self._rest[records]

    def new_partitions(self, batches: list[SealedRecords]) -> tuple[TopicPartition, ...]:
        """Return the partitions of batches that the transaction does not have yet; it has then."""
        new = set(map(partition_of, batches)) - self._added
        self._added |= new
        return tuple(sorted(new))


class DirectStream:
    """The thread, and the transactions that it has."""

    def __init__(self, link: DirectLink, in_flight: InFlight) -> None:
        """Write by `link`, which nobody else uses while a transaction is open here."""
        self._link = link
        self._in_flight = in_flight
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        # One that was taken too early.
        self._next: _Order | None = None
        self._written: deque[tuple[DirectTransaction, Written]] = deque()
        # Why the thread has ended.
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="direct-stream", daemon=True)
        self._thread.start()

    def deliver(self, transaction: DirectTransaction, records: SealedRecords) -> None:
        """Have a batch written."""
        transaction.take(records)
        self._in_flight.add(records)
        self._orders.put((transaction, records))

    def end(self, transaction: DirectTransaction, *, commit: bool) -> None:
        """Have a transaction ended after its batches; those not yet written are not for an abort.

        It has reached its end then, or `failure` is set.
        """
        transaction.commits = commit
        self._orders.put((transaction, None))

    def close(self) -> None:
        """End the thread, whatever it waits for."""
        self._orders.put(None)
        self._link.interrupt()
        self._thread.join()

    def _run(self) -> None:
        try:
            while (order := self._taken()) is not None:
                transaction, records = order
                if records is None:
                    self._end(transaction)
                else:
                    self._write(transaction, records)
                # With nothing to write, somebody may wait for room.
                while self._written and self._next is None and self._orders.empty():
                    self._acknowledge()
        except Exception as error:  # noqa: BLE001  # the caller raises what it does not expect
            self.failure = error
        self._in_flight.notify()

    def _taken(self) -> _Order:
        order, self._next = self._next, None
        return order or self._orders.get()

    def _write(self, transaction: DirectTransaction, records: SealedRecords) -> None:
        batches = self._gathered(records)
        if not transaction.commits:
            for each in batches:
                self._in_flight.discard(each)
            return
        if transaction.reached is Reached.NOTHING:
            self._link.connect()
            transaction.reached = Reached.SENT
        if new := transaction.new_partitions(batches):
            # Nothing else may wait for a response of that connection.
            self._acknowledge_all()
            self._link.add_partitions(new)
        self._written.append((transaction, self._link.write(batches)))
        if len(self._written) == _UNACKNOWLEDGED_MAX:
            self._acknowledge()

    def _gathered(self, records: SealedRecords) -> list[SealedRecords]:
        """Return a batch with small ones that follow it and go to other partitions."""
        batches = {partition_of(records): records}
        size = records.size_in_bytes()
        while size < _REQUEST_BYTES and not self._orders.empty():
            self._next = self._orders.get()
            following = None if self._next is None else self._next[1]
            if following is None or partition_of(following) in batches:
                break
            self._next = None
            batches[partition_of(following)] = following
            size += following.size_in_bytes()
        return list(batches.values())

    def _acknowledge(self) -> None:
        transaction, written = self._written.popleft()
        self._link.acknowledge(written)
        for batches in written.values():
            for records in batches:
                transaction.acknowledged(records)
                self._in_flight.discard(records)

    def _acknowledge_all(self) -> None:
        while self._written:
            self._acknowledge()

    def _end(self, transaction: DirectTransaction) -> None:
        self._acknowledge_all()
        if transaction.reached is not Reached.NOTHING:
            transaction.reached = Reached.ACKNOWLEDGED
            self._link.end(commit=transaction.commits)
        transaction.reached = Reached.ENDED
        self._in_flight.notify()

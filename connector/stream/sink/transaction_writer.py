"""Writes and commits transactions without kafka-python: small ones at once, large ones in a thread.

*Small.* One batch for each partition, and few bytes: three requests, each sent and awaited in the
caller's thread.

*Large.* A thread writes and ends the transaction, while the caller encodes. It takes batches in
their order, adds the partitions of a transaction when they are met first, and writes before
earlier batches are acknowledged. The next transaction may be delivered while one is being ended.

After any error, the thread ends, and leaves what was not acknowledged to the caller.
"""

import threading
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Final, TypeAlias

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.stream.sink import transaction_client
from connector.stream.sink.encoded_batch import EncodedBatch, InFlightBatches

# A larger transaction is written by another thread, while this one encodes.
_BYTES_MAX = 256 * 1024


def is_small(held: Sequence[EncodedBatch]) -> bool:
    """Return whether `commit_directly` may commit these: few bytes, one batch a partition."""
    partitions = {(records.topic, records.partition) for records in held}
    size = sum(records.size for records in held)
    return size <= _BYTES_MAX and len(partitions) == len(held)


def commit_directly(
    link: transaction_client.TransactionClient, held: Sequence[EncodedBatch]
) -> transaction_client.TransactionStage:
    """Commit one batch for each of some partitions; return how far that has come.

    They may be closed then. Raises KafkaTimeoutError if Kafka may have committed; then the producer
    has failed.
    """
    if not link.is_ready:
        return transaction_client.TransactionStage.NOTHING
    reached = transaction_client.TransactionStage.NOTHING
    try:
        link.connect()
        reached = transaction_client.TransactionStage.SENT
        link.add_partitions(tuple(map(transaction_client.partition_of, held)))
        link.acknowledge(link.write(held))
        reached = transaction_client.TransactionStage.ACKNOWLEDGED
        link.end(commit=True)
    except (OSError, KafkaError) as error:
        link.give_up(error, reached)
        return reached
    return transaction_client.TransactionStage.ENDED


# Kafka knows the numbers of the last five batches of each partition, and so finds repeated ones.
_UNACKNOWLEDGED_MAX: Final = 5
# Batches of several partitions share a request up to this size.
_REQUEST_BYTES: Final = 256 * 1024


# A batch of a transaction, None for the transaction's end; None ends the thread.
_QueueItem: TypeAlias = "tuple[TransactionInFlight, EncodedBatch | None] | None"


class TransactionInFlight:
    """What of a transaction is not acknowledged, and how far it has come."""

    def __init__(self) -> None:
        self.reached = transaction_client.TransactionStage.NOTHING
        # False if it is to be aborted.
        self.commits = True
        self._added: set[TopicPartition] = set()
        # In the order of delivery.
        self._rest: dict[EncodedBatch, None] = {}

    @property
    def unacknowledged(self) -> list[EncodedBatch]:
        """Batches that Kafka may not have, in the order of delivery."""
        return list(self._rest)

    def take(self, records: EncodedBatch) -> None:
        """Note a batch that is delivered."""
        self._rest[records] = None

    def acknowledged(self, records: EncodedBatch) -> None:
        """Note that Kafka has a batch."""
        del self._rest[records]

    def new_partitions(self, batches: list[EncodedBatch]) -> tuple[TopicPartition, ...]:
        """Return the partitions of batches that the transaction does not have yet; it has then."""
        new = set(map(transaction_client.partition_of, batches)) - self._added
        self._added |= new
        return tuple(sorted(new))


class TransactionWriter:
    """The thread, and the transactions that it has."""

    def __init__(
        self, link: transaction_client.TransactionClient, in_flight: InFlightBatches
    ) -> None:
        """Write by `link`, which nobody else uses while a transaction is open here."""
        self._link = link
        self._in_flight = in_flight
        self._orders: SimpleQueue[_QueueItem] = SimpleQueue()
        # One that was taken too early.
        self._next: _QueueItem | None = None
        self._written: deque[tuple[TransactionInFlight, transaction_client.WrittenBatches]] = (
            deque()
        )
        # Why the thread has ended.
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="direct-stream", daemon=True)
        self._thread.start()

    def deliver(self, transaction: TransactionInFlight, records: EncodedBatch) -> None:
        """Have a batch written."""
        transaction.take(records)
        self._in_flight.add(records)
        self._orders.put((transaction, records))

    def end(self, transaction: TransactionInFlight, *, commit: bool) -> None:
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

    def _taken(self) -> _QueueItem:
        order, self._next = self._next, None
        return order or self._orders.get()

    def _write(self, transaction: TransactionInFlight, records: EncodedBatch) -> None:
        batches = self._gathered(records)
        if not transaction.commits:
            for batch in batches:
                self._in_flight.discard(batch)
            return
        if transaction.reached is transaction_client.TransactionStage.NOTHING:
            self._link.connect()
            transaction.reached = transaction_client.TransactionStage.SENT
        if new := transaction.new_partitions(batches):
            # Nothing else may wait for a response of that connection.
            self._acknowledge_all()
            self._link.add_partitions(new)
        self._written.append((transaction, self._link.write(batches)))
        if len(self._written) == _UNACKNOWLEDGED_MAX:
            self._acknowledge()

    def _gathered(self, records: EncodedBatch) -> list[EncodedBatch]:
        """Return a batch with small ones that follow it and go to other partitions."""
        batches = {transaction_client.partition_of(records): records}
        size = records.size_in_bytes()
        while size < _REQUEST_BYTES and not self._orders.empty():
            self._next = self._orders.get()
            following = None if self._next is None else self._next[1]
            if following is None or transaction_client.partition_of(following) in batches:
                break
            self._next = None
            batches[transaction_client.partition_of(following)] = following
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

    def _end(self, transaction: TransactionInFlight) -> None:
        self._acknowledge_all()
        if transaction.reached is not transaction_client.TransactionStage.NOTHING:
            transaction.reached = transaction_client.TransactionStage.ACKNOWLEDGED
            self._link.end(commit=transaction.commits)
        transaction.reached = transaction_client.TransactionStage.ENDED
        self._in_flight.notify()

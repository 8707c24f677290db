"""A Kafka cluster in memory: logs of partitions, transactions, fencing, what consumers may see.

What is modelled is what exactly-once delivery leans on:

- A producer has an id and an epoch. Taking over a transactional id aborts what is open and raises
  the epoch; whatever comes with an older one is refused.
- Batches of a producer are numbered in each partition. One that was appended before is
  acknowledged and not appended again; one that comes too early is refused.
- A transaction's end is decided at once, but its partitions learn of it one by one. What lies
  behind the first record of a transaction without an end is not visible (`last_stable_offset`).
- A transaction that takes too long is aborted, and its producer is fenced.

https://kafka.apache.org/documentation/#semantics
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from connector.foundation.kafka_records import Record
    from connector.foundation.record_batch import RecordBatch

PartitionId = tuple[str, int]


@dataclass(slots=True)
class Entry:
    """A record, or a marker where there is none, at its offset."""

    offset: int
    producer_id: int
    record: Record | None
    transaction: Transaction | None


@dataclass(slots=True)
class Partition:
    """The log of one partition."""

    entries: list[Entry] = field(default_factory=list)
    # By producer: its epoch, and the number that its next batch begins with.
    epochs: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    # Transactions whose marker is still missing here, with their first offset.
    open: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return len(self.entries)

    @property
    def last_stable_offset(self) -> int:
        """The first offset that a consumer of committed records may not read."""
        return min(self.open.values(), default=self.end)


@dataclass(slots=True)
class Transaction:
    """One transaction of a producer; `committed` is None until its end is decided."""

    producer_id: int
    epoch: int
    began_at: float
    partition_ids: list[PartitionId] = field(default_factory=list)
    records: list[tuple[PartitionId, Record]] = field(default_factory=list)
    committed: bool | None = None
    unmarked: list[PartitionId] = field(default_factory=list)


@dataclass(slots=True)
class Identity:
    """What the coordinator knows of a transactional id."""

    producer_id: int
    epoch: int
    timeout_seconds: float
    transaction: Transaction | None = None


class Broker:
    """The cluster; every method is one request, served as a whole."""

    def __init__(self) -> None:
        """Start without topics, at second 0."""
        self.now = 0.0
        self.topics: dict[str, list[Partition]] = {}
        # In the order in which their end was decided.
        self.committed: list[Transaction] = []
        self.aborted = 0
        self.fenced = 0
        self.duplicates = 0
        self._identities: dict[str, Identity] = {}
        self._by_producer: dict[int, Identity] = {}

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic, where it is missing."""
        if name not in self.topics:
            self.topics[name] = [Partition() for _ in range(partitions)]

    def partition(self, partition_id: PartitionId) -> Partition:
        """Return a partition; raises UnknownTopicOrPartitionError."""
        partitions = self.topics.get(partition_id[0])
        if partitions is None or partition_id[1] >= len(partitions):
            raise UnknownTopicOrPartitionError(partition_id[0])
        return partitions[partition_id[1]]

    def take_over(
        self,
        transactional_id: str,
        timeout_seconds: float,
        following: tuple[int, int] | None = None,
    ) -> tuple[int, int]:
        """Fence older producers of the id; return the producer's id and epoch.

        Raises ProducerFencedError if the newest one is not the one that it is `following`.
        """
        identity = self._identities.get(transactional_id)
        if following is not None and (
            identity is None or following != (identity.producer_id, identity.epoch)
        ):
            self.fenced += 1
            raise ProducerFencedError
        if identity is None:
            identity = Identity(1000 + len(self._identities), -1, timeout_seconds)
            self._identities[transactional_id] = identity
            self._by_producer[identity.producer_id] = identity
        else:
            self._abort_open(identity)
        identity.epoch += 1
        identity.timeout_seconds = timeout_seconds
        return identity.producer_id, identity.epoch

    def add_partition(self, producer_id: int, epoch: int, partition_id: PartitionId) -> None:
        """Make a partition part of the producer's transaction, which begins with its first one."""
        identity = self._identified(producer_id, epoch)
        self.partition(partition_id)
        transaction = identity.transaction
        if transaction is None or transaction.committed is not None:
            self._mark_all(transaction)
            transaction = Transaction(producer_id, epoch, self.now)
            identity.transaction = transaction
        if partition_id not in transaction.partition_ids:
            transaction.partition_ids.append(partition_id)

    def produce(self, producer_id: int, epoch: int, batch: RecordBatch, sequence: int) -> None:
        """Append a batch whose first record has the number `sequence` in its partition."""
        partition_id = batch.topic, batch.partition
        partition = self.partition(partition_id)
        identity = self._by_producer[producer_id]
        known = partition.epochs.get(producer_id, -1)
        if epoch < max(known, identity.epoch):
            self.fenced += 1
            raise InvalidProducerEpochError
        if epoch > known:
            partition.epochs[producer_id] = epoch
            partition.sequences[producer_id] = 0
        expected = partition.sequences[producer_id]
        if sequence < expected:
            self.duplicates += 1
            return
        if sequence > expected:
            raise OutOfOrderSequenceNumberError
        transaction = identity.transaction
        if (
            transaction is None
            or transaction.committed is not None
            or (partition_id not in transaction.partition_ids)
        ):
            raise InvalidTxnStateError
        partition.open.setdefault(id(transaction), partition.end)
        for record in batch.records():
            partition.entries.append(Entry(partition.end, producer_id, record, transaction))
            transaction.records.append((partition_id, record))
        partition.sequences[producer_id] = expected + batch.count

    def end_transaction(self, producer_id: int, epoch: int, *, commit: bool) -> None:
        """Decide the end of the producer's transaction; asked twice, it is answered twice."""
        identity = self._identified(producer_id, epoch)
        transaction = identity.transaction
        if transaction is None:
            raise InvalidTxnStateError
        if transaction.committed is None:
            self._decide(transaction, commit=commit)
        elif transaction.committed != commit:
            raise InvalidTxnStateError

    def pass_time(self, seconds: float) -> None:
        """Let time go by, and abort the transactions that have taken too long."""
        self.now += seconds
        for identity in self._identities.values():
            transaction = identity.transaction
            if (
                transaction is not None
                and transaction.committed is None
                and self.now - transaction.began_at > identity.timeout_seconds
            ):
                self._abort_open(identity)
                identity.epoch += 1

    def mark_one(self, number: int) -> None:
        """Let one partition learn of an end that was decided, if there is one that does not."""
        transactions = [
            identity.transaction
            for identity in self._identities.values()
            if identity.transaction is not None and identity.transaction.unmarked
        ]
        if transactions:
            transaction = transactions[number % len(transactions)]
            self._mark(transaction, number % len(transaction.unmarked))

    def is_marking(self, producer_id: int) -> bool:
        """Return whether a partition has not learned of the end of a producer's transaction."""
        transaction = self._by_producer[producer_id].transaction
        return transaction is not None and bool(transaction.unmarked)

    @property
    def open_transactions(self) -> int:
        """Those whose end is not decided."""
        return sum(
            identity.transaction is not None and identity.transaction.committed is None
            for identity in self._identities.values()
        )

    def settle(self) -> None:
        """Let every partition learn of everything."""
        for identity in self._identities.values():
            self._mark_all(identity.transaction)

    def visible(self, partition_id: PartitionId) -> list[Record]:
        """Return what a consumer of committed records reads from the start on."""
        partition = self.partition(partition_id)
        return [
            entry.record
            for entry in partition.entries[: partition.last_stable_offset]
            if entry.record is not None and is_visible(entry)
        ]

    def _identified(self, producer_id: int, epoch: int) -> Identity:
        identity = self._by_producer[producer_id]
        if epoch != identity.epoch:
            self.fenced += 1
            raise InvalidProducerEpochError
        return identity

    def _abort_open(self, identity: Identity) -> None:
        transaction = identity.transaction
        if transaction is not None and transaction.committed is None:
            self._decide(transaction, commit=False)
        self._mark_all(transaction)

    def _decide(self, transaction: Transaction, *, commit: bool) -> None:
        transaction.committed = commit
        transaction.unmarked = list(transaction.partition_ids)
        if commit:
            self.committed.append(transaction)
        else:
            self.aborted += 1

    def _mark_all(self, transaction: Transaction | None) -> None:
        while transaction is not None and transaction.unmarked:
            self._mark(transaction, 0)

    def _mark(self, transaction: Transaction, number: int) -> None:
        partition = self.partition(transaction.unmarked.pop(number))
        partition.entries.append(Entry(partition.end, transaction.producer_id, None, transaction))
        partition.open.pop(id(transaction), None)


def is_visible(entry: Entry) -> bool:
    """Return whether the end of a record's transaction, which its partition knows, is a commit."""
    return entry.record is not None and (
        entry.transaction is not None and entry.transaction.committed is True
    )

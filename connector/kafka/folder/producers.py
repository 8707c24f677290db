"""Producers: their epochs, the numbers of their records, and their open transactions.

The rules are those of a broker: KIP-98, KIP-360. After a fence the numbers begin again at 0.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-360
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka import errors

from connector.kafka.folder.batches import SEQUENCE_MAX, BatchHeader
from connector.kafka.folder.frames import Join, Key, ProducerEpoch
from connector.kafka.folder.results import NO_OFFSET

EPOCH_MAX: Final = 0x7FFE
NO_EPOCH: Final = -1
# A producer has at most five requests in flight, and may repeat all of them.
RECENT_MAX: Final = 5


class Numbered(NamedTuple):
    """A batch by the numbers of its first and its last record; and its base offset."""

    first: int
    last: int
    base_offset: int


@dataclass(slots=True)
class Transaction:
    """An open transaction; `first` has its first offset in each partition, NO_OFFSET without."""

    start_ms: int
    first: dict[Key, int] = field(default_factory=dict)


@dataclass(slots=True)
class Producer:
    """A producer: of transactions if it has a transactional id."""

    producer_id: int
    epoch: int
    transactional_id: str | None
    timeout_ms: int
    previous_epoch: int  # a caller that names it gets this one, because it repeats; or NO_EPOCH
    used_ms: int
    committed: bool | None = None  # how the last transaction of the epoch ended
    transaction: Transaction | None = None
    recent: dict[Key, "deque[Numbered]"] = field(default_factory=dict)
    # Partitions of topics that were deleted, and of those that were made again: a producer goes on
    # there with its numbers.
    deleted: set[tuple[str, int]] = field(default_factory=set)
    new: set[Key] = field(default_factory=set)

    def require(self, producer_id: int, epoch: int) -> None:
        """Raise InvalidProducerIdMappingError or ProducerFencedError unless these are its own."""
        if producer_id != self.producer_id:
            raise errors.InvalidProducerIdMappingError
        if epoch != self.epoch:
            raise errors.ProducerFencedError

    def check(self, key: Key, header: BatchHeader, transactional_id: str | None) -> int | None:
        """Check a batch before it is appended; return its base offset if it is here already.

        Raises InvalidProducerEpochError, InvalidTxnStateError, InvalidProducerIdMappingError,
        OutOfOrderSequenceNumberError, and DuplicateSequenceNumberError for what is too long ago.
        """
        # A producer without transactions raises its epoch itself.
        is_renewed = self.transactional_id is None and header.epoch > self.epoch
        if header.epoch != self.epoch and not is_renewed:
            raise errors.InvalidProducerEpochError
        if self.transactional_id != transactional_id:
            raise errors.InvalidProducerIdMappingError
        if header.is_transactional != (transactional_id is not None):
            raise errors.InvalidTxnStateError
        recent = () if is_renewed else self.recent.get(key, ())
        for batch in recent:
            if (batch.first, batch.last) == (header.base_sequence, header.last_sequence):
                return batch.base_offset
        if header.is_transactional and (
            self.transaction is None or key not in self.transaction.first
        ):
            raise errors.InvalidTxnStateError
        expected = (recent[-1].last + 1) & SEQUENCE_MAX if recent else 0
        if header.base_sequence != expected and key not in self.new:
            if recent and (expected - header.base_sequence) & SEQUENCE_MAX <= SEQUENCE_MAX // 2:
                raise errors.DuplicateSequenceNumberError
            raise errors.OutOfOrderSequenceNumberError
        return None

    def append(self, key: Key, header: BatchHeader) -> None:
        """Note a batch that has its place."""
        if header.epoch != self.epoch:
            self.begin_epoch(header.epoch, NO_EPOCH)
        recent = self.recent.setdefault(key, deque(maxlen=RECENT_MAX))
        self.new.discard(key)
        recent.append(Numbered(header.base_sequence, header.last_sequence, header.base_offset))
        self.used_ms = max(self.used_ms, header.max_timestamp_ms)
        if self.transaction is not None and self.transaction.first[key] == NO_OFFSET:
            self.transaction.first[key] = header.base_offset

    def join(self, event: Join) -> None:
        """Add partitions to the transaction."""
        if self.transaction is None:
            self.transaction = Transaction(event.time_ms)
        for key in event.keys:
            self.transaction.first.setdefault(key, NO_OFFSET)

    def end(self, epoch: int, *, commit: bool) -> None:
        """End the transaction; a greater epoch fences the producer."""
        self.transaction = None
        self.committed = commit
        if epoch != self.epoch:
            self.begin_epoch(epoch, self.epoch)

    def begin_epoch(self, epoch: int, previous_epoch: int) -> None:
        """Begin an epoch, without numbers."""
        self.epoch, self.previous_epoch = epoch, previous_epoch
        self.committed = None
        self.recent.clear()
        self.deleted.clear()
        self.new.clear()

    def forget(self, topic: str, keys: set[Key]) -> None:
        """Forget the partitions of a topic that is deleted."""
        for key in keys:
            self.new.discard(key)
            if self.recent.pop(key, None) is not None:
                self.deleted.add((topic, key[1]))
            if self.transaction is not None:
                self.transaction.first.pop(key, None)

    def see(self, topic: str, keys: Iterable[Key]) -> None:
        """Take any first number in the partitions of a topic that it knew before."""
        self.new.update(key for key in keys if (topic, key[1]) in self.deleted)

    def next_epoch(
        self,
        expected: tuple[int, int] | None,
        timeout_ms: int,
        time_ms: int,
        next_producer_id: int,
    ) -> ProducerEpoch | None:
        """Return what the producer is to be after it was asked for; None if it is that already.

        Raises ProducerFencedError if another one is expected.
        """
        previous = NO_EPOCH
        if expected is not None and expected[1] != NO_EPOCH:
            producer_id, previous = expected
            if producer_id != self.producer_id:
                raise errors.ProducerFencedError
            if previous == self.previous_epoch:
                return None
            if previous != self.epoch:
                raise errors.ProducerFencedError
        if self.epoch >= EPOCH_MAX:
            return ProducerEpoch(
                next_producer_id, 0, self.transactional_id, timeout_ms, NO_EPOCH, time_ms
            )
        return ProducerEpoch(
            self.producer_id, self.epoch + 1, self.transactional_id, timeout_ms, previous, time_ms
        )

"""One partition of a topic, as far as it was read ahead."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka import TopicPartition


class Lane:
    """One partition, and its next records with their sequences."""

    __slots__ = (
        "begin",
        "end",
        "ended",
        "first",
        "last",
        "last_is_tombstone",
        "number",
        "partition",
        "position",
        "records",
        "serial",
        "topic",
    )

    def __init__(self, number: int, partition: TopicPartition, begin: int, end: int) -> None:
        """Read the partition from offset `begin` to before `end`; `number` distinguishes lanes."""
        self.number = number
        self.topic: str = partition.topic
        self.partition = partition
        self.begin = begin
        self.end = end
        self.ended = begin >= end
        # Where to read on, while the client does not read it.
        self.position = begin
        self.records: deque[tuple[bytes, Any]] = deque()
        # Rises with each record that was taken.
        self.serial = 0
        # The sequence of the first record, and of the last one that was taken.
        self.first = b""
        self.last = b""
        self.last_is_tombstone = False

    @property
    def follows(self) -> bool:
        """Whether the next record may follow the last one that was taken.

        It has a higher sequence, or it is the tombstone after its delete.
        """
        sequence, record = self.records[0]
        is_tombstone = record.value is None and not self.last_is_tombstone
        return sequence > self.last or (sequence == self.last and is_tombstone)

    def has_lost(self, sequence: bytes) -> bool:
        """Return whether a record with a sequence may be older than what the partition kept."""
        return self.begin > 0 and (not self.first or sequence < self.first)

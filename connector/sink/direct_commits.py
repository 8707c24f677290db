"""Commits a small transaction with three requests, each sent and awaited in the caller's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import KafkaError

from connector.sink.direct_link import DirectLink, Reached, partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.sink.sealed_records import SealedRecords

# A larger transaction is written by another thread, while this one encodes.
_BYTES_MAX = 256 * 1024


def is_small(held: Sequence[SealedRecords]) -> bool:
    """Return whether `commit_directly` may commit these: few bytes, one batch a partition."""
    partitions = {(records.topic, records.partition) for records in held}
    size = sum(records.size for records in held)
    return size <= _BYTES_MAX and len(partitions) == len(held)


def commit_directly(link: DirectLink, held: Sequence[SealedRecords]) -> Reached:
    """Commit one batch for each of some partitions; return how far that has come.

    They may be closed then. Raises KafkaTimeoutError if Kafka may have committed; then the producer
    has failed.
    """
    if not link.is_ready:
        return Reached.NOTHING
    reached = Reached.NOTHING
    try:
        link.connect()
        reached = Reached.SENT
        link.add_partitions(tuple(map(partition_of, held)))
        link.acknowledge(link.write(held))
        reached = Reached.ACKNOWLEDGED
        link.end(commit=True)
    except (OSError, KafkaError) as error:
        link.give_up(error, reached)
        return reached
    return Reached.ENDED

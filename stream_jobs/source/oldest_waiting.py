"""Which committed records of a topic are not applied: whether there are any, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.source.record_batches import first_committed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_jobs.source.client import KafkaClient
    from stream_jobs.source.requests import Partition

# Enough for the markers of some hundred transactions, and a broker returns at least one batch.
_BYTES = 64 * 1024


def oldest_waiting(
    client: KafkaClient, begun: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> int | None:
    """Return the time of the oldest committed record from `begun` to `ends`, in ms since 1970.

    None if there is none: the offsets between them are of markers, or of what was rolled back.
    Raises MirrorError if Kafka does not answer, or if a record is gone.
    """
    times = [
        time
        for partition, offset in begun.items()
        if (time := _first_time(client, partition, offset, ends[partition])) is not None
    ]
    return min(times, default=None)


def _first_time(client: KafkaClient, partition: Partition, offset: int, end: int) -> int | None:
    while offset < end:
        before = offset
        for fetched in client.fetch({partition: offset}, _BYTES):
            offset, time = first_committed(fetched, offset)
            if time is not None:
                return time
        if offset == before:
            break
    return None

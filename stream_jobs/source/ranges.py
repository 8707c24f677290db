"""Ranges of offsets, and their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.records.record_reader import RecordColumns
from stream_jobs.source.record_batches import read_fetched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream_jobs.source.client import KafkaClient
    from stream_jobs.source.requests import Partition


class OffsetRange(NamedTuple):
    """The records of a partition from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


def read_ranges(
    client: KafkaClient, ranges: Iterable[OffsetRange]
) -> Iterator[tuple[OffsetRange, RecordColumns]]:
    """Yield each range with its committed records, as soon as it is complete.

    All ranges are fetched together: many small ones cost few requests. Raises MirrorError if a
    range cannot be read in full.
    """
    left: dict[Partition, OffsetRange] = {}
    for each in ranges:
        if each.start < each.end:
            left[each.topic, each.partition] = each
        else:
            yield each, RecordColumns()
    columns = {key: RecordColumns() for key in left}
    position = {key: each.start for key, each in left.items()}
    while left:
        for fetched in client.fetch({key: position[key] for key in left}):
            key = fetched.topic, fetched.partition
            wanted = left[key]
            at = read_fetched(fetched, position[key], wanted.end, columns[key])
            # The next request begins with a partition that this answer had no room for.
            del left[key]
            position[key] = at
            if at >= wanted.end:
                yield wanted, columns.pop(key)
            else:
                left[key] = wanted

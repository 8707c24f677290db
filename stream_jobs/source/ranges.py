"""Ranges of offsets, and their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.records.record_reader import RecordColumns
from stream_jobs.source.record_batches import read_fetched
from stream_jobs.source.requests import FETCH_BYTES

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
    client: KafkaClient, ranges: Iterable[OffsetRange], bytes_max: int | None = None
) -> Iterator[tuple[OffsetRange, RecordColumns]]:
    """Yield each range with its committed records, as soon as it is complete.

    All ranges are fetched together: many small ones cost few requests. When the values of all
    together have more than `bytes_max` bytes, the rest is not read: the ranges that are then
    yielded end earlier. Raises MirrorError if a range cannot be read.
    """
    left: dict[Partition, OffsetRange] = {}
    for each in ranges:
        if each.start < each.end:
            left[each.topic, each.partition] = each
        else:
            yield each, RecordColumns()
    columns = {key: RecordColumns() for key in left}
    position = {key: each.start for key, each in left.items()}
    size = 0
    while left and (bytes_max is None or size <= bytes_max):
        room = FETCH_BYTES if bytes_max is None else bytes_max - size + 1
        for fetched in client.fetch({key: position[key] for key in left}, room):
            key = fetched.topic, fetched.partition
            wanted = left[key]
            known = len(columns[key].values)
            at = read_fetched(fetched, position[key], wanted.end, columns[key])
            size += sum(len(value) for value in columns[key].values[known:] if value)
            # The next request begins with a partition that this answer had no room for.
            del left[key]
            position[key] = at
            if at >= wanted.end:
                yield wanted, columns.pop(key)
            else:
                left[key] = wanted
    for key, wanted in left.items():
        yield wanted._replace(end=position[key]), columns[key]

"""Offsets of all topics, as Spark's log keeps them: {topic: {partition: offset}}."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_jobs.source.requests import Partition

Offsets = dict[str, dict[str, int]]


def limited(begun: Offsets, ends: Offsets, count: int) -> Offsets:
    """Return offsets between `begun` and `ends` with at most about `count` records.

    Each partition gets its share of what is there, and at least one record. One that ends before
    `begun` has lost records: it gets its end, and the table is set aside.
    """
    end = later(begun, ends)
    left = {
        (topic, number): offset - begun[topic][number]
        for topic, offsets in end.items()
        for number, offset in offsets.items()
        if offset > begun[topic][number]
    }
    total = sum(left.values())
    if total > count:
        for (topic, number), records in left.items():
            end[topic][number] = begun[topic][number] + max(1, records * count // total)
    return end


def later(begun: Offsets, ends: Offsets) -> Offsets:
    """Return the ends of the topics; one that was deleted stays where it was."""
    return {
        topic: {
            number: ends.get(topic, {}).get(number, offset) for number, offset in offsets.items()
        }
        for topic, offsets in begun.items()
    }


def nested(offsets: Mapping[Partition, int]) -> Offsets:
    """Return offsets by partition in the form of Spark's log."""
    found: Offsets = {}
    for (topic, number), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return found

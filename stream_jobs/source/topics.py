"""The topics of a pipeline: the brokers that have them, their names, and their offsets.

This module needs no Kafka client, so the settings and Spark's short-lived processes can import
it. Offsets have the form of Spark's offset log: {topic: {partition: offset}}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from connector.foundation.contract import SCHEMA_TOPIC_SUFFIX, control_topic

if TYPE_CHECKING:
    from stream_jobs.source.requests import Partition


def row_topic_pattern(prefix: str) -> str:
    """Return the regular expression of `<prefix>.<database>.<table>`.

    Control topics (`<prefix>.schema`, `<prefix>.progress`) have one dot and do not match.
    """
    part = "[A-Za-z0-9_-]+"
    return rf"^{re.escape(prefix)}\.{part}\.{part}$"


def row_topics(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the topics with rows among `counts`, and their numbers of partitions."""
    pattern = re.compile(row_topic_pattern(prefix))
    return {topic: count for topic, count in sorted(counts.items()) if pattern.match(topic)}


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return control_topic(prefix, SCHEMA_TOPIC_SUFFIX)


class BrokerConfig(NamedTuple):
    """How the brokers are reached: plain values, which Spark can send to its tasks."""

    bootstrap_servers: tuple[str, ...]
    timeout_seconds: float
    # Arguments of kafka-python for TLS and login.
    security: tuple[tuple[str, object], ...]


Offsets = dict[str, dict[str, int]]


class OffsetRange(NamedTuple):
    """The records of a partition from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


def ranges_by_topic(ranges: Iterable[OffsetRange]) -> dict[str, list[OffsetRange]]:
    """Group ranges by topic, in their order."""
    topics: dict[str, list[OffsetRange]] = {}
    for span in ranges:
        topics.setdefault(span.topic, []).append(span)
    return topics


def limit_offsets(begun: Offsets, ends: Offsets, count: int) -> Offsets:
    """Return offsets between `begun` and `ends` with at most about `count` records.

    Each partition gets its share of what is there, and at least one record. One that ends before
    `begun` has lost records: it gets its end, and the table is set aside.
    """
    end = advance_offsets(begun, ends)
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


def advance_offsets(begun: Offsets, ends: Offsets) -> Offsets:
    """Return the ends of the topics; one that was deleted stays where it was."""
    return {
        topic: {
            number: ends.get(topic, {}).get(number, offset) for number, offset in offsets.items()
        }
        for topic, offsets in begun.items()
    }


def nest_offsets(offsets: Mapping[Partition, int]) -> Offsets:
    """Return offsets by partition in the form of Spark's log."""
    nested: Offsets = {}
    for (topic, number), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(number)] = offset
    return nested

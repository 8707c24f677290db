"""Copies the log of a pipeline into another log, with the same offsets.

A topic, `<prefix>.log-copy`, is made first and deleted last. While it is there, no connector starts
with the new log, and the next copy begins again. docs/design/folder-log.md tells more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final, NamedTuple

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from connector.foundation.contract import control_topic, own_topics
from connector.foundation.errors import SinkRefused, SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import connection, kafka_errors, log_copy_errors, offset_writer
from connector.stream.sink.recovery import TopicLog, committed_settings, last_offsets
from connector.stream.sink.topic_limits import topic_configs, topics_of_prefix

# The clients of both logs are opened by name, not by a simulation.
_CLIENTS: Final = connection.KAFKA_CLIENTS
_SUFFIX: Final = "log-copy"
# While a topic is filled, nothing of it may go.
_KEPT: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
# What a topic of the pipeline has by its own choice, or a user has changed.
_SETTINGS: Final = ("cleanup.policy", "max.message.bytes", "retention.bytes", "retention.ms")
_LOOK_SECONDS: Final = 0.1

# Called with the topic, how many offsets are copied, and how many there are.
Show = Callable[[str, int, int], None]


class _Range(NamedTuple):
    """The offsets of a partition: of its first record, and after its last one."""

    begin: int
    end: int


class _Topic(NamedTuple):
    name: str
    partitions: int
    settings: dict[str, str]


def copy_topic(prefix: str) -> str:
    """Return the topic that says that a log is not complete."""
    return control_topic(prefix, _SUFFIX)


def incomplete(settings: KafkaSettings) -> SinkRefused:
    """Return the error of a log that is not complete."""
    return SinkRefused(
        log_copy_errors.NOT_COMPLETE,
        servers=connection.servers_of(settings),
        topic=copy_topic(settings.topic_prefix),
    )


def copy_log(source: KafkaSettings, target: KafkaSettings, show: Show) -> int:
    """Copy the topics of a prefix; return the number of offsets.

    Raises SinkRefused or SinkUnavailable; then the new log is not complete, unless it had records.
    """
    with _errors(source):
        topics = _topics(source)
        ranges = _ranges(source, topics)
    copied, total = 0, sum(each.end for each in ranges.values())
    with (
        _errors(target),
        closing(_CLIENTS.open_consumer(**committed_settings(source))) as consumer,
        offset_writer.opened(target, copy_topic(target.topic_prefix)) as writer,
    ):
        # After a transaction is aborted that a copy before has left open: the mark of its end would
        # take an offset of a topic that is made again.
        _prepare(target, topics)
        for partition, (begin, end) in ranges.items():
            show(partition.topic, copied, total)
            log = TopicLog(consumer, partition, begin, end)
            is_plain = begin < end and any(log.read(end - 1, end))
            writer.begin(partition.topic, partition.partition, plain=is_plain)
            for number, record in enumerate(log.read(begin, end)):
                writer.take(record)
                if not number % 1000:
                    show(partition.topic, copied + record.offset, total)
            writer.close_partition(end)
            copied += end
            show(partition.topic, copied, total)
    with _errors(source):
        _require_same(source, ranges, _ranges(source, _topics(source)))
    with _errors(target):
        _complete(target, topics, ranges)
    return total


@contextmanager
def _errors(settings: KafkaSettings) -> Iterator[None]:
    try:
        yield
    except (KafkaError, OSError) as error:
        doing = connection.reading(settings.topic_prefix)
        raise connection.connector_error(settings, doing, error) from error


def _topics(settings: KafkaSettings) -> list[_Topic]:
    """Return the topics, those of the connector's own first: rows are never before progress."""
    prefix = settings.topic_prefix
    with closing(_CLIENTS.open_admin(**connection.client_settings(settings))) as admin:
        names = topics_of_prefix(admin, prefix)
        if copy_topic(prefix) in names:
            raise incomplete(settings)
        names.sort(key=lambda name: (name not in own_topics(prefix), name))
        if not names:
            return []
        counts = {each["name"]: len(each["partitions"]) for each in admin.describe_topics(names)}
        configs = topic_configs(admin, names, _SETTINGS)
    for name in names:
        if name not in configs:
            raise SinkRefused(
                log_copy_errors.NO_SETTINGS, servers=connection.servers_of(settings), topic=name
            )
    return [_Topic(name, counts[name], configs[name]) for name in names]


def _ranges(settings: KafkaSettings, topics: list[_Topic]) -> dict[TopicPartition, _Range]:
    """Return the offsets of all partitions; raises SinkRefused if a transaction is open."""
    partitions = [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]
    with closing(_CLIENTS.open_consumer(**committed_settings(settings))) as consumer:
        begins = consumer.beginning_offsets(partitions)
        stable = consumer.end_offsets(partitions)
    found = {each: _Range(begins[each], stable[each]) for each in partitions}
    ends = last_offsets(settings, partitions, _CLIENTS)
    _require_same(settings, found, {each: _Range(begins[each], ends[each]) for each in partitions})
    return found


def _require_same(
    settings: KafkaSettings,
    before: Mapping[TopicPartition, _Range],
    after: Mapping[TopicPartition, _Range],
) -> None:
    """Raise SinkRefused if a partition has got records, or one has come."""
    for partition in {**before, **after}:
        ends = [each[partition].end if partition in each else 0 for each in (before, after)]
        if ends[0] != ends[1]:
            raise SinkRefused(
                log_copy_errors.STILL_WRITTEN,
                servers=connection.servers_of(settings),
                topic=partition.topic,
                before=ends[0],
                after=ends[1],
            )


def _prepare(settings: KafkaSettings, topics: list[_Topic]) -> None:
    """Make the topics, empty, after the one that says that the log is not complete."""
    mark = copy_topic(settings.topic_prefix)
    with closing(_CLIENTS.open_admin(**connection.client_settings(settings))) as admin:
        there = topics_of_prefix(admin, settings.topic_prefix)
        if mark in there:
            there.remove(mark)
        else:
            _require_empty(settings, admin, there)
            _create(settings, admin, {mark: _KEPT}, {mark: 1})
        if there:
            admin.delete_topics(there)
        until = time.monotonic() + settings.request_timeout_seconds
        while set(topics_of_prefix(admin, settings.topic_prefix)) - {mark}:
            if time.monotonic() > until:
                raise SinkUnavailable(
                    kafka_errors.UNAVAILABLE,
                    servers=connection.servers_of(settings),
                    doing=connection.creating(*there),
                    why="topics that were deleted are still there",
                )
            time.sleep(_LOOK_SECONDS)
        kept = {
            each.name: _KEPT | {"max.message.bytes": each.settings["max.message.bytes"]}
            for each in topics
        }
        _create(settings, admin, kept, {each.name: each.partitions for each in topics})


def _create(
    settings: KafkaSettings,
    admin: Any,
    wanted: Mapping[str, Mapping[str, str]],
    partitions: Mapping[str, int],
) -> None:
    described = {
        topic: {
            "num_partitions": partitions[topic],
            "replication_factor": settings.replication_factor,
            "configs": dict(chosen),
        }
        for topic, chosen in wanted.items()
    }
    if described:
        admin.create_topics(described, wait_for_metadata=True)


def _require_empty(settings: KafkaSettings, admin: Any, topics: list[str]) -> None:
    partitions = [
        TopicPartition(each["name"], number)
        for each in (admin.describe_topics(topics) if topics else ())
        for number in range(len(each["partitions"]))
    ]
    for partition, end in last_offsets(settings, partitions, _CLIENTS).items():
        if end:
            raise SinkRefused(
                log_copy_errors.TARGET_IN_USE,
                servers=connection.servers_of(settings),
                topic=partition.topic,
            )


def _complete(
    settings: KafkaSettings, topics: list[_Topic], ranges: Mapping[TopicPartition, _Range]
) -> None:
    """Let the topics begin where the others do, give them their settings, and remove the mark."""
    begins = {partition: each.begin for partition, each in ranges.items() if each.begin}
    with closing(_CLIENTS.open_admin(**connection.client_settings(settings))) as admin:
        if begins:
            admin.delete_records(begins)
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, topic.name, topic.settings)
                for topic in topics
            ]
        )
        admin.delete_topics([copy_topic(settings.topic_prefix)])

"""The newest keys of topics, as consumers of committed records see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import connector_error, consumer_settings
from connector.sink.topic_log import TopicLog

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from connector.settings.sections import KafkaSettings

# After the last record of a partition come the marks of transactions, mostly one.
_TAIL_OFFSETS = 10


@dataclass(frozen=True, slots=True)
class NewestKey:
    """The key of the newest record of a topic that has one."""

    topic: str
    record: str  # topic[partition]@offset
    key: bytes


def newest_keys(
    settings: KafkaSettings,
    topics: Collection[str],
    topics_max: int,
    clients: KafkaClients = KAFKA_CLIENTS,
) -> list[NewestKey]:
    """Return the newest key of each of `topics` that exists; of `topics_max` of them at most.

    A topic without a key among the last records of its partitions has none here. Open transactions
    are not waited for. Raises SinkUnavailable or SinkRefused.
    """
    found: list[NewestKey] = []
    doing = attempts.reading(*topics)
    try:
        consumer = clients.open_consumer(**consumer_settings(settings))
        try:
            for topic in sorted(consumer.topics().intersection(topics))[:topics_max]:
                doing = attempts.reading(topic)
                found += _newest(consumer, topic)
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, doing, error) from error
    return found


def _newest(consumer: Any, topic: str) -> Iterator[NewestKey]:
    """Yield the newest key of a topic, if there is one."""
    partitions = [
        TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic) or ()
    ]
    begins, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    keyed = [
        record
        for each in partitions
        for record in TopicLog(consumer, each, begins[each], ends[each]).read(
            max(begins[each], ends[each] - _TAIL_OFFSETS), ends[each]
        )
        if record.key is not None
    ]
    if keyed:
        last = max(keyed, key=lambda record: (record.timestamp, record.offset))
        yield NewestKey(topic, f"{topic}[{last.partition}]@{last.offset}", last.key)

"""What earlier runs committed: the last progress record and every schema record."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from connector.envelope.progress import Progress, progress_topic
from connector.envelope.table_schema import schema_topic
from connector.sink.connection import client_settings, connector_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.config import KafkaSettings

# The last progress record of a pipeline is nearly always among these last offsets; each try that
# does not find it looks back ten times further.
_TAIL_OFFSETS = 200
_POLL_MS = 500
# Polls without anything new, while the end is known to lie ahead, before giving up.
_IDLE_POLLS_MAX = 60


def read_progress(settings: KafkaSettings, name: str) -> Progress | None:
    """Return the last committed progress of pipeline `name`, or None before its first.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    topic = progress_topic(settings.topic_prefix)
    key = name.encode()
    with _opened(settings, topic) as (consumer, partition, begin, end):
        start, length = end, _TAIL_OFFSETS
        while start > begin:
            upper, start = start, max(begin, end - length)
            length *= 10
            found = None
            for record in _read(consumer, partition, start, upper):
                if record.key == key and record.value is not None:
                    found = record
            if found is not None:
                return Progress.decode(found.value, f"{topic}[0]@{found.offset}")
    return None


def read_schema_keys(settings: KafkaSettings) -> list[str]:
    """Return the keys, `database.table/schema_id`, of every committed schema record.

    Raises SinkUnavailable or SinkRefused.
    """
    topic = schema_topic(settings.topic_prefix)
    with _opened(settings, topic) as (consumer, partition, begin, end):
        records = _read(consumer, partition, begin, end)
        return [record.key.decode() for record in records if record.value is not None]


@contextmanager
def _opened(
    settings: KafkaSettings, topic: str
) -> Iterator[tuple[KafkaConsumer, TopicPartition, int, int]]:
    """Give a consumer of the topic's one partition, and the partition's first and end offset."""
    partition = TopicPartition(topic, 0)
    try:
        consumer = _consumer(settings)
        try:
            consumer.assign([partition])
            begin = consumer.beginning_offsets([partition])[partition]
            end = consumer.end_offsets([partition])[partition]
            yield consumer, partition, begin, end
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, f"read topic {topic}", error) from error


def _consumer(settings: KafkaSettings) -> KafkaConsumer:
    return KafkaConsumer(
        **client_settings(settings),
        isolation_level="read_committed",
        enable_auto_commit=False,
        group_id=None,
        check_crcs=True,
    )


def _read(
    consumer: KafkaConsumer, partition: TopicPartition, start: int, end: int
) -> Iterator[Any]:
    """Yield the committed records with start <= offset < end."""
    if start >= end:
        return
    consumer.seek(partition, start)
    idle_polls = 0
    while (position := consumer.position(partition)) < end:
        batch = consumer.poll(timeout_ms=_POLL_MS)
        for record in batch.get(partition, ()):
            if record.offset < end:
                yield record
        # Markers and aborted records move the position without being returned.
        moved = consumer.position(partition) > position
        idle_polls = 0 if moved else idle_polls + 1
        if idle_polls > _IDLE_POLLS_MAX:
            reason = f"offset {end} of {partition.topic} did not arrive"
            raise KafkaTimeoutError(reason)

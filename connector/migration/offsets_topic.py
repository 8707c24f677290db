"""The offset of a connector in the topic where Kafka Connect keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.contract.documents import read_document
from connector.errors import ConfigError
from connector.errors import migration as codes
from connector.migration.offsets import is_key_of, read_position
from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS
from connector.sink.connection import connector_error, consumer_settings
from connector.sink.topic_log import TopicLog, last_offsets

if TYPE_CHECKING:
    from connector.migration.connector_file import ConnectorFile
    from connector.settings.sections import KafkaSettings
    from connector.source.start.taken_over import ReadPosition


def topic_offset(settings: KafkaSettings, topic: str, connector: ConnectorFile) -> ReadPosition:
    """Return the newest committed offset of the connector; waits for the end of transactions.

    A worker that was killed may have left one open, until Kafka aborts it. Raises SinkUnavailable,
    SinkRefused or, without an offset, ConfigError.
    """
    newest: bytes | None = None
    try:
        consumer = KAFKA_CLIENTS.open_consumer(**consumer_settings(settings))
        try:
            # Asking for one topic could create it.
            known = topic in consumer.topics()
            numbers = sorted(consumer.partitions_for_topic(topic) or ()) if known else []
            partitions = [TopicPartition(topic, number) for number in numbers]
            begins = consumer.beginning_offsets(partitions)
            ends = last_offsets(settings, partitions, KAFKA_CLIENTS) if partitions else {}
            for partition in partitions:
                begin, end = begins[partition], ends[partition]
                # All records of a key are in one partition.
                for record in TopicLog(consumer, partition, begin, end).read(begin, end):
                    if is_key_of(connector, record.key):
                        newest = record.value
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.reading(topic), error) from error
    try:
        value = None if newest is None else read_document(newest)
    except ValueError as error:
        raise ConfigError(codes.NOT_OFFSETS, offsets=topic, why=error) from error
    return read_position(topic, connector, value)

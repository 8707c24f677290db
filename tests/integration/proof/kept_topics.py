"""The topics of a stream, changed as no connector would change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from connector.kafka.kafka_python import network_client
from tests.integration.harness import consumer_of, partitions_of, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_stack import Endpoint

    # The records of each partition, in their order.
    Records = dict[int, list[Any]]


def records_of(broker: Endpoint, topic: str) -> Records:
    """Return the committed records of a topic, as the client gives them."""
    consumer = consumer_of(broker)
    try:
        found: Records = {}
        for partition in partitions_of(consumer, topic):
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            end = consumer.end_offsets([partition])[partition]
            records = found[partition.partition] = []
            while consumer.position(partition) < end:
                records += consumer.poll(timeout_ms=200).get(partition, ())
        return found
    finally:
        consumer.close()


def produce(broker: Endpoint, topic: str, records: Records) -> None:
    """Write records with a producer that is no connector."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, kafka_client=network_client)
    try:
        for partition, of_partition in records.items():
            for record in of_partition:
                producer.send(
                    topic,
                    record.value,
                    record.key,
                    list(record.headers),
                    partition,
                    record.timestamp,
                )
        producer.flush()
    finally:
        producer.close()


def rewrite(broker: Endpoint, topic: str, change: Callable[[Records], None]) -> None:
    """Put a topic in place of another of its name, after `change` of its records."""
    records = records_of(broker, topic)
    change(records)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap, kafka_client=network_client)
    try:
        admin.delete_topics([topic])

        def is_created() -> bool:
            try:
                admin.create_topics(
                    {topic: {"num_partitions": len(records), "replication_factor": 1}},
                    wait_for_metadata=True,
                )
            except (TopicAlreadyExistsError, UnknownTopicOrPartitionError):
                return False
            return True

        wait_until(is_created, lambda: f"{topic} is not deleted")
    finally:
        admin.close()
    produce(broker, topic, records)


def compact(broker: Endpoint, topic: str) -> None:
    """Let Kafka compact a topic."""
    policy = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": "compact"})
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap, kafka_client=network_client)
    try:
        admin.alter_configs([policy])
    finally:
        admin.close()


def delete_before(broker: Endpoint, topic: str, partition: int, offset: int) -> None:
    """Delete the oldest records of a partition, as retention does."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap, kafka_client=network_client)
    try:
        admin.delete_records({TopicPartition(topic, partition): offset})
    finally:
        admin.close()

"""Clients of a log in a folder, as the product opens them, and what they read there."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.record.default_records import DefaultRecordBatchBuilder

from connector.foundation.record_batch import RecordBatch
from connector.kafka.kafka_python import network_client
from connector.kafka.producer import TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TOPIC = "shop.erp.orders"
PARTITIONS = 2
_NOW_MS = 1_795_000_000_000
_ROOM_BYTES = 1 << 30


def url_of(folder: Path) -> str:
    return f"file://{folder}"


def settings_of(folder: Path, request_timeout_ms: int = 10_000) -> dict[str, Any]:
    """Return the arguments of each client."""
    return {
        "bootstrap_servers": [url_of(folder)],
        "client_id": "test",
        "request_timeout_ms": request_timeout_ms,
        "kafka_client": network_client,
    }


def admin_of(folder: Path) -> Any:
    return KafkaAdminClient(**settings_of(folder))


def create(folder: Path, *topics: str, **configuration: str) -> None:
    """Create topics that keep their records for ever, unless told otherwise."""
    description = {
        "num_partitions": PARTITIONS,
        "replication_factor": 1,
        "configs": {"retention.ms": "-1"} | configuration,
    }
    with closing(admin_of(folder)) as admin:
        admin.create_topics(dict.fromkeys(topics or [TOPIC], description), wait_for_metadata=True)


def producer_of(folder: Path, name: str = "a") -> TransactionalProducer:
    return TransactionalProducer(settings_of(folder), name, 60, "lz4")


def batch_of(
    values: Iterable[bytes], topic: str = TOPIC, partition: int = 0, time_ms: int = _NOW_MS
) -> RecordBatch:
    """Return a record batch as the connector makes it."""
    builder = DefaultRecordBatchBuilder(2, 0, True, -1, -1, -1, _ROOM_BYTES)
    count = 0
    for value in values:
        builder.append(count, time_ms, b"key", value, [])
        count += 1
    return RecordBatch(topic, partition, bytes(builder.build()), count, time_ms, time_ms)


def commit(producer: TransactionalProducer, *batches: RecordBatch) -> None:
    """Write and commit one transaction."""
    for batch in batches:
        producer.deliver(batch, _ROOM_BYTES)
    producer.start_commit()
    producer.finish_commit()


def consumer_of(folder: Path, isolation_level: str = "read_committed") -> Any:
    return KafkaConsumer(
        **settings_of(folder),
        isolation_level=isolation_level,
        enable_auto_commit=False,
        group_id=None,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    )


def read(
    folder: Path, topic: str = TOPIC, isolation_level: str = "read_committed"
) -> list[list[bytes]]:
    """Return the values of each partition of a topic, to its present end."""
    with closing(consumer_of(folder, isolation_level)) as consumer:
        partitions = [
            TopicPartition(topic, number)
            for number in sorted(consumer.partitions_for_topic(topic) or ())
        ]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        found: dict[TopicPartition, list[bytes]] = {each: [] for each in partitions}
        while any(consumer.position(each) < ends[each] for each in partitions):
            for partition, records in consumer.poll(timeout_ms=200).items():
                found[partition] += [record.value for record in records]
    return list(found.values())

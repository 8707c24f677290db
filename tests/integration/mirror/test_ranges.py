"""Ranges of offsets are read from a broker as the consumer of kafka-python reads them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from connector.kafka.kafka_python import network_client
from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import BrokerConfig, OffsetRange
from tests.stream_jobs.topics import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.record_reader import RecordColumns
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

SEQ = b"00010000004200000011870000000000000000"


@pytest.fixture
def client(kafka: Kafka) -> Iterator[KafkaClient]:
    client = KafkaClient(facts(kafka))
    yield client
    client.close()


def facts(kafka: Kafka) -> BrokerConfig:
    return BrokerConfig((kafka.bootstrap,), 20.0, ())


def read(client: KafkaClient, ranges: list[OffsetRange]) -> dict[OffsetRange, RecordColumns]:
    return dict(client.read_ranges(ranges))


def consumed(kafka: Kafka, each: OffsetRange) -> list[tuple[bytes | None, bytes | None]]:
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        kafka_client=network_client,
        isolation_level="read_committed",
        group_id=None,
    )
    partition = TopicPartition(each.topic, each.partition)
    consumer.assign([partition])
    consumer.seek(partition, each.start)
    found: list[tuple[bytes | None, bytes | None]] = []
    while consumer.position(partition) < each.end:
        records = consumer.poll(1000).get(partition, [])
        found += [(record.key, record.value) for record in records if record.offset < each.end]
    consumer.close()
    return found


@pytest.mark.parametrize(
    "codec",
    [
        None,
        "gzip",
        "lz4",
        # The producer of kafka-python goes by the version of requests, not by what they can carry.
        pytest.param("zstd", marks=pytest.mark.broker("requests of Kafka 2.1")),
    ],
)
def test_committed_records_of_any_range_are_those_of_the_consumer(
    kafka: Kafka, client: KafkaClient, codec: str | None
) -> None:
    topic = f"{kafka.prefix}.shop.items"
    kafka.add_topic(topic)
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        kafka_client=network_client,
        transactional_id=f"{kafka.prefix}-{codec}",
        compression_type=codec,
        batch_size=2000,
    )
    producer.init_transactions()
    dice = random.Random(7)
    for number in range(12):
        producer.begin_transaction()
        for record in range(dice.randint(1, 60)):
            producer.send(
                topic,
                key=f"{number} {record}".encode(),
                value=b"x" * dice.randint(0, 300) or None,
                headers=[("cdc.seq", SEQ), ("cdc.op", b"c"), ("cdc.schema", b"s")],
                partition=dice.randrange(PARTITIONS),
            )
        if dice.random() < 0.4:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    producer.close()

    ends = client.end_offsets([(topic, number) for number in range(PARTITIONS)])
    assert {str(number): end for (_, number), end in ends.items()} == kafka.end_offsets(topic)
    ranges = [OffsetRange(topic, number, 0, ends[topic, number]) for number in range(PARTITIONS)]
    for _ in range(4):
        for number in range(PARTITIONS):
            start = dice.randrange(ends[topic, number])
            end = dice.randint(start, ends[topic, number])
            ranges.append(OffsetRange(topic, number, start, end))
    for each in ranges:
        out = read(client, [each])[each]
        assert list(zip(out.keys, out.values, strict=True)) == consumed(kafka, each)
        assert out.sequences.getvalue() == SEQ * len(out.keys)
    both = read(client, ranges[:PARTITIONS])
    assert {part: len(out.keys) for part, out in both.items()} == {
        part: len(consumed(kafka, part)) for part in ranges[:PARTITIONS]
    }


def test_what_is_more_than_the_limit_is_left_for_the_next_time(
    kafka: Kafka, client: KafkaClient
) -> None:
    topic = f"{kafka.prefix}.shop.items"
    kafka.add_topic(topic)
    for number in range(8):
        with kafka.transaction():
            kafka.send(topic, b"k", b"%d" % number * 1000, {}, number % PARTITIONS)
    wanted = [OffsetRange(topic, number, 0, 8) for number in range(PARTITIONS)]
    values: list[bytes | None] = []
    rounds = 0
    while wanted:
        found = dict(client.read_ranges(wanted, 1500))
        values += [value for columns in found.values() for value in columns.values]
        ends = {each.partition: each.end for each in found}
        wanted = [each._replace(start=ends[each.partition]) for each in wanted]
        wanted = [each for each in wanted if each.start < each.end]
        rounds += 1
    assert sorted(filter(None, values)) == [b"%d" % number * 1000 for number in range(8)]
    assert rounds > 1


def test_a_range_that_begins_before_the_first_record_is_an_error(
    kafka: Kafka, client: KafkaClient
) -> None:
    topic = f"{kafka.prefix}.shop.items"
    kafka.add_topic(topic)
    with kafka.transaction():
        for _ in range(5):
            kafka.send(topic, b"k", b"v", {}, 0)
    kafka._admin.delete_records({TopicPartition(topic, 0): 3})
    assert client.first_offsets([(topic, 0)]) == {(topic, 0): 3}
    with pytest.raises(MirrorError) as caught:
        read(client, [OffsetRange(topic, 0, 1, 5)])
    assert caught.value.code == record_errors.RECORDS_GONE
    assert caught.value.text == (
        f"{topic}, partition 0: records from offset 1 on are wanted, but the first one that Kafka "
        "has is 3; let the connector copy the table again (`binlog-connector snapshot`), and then "
        "let the mirror be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; "
        "keep the topics for longer than the job may be down"
    )


def test_topics_are_found_with_the_number_of_their_partitions(
    kafka: Kafka, client: KafkaClient
) -> None:
    kafka.add_topic(f"{kafka.prefix}.shop.new", 3)
    topic = f"{kafka.prefix}.shop.new"
    assert client.partition_counts()[topic] == 3
    assert client.partitions(topic) == [(topic, 0), (topic, 1), (topic, 2)]
    assert client.partitions(f"{topic}er") == []

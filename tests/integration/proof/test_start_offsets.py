"""A proof with a late beginning leaves out what lies before it, also in damaged topics."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.kafka_python import network_client
from connector.stream.sink.connection import KAFKA_CLIENTS
from tests.integration.harness import make_topic
from verification.topics import topic_records
from verification.topics.start_offsets import first_offsets
from verification.topics.topic_records import TopicRecords, Writers, sequence_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka

COUNT = 20_000


class CountingConsumer(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """Counts the records that it gives."""

    polled = 0

    def poll(self, *arguments: Any, **named: Any) -> Any:
        found = super().poll(*arguments, **named)
        CountingConsumer.polled += sum(map(len, found.values()))
        return found


ALONE = Writers("n", frozenset())
CLIENTS = replace(KAFKA_CLIENTS, open_consumer=CountingConsumer)


def sequence(number: int) -> bytes:
    return b"%038d" % number


class Topic:
    """A topic with one partition."""

    def __init__(self, broker: KafkaBroker, numbers: Iterable[int]) -> None:
        """Write a record with each of these sequences; one without any for 0."""
        self.name = f"numbers-{uuid.uuid4().hex}"
        self.settings = KafkaSettings(
            bootstrap_servers=[broker.endpoint.bootstrap], topic_prefix="unused"
        )
        make_topic(broker.endpoint, self.name)
        producer = KafkaProducer(
            bootstrap_servers=broker.endpoint.bootstrap, kafka_client=network_client, linger_ms=50
        )
        for number in numbers:
            headers = [("cdc.seq", sequence(number))] if number else []
            producer.send(self.name, b"v" * 50, headers=headers, partition=0)
        producer.flush()
        producer.close()

    def first(self, lower: int, end: int = COUNT) -> int:
        """Return the first offset from a sequence on, as the search finds it."""
        partition = TopicPartition(self.name, 0)
        ranges = {partition: (0, end)}
        return first_offsets(self.settings, ranges, sequence(lower), sequence_of, CLIENTS)[
            partition
        ]


@pytest.fixture(scope="module")
def ordered(kafka_broker: KafkaBroker) -> Topic:
    """Odd sequences: the one with offset n has 2n + 1."""
    return Topic(kafka_broker, range(1, 2 * COUNT, 2))


@pytest.fixture(autouse=True)
def count() -> None:
    CountingConsumer.polled = 0


@pytest.mark.parametrize(
    ("lower", "offset"),
    [(0, 0), (1, 0), (2, 1), (31_001, 15_500), (31_002, 15_501), (39_999, 19_999), (40_000, COUNT)],
)
def test_the_first_record_from_a_sequence_on_is_found_by_few_records(
    ordered: Topic, lower: int, offset: int
) -> None:
    assert ordered.first(lower) == offset
    assert CountingConsumer.polled < COUNT // 10


def test_a_reader_that_skips_fetches_the_rest_alone(
    ordered: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_records, "_POLL_RECORDS", 500)
    with TopicRecords(ordered.settings, [ordered.name], ALONE, CLIENTS) as records:
        records.skip_to(sequence(39_001))
        found = []
        while (lane := records.lowest()) is not None:
            found.append(records.take(lane).offset)
    assert found == list(range(19_500, COUNT))
    assert CountingConsumer.polled < COUNT // 10


def test_a_reader_that_has_begun_skips_too(ordered: Topic) -> None:
    with TopicRecords(ordered.settings, [ordered.name], ALONE, CLIENTS) as records:
        lane = records.lowest()
        assert lane is not None
        assert records.take(lane).offset == 0
        records.skip_to(sequence(39_001))
        lane = records.lowest()
        assert lane is not None
        assert records.take(lane).offset == 19_500
    assert CountingConsumer.polled < COUNT // 4


def test_a_record_that_is_repeated_late_does_not_hide_those_before_it(
    kafka_broker: KafkaBroker,
) -> None:
    numbers = list(range(1, 3001))
    # What the search looks at first, and last.
    for at in (1500, 750, 2250, 1400):
        numbers.insert(at, 5)
    topic = Topic(kafka_broker, numbers)
    assert topic.first(700, len(numbers)) == 699
    assert topic.first(1400, len(numbers)) == numbers.index(1400)


def test_records_without_a_sequence_are_passed_over(kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, [number if number % 3 else 0 for number in range(1, 3001)])
    # The record before it has no sequence. A busy broker may not send more than that one in time.
    assert topic.first(1000, 3000) in (998, 999)

"""A topic that was created a moment ago, and that not every broker has heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kafka.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError

from connector.foundation.errors import SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink.connection import KAFKA_CLIENTS, KafkaClients
from connector.stream.sink.topics import TopicCreator

if TYPE_CHECKING:
    from kafka import TopicPartition
    from kafka.errors import KafkaError


class LateLeaders:
    """An admin client of brokers that hear of new topics late."""

    def __init__(self, *answers: KafkaError) -> None:
        self.answers = list(answers)
        self.asked: list[TopicPartition] = []

    def __call__(self, **_: object) -> LateLeaders:
        return self

    def list_topics(self) -> list[str]:
        return []

    def create_topics(self, topics: dict[str, Any], *, wait_for_metadata: bool) -> None:
        assert topics
        assert wait_for_metadata

    def list_partition_offsets(self, latest: dict[TopicPartition, Any]) -> None:
        self.asked = list(latest)
        if self.answers:
            raise self.answers.pop(0)

    def close(self) -> None:
        pass


def creator(admin: LateLeaders, seconds: float) -> TopicCreator:
    settings = KafkaSettings(
        bootstrap_servers=["kafka:9092"],
        topic_prefix="shop",
        partitions=2,
        request_timeout_seconds=seconds,
    )
    opened = KafkaClients(KAFKA_CLIENTS.open_producer, KAFKA_CLIENTS.open_consumer, admin)
    return TopicCreator(settings, opened)


def test_a_new_topic_is_there_once_its_leaders_have_heard_of_it() -> None:
    admin = LateLeaders(UnknownTopicOrPartitionError(), LeaderNotAvailableError())
    creator(admin, 30.0).ensure("shop.erp.orders")
    assert [(each.topic, each.partition) for each in admin.asked] == [
        ("shop.erp.orders", 0),
        ("shop.erp.orders", 1),
    ]
    assert not admin.answers


def test_leaders_that_never_hear_of_a_new_topic_are_not_waited_for_without_end() -> None:
    admin = LateLeaders(*[UnknownTopicOrPartitionError()] * 100)
    with pytest.raises(SinkUnavailable, match="UnknownTopicOrPartitionError"):
        creator(admin, 0.1).ensure("shop.erp.orders")
    assert 0 < len(admin.answers) < 99

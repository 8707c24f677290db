"""Replicas are compared with the brokers that there are, also with those that are down.

Kafka without ZooKeeper gives replicas to brokers that are down; what stands here for the client
answers as a cluster with ZooKeeper does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kafka import errors
from structlog.testing import capture_logs

from connector.foundation.errors import ConnectorError, SinkRefused, SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import kafka_errors
from connector.stream.sink.checks import check_limits
from connector.stream.sink.connection import KAFKA_CLIENTS, KafkaClients
from connector.stream.sink.topics import TopicCreator
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode

SERVERS = "kafka-1:9092"


class OldAdmin:
    """A cluster of three brokers, two of which are up; a topic tells of the third."""

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1}, {"broker_id": 2}]}

    def describe_topics(self) -> list[dict[str, Any]]:
        return [{"name": "others", "partitions": [{"replica_nodes": [1, 2, 3]}]}]

    def list_topics(self) -> list[str]:
        return ["others"]

    def create_topics(self, topics: object, **_: object) -> None:
        del topics
        raise errors.InvalidReplicationFactorError

    def describe_configs(self, asked: list[Any], **_: object) -> dict[str, Any]:
        sizes = {"socket.request.max.bytes": 2**30, "transaction.max.timeout.ms": 900_000}
        return {
            "BROKER": {
                item.name: {name: {"value": str(size)} for name, size in sizes.items()}
                for item in asked
            }
        }

    def close(self) -> None:
        pass


CLIENTS: KafkaClients = replace(KAFKA_CLIENTS, open_admin=lambda **_: OldAdmin())


def settings(factor: int) -> KafkaSettings:
    return KafkaSettings(
        bootstrap_servers=[SERVERS], topic_prefix="shop", replication_factor=factor
    )


def test_a_start_warns_while_brokers_are_down() -> None:
    with capture_logs() as logs:
        check_limits(settings(3), CLIENTS)
    (log,) = logs
    assert log["event"] == text_of(kafka_errors.NO_TOPICS_NOW)
    assert (log["brokers_up"], log["brokers"], log["replication_factor"]) == (2, 3, 3)


def test_a_start_is_refused_where_the_cluster_is_too_small() -> None:
    with pytest.raises(SinkRefused) as caught:
        check_limits(settings(4), CLIENTS)
    assert caught.value.text == text_of(kafka_errors.REPLICAS, servers=SERVERS, factor=4, brokers=3)


@pytest.mark.parametrize(
    ("factor", "kind", "code", "values"),
    [
        (3, SinkUnavailable, kafka_errors.BROKERS_DOWN, {"up": 2, "brokers": 3}),
        (4, SinkRefused, kafka_errors.REPLICAS, {"brokers": 3}),
    ],
)
def test_a_new_topic_waits_for_brokers_that_are_down(
    factor: int, kind: type[ConnectorError], code: ErrorCode, values: dict[str, int]
) -> None:
    with pytest.raises(kind) as caught:
        TopicCreator(settings(factor), CLIENTS).ensure("shop.shop.t")
    assert caught.value.text == text_of(code, servers=SERVERS, factor=factor, **values)

"""What holds a topic up is named so that somebody can end it."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from connector.foundation.errors import SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.kafka_python import network_client
from connector.stream.sink import kafka_errors, recovery
from connector.stream.sink.connection import KAFKA_CLIENTS
from tests.integration.harness import make_topic

if TYPE_CHECKING:
    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka


def read_to_the_last(settings: KafkaSettings, topic: str) -> None:
    with recovery.opened_logs(settings, [topic], KAFKA_CLIENTS, to_the_last=True) as logs:
        log = logs[topic]
        list(log.read(log.begin, log.end))


@pytest.mark.broker("an end of a topic with records that are not on the disk")
def test_a_transaction_that_stays_open_is_named_by_the_offset_that_ends_it(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_IDLE_POLLS_MAX", 1)
    topic = f"open{uuid.uuid4().hex[:10]}"
    settings = KafkaSettings(bootstrap_servers=[kafka_broker.endpoint.bootstrap], topic_prefix="p")
    make_topic(kafka_broker.endpoint, topic)
    with closing(
        KafkaProducer(
            bootstrap_servers=kafka_broker.endpoint.bootstrap,
            kafka_client=network_client,
            transactional_id=topic,
            acks="all",
        )
    ) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"committed").get()
        producer.commit_transaction()
        producer.begin_transaction()
        began = producer.send(topic, b"open", partition=0).get().offset
        producer.send(topic, b"open", partition=0).get()
        with pytest.raises(SinkUnavailable) as caught:
            read_to_the_last(settings, topic)
        assert caught.value.message.code is kafka_errors.OPEN_TRANSACTION
        assert caught.value.message.facts == {
            "topic": topic,
            "partition": 0,
            "start": began,
            "end": began + 2,
        }
        assert caught.value.text.endswith(f"--topic {topic} --partition 0 --start-offset {began}")
        producer.abort_transaction()

"""The commands that the demo prints for a running stack."""

from __future__ import annotations

import subprocess
import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from connector.kafka.kafka_python import network_client
from connector.lake.demo.stack import console_consumer
from tests.integration.harness import make_topic

if TYPE_CHECKING:
    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka


@pytest.mark.broker("a port for the console consumer of the demo")
def test_the_console_consumer_goes_on_after_a_record_without_a_value(
    kafka_broker: KafkaBroker,
) -> None:
    topic, bootstrap = f"visit-{uuid.uuid4().hex[:8]}", kafka_broker.endpoint.bootstrap
    make_topic(kafka_broker.endpoint, topic)
    with closing(
        KafkaProducer(bootstrap_servers=bootstrap, kafka_client=network_client)
    ) as producer:
        producer.send(topic, key=b"gone", value=None)
        producer.send(topic, key=b"here", value=b"{}")
        producer.flush()
    with subprocess.Popen(
        ["env", "PYTHONUNBUFFERED=1", *console_consumer(bootstrap, topic)],
        stdout=subprocess.PIPE,
        text=True,
    ) as consumer:
        assert consumer.stdout is not None
        shown = [next(consumer.stdout), next(consumer.stdout)]
        consumer.terminate()
    assert "key=b'gone', value=None" in shown[0]
    assert "key=b'here', value=b'{}'" in shown[1]

"""The broker of these tests, which stop, kill and pause it, and sinks that write to it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink.kafka_sink import KafkaSink
from local_stack import KafkaBroker
from tests.integration.folder_broker import FolderBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def kafka_broker(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaBroker]:
    """A running Kafka broker; a test that stops it starts it again."""
    kind = FolderBroker if pytestconfig.getoption("--folder-log") else KafkaBroker
    with kind(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def prefix() -> str:
    """The prefix of a test's topics."""
    return f"sink{uuid.uuid4().hex[:8]}"


@pytest.fixture
def settings(kafka_broker: KafkaBroker, prefix: str) -> KafkaSettings:
    """The settings of sinks, unless a test changes them."""
    return KafkaSettings(
        bootstrap_servers=[kafka_broker.endpoint.bootstrap],
        topic_prefix=prefix,
        partitions=3,
        request_timeout_seconds=20,
    )


@pytest.fixture
def open_sink(settings: KafkaSettings) -> Iterator[Callable[..., KafkaSink]]:
    """Open sinks, and close them all at the end."""
    sinks = []

    def opened(
        instance: str = "a", in_flight_bytes_max: int = 1 << 20, **changed: object
    ) -> KafkaSink:
        sinks.append(
            KafkaSink(settings.model_copy(update=changed), "pipe", instance, in_flight_bytes_max)
        )
        return sinks[-1]

    yield opened
    for sink in sinks:
        sink.close()

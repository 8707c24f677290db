"""The broker of these tests, which stop, kill and pause it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import KafkaBroker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running Kafka broker; a test that stops it starts it again."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker

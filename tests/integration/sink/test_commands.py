"""Requests that travel by Kafka."""

from __future__ import annotations

import uuid
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import KafkaSettings
from connector.stream.commands.requests import RequestListener, write_command

if TYPE_CHECKING:
    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 30.0


# Three seconds are less than the client would wait for a request by default.
@pytest.mark.parametrize("request_timeout_seconds", [3, 30])
def test_a_pipeline_hears_what_it_is_asked_and_nothing_that_others_are(
    kafka_broker: KafkaBroker, request_timeout_seconds: float
) -> None:
    settings = KafkaSettings(
        bootstrap_servers=[kafka_broker.endpoint.bootstrap],
        topic_prefix=f"c{uuid.uuid4().hex[:8]}",
        request_timeout_seconds=request_timeout_seconds,
    )
    write_command(settings, "other", "snapshot", tables=["shop.a"])
    first = write_command(settings, "pipe", "snapshot", tables=["shop.b"])
    woken: SimpleQueue[None] = SimpleQueue()
    listener = RequestListener(settings, "pipe", 0, lambda: woken.put(None))
    try:
        heard = [listener.requests.get(timeout=PATIENCE_SECONDS)]
        second = write_command(settings, "pipe", "replay", table="shop.c")
        # The stream, which waits for its source, is told of each.
        for _ in range(2):
            woken.get(timeout=PATIENCE_SECONDS)
        heard.append(listener.requests.get_nowait())
    finally:
        listener.close()
    for _, request in heard:
        request.pop("asked_by")
    assert heard == [
        (first, {"command": "snapshot", "tables": ["shop.b"]}),
        (second, {"command": "replay", "table": "shop.c"}),
    ]

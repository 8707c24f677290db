"""Control topics that somebody else has created, in a form that would lose what is in them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient

from connector.foundation.errors import SinkRefused
from connector.stream.sink import kafka_errors
from connector.stream.sink.checks import inspect
from connector.stream.sink.connection import KAFKA_CLIENTS, client_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.settings.sections import KafkaSettings
    from connector.stream.sink.kafka_sink import KafkaSink

pytestmark = pytest.mark.kafka

CONTROL = ("progress", "schema", "snapshot", "fences", "commands", "quarantine")
COMPACTED = CONTROL[:4]
WEEK_MS = "604800000"
COMPACT = {"cleanup.policy": "compact"}


def create(settings: KafkaSettings, suffix: str, partitions: int, configs: dict[str, str]) -> str:
    topic = f"{settings.topic_prefix}.{suffix}"
    description: dict[str, Any] = {
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": configs,
    }
    with closing(KafkaAdminClient(**client_settings(settings))) as admin:
        admin.create_topics({topic: description}, wait_for_metadata=True)
    return topic


def refusals(settings: KafkaSettings, open_sink: Callable[..., KafkaSink]) -> list[SinkRefused]:
    """Return what a start says, and what a check says before it."""
    found = []
    for attempt in (lambda: inspect(settings, "pipe"), open_sink):
        with pytest.raises(SinkRefused) as caught:
            attempt()
        found.append(caught.value)
    return found


@pytest.mark.parametrize("suffix", [suffix for suffix in CONTROL if suffix != "commands"])
def test_a_control_topic_has_one_partition(
    settings: KafkaSettings, open_sink: Callable[..., KafkaSink], suffix: str
) -> None:
    topic = create(settings, suffix, 3, COMPACT if suffix in COMPACTED else {})
    for refused in refusals(settings, open_sink):
        assert refused.message.code is kafka_errors.CONTROL_PARTITIONS
        assert refused.message.facts["topic"] == topic
        assert refused.message.facts["partitions"] == 3


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
@pytest.mark.parametrize("suffix", COMPACTED)
def test_kafka_may_not_delete_what_the_next_start_needs(
    settings: KafkaSettings, open_sink: Callable[..., KafkaSink], suffix: str, policy: str
) -> None:
    # The broker of tests keeps records for ever, others for a week.
    topic = create(settings, suffix, 1, {"cleanup.policy": policy, "retention.ms": WEEK_MS})
    for refused in refusals(settings, open_sink):
        assert refused.message.code is kafka_errors.NOT_COMPACTED
        assert (refused.message.facts["topic"], refused.message.facts["policy"]) == (topic, policy)


@pytest.mark.parametrize(
    "configs",
    [COMPACT, {"cleanup.policy": "compact,delete", "retention.ms": "-1", "retention.bytes": "-1"}],
)
def test_topics_that_lose_nothing_are_taken_as_they_are(
    settings: KafkaSettings, open_sink: Callable[..., KafkaSink], configs: dict[str, str]
) -> None:
    for suffix in CONTROL:
        # Requests are written to the first partition alone.
        partitions = 3 if suffix == "commands" else 1
        create(settings, suffix, partitions, configs if suffix in COMPACTED else {})
    assert open_sink().recover() == inspect(settings, "pipe")


def test_a_broker_that_does_not_know_who_may_write_is_inspected(
    settings: KafkaSettings, open_sink: Callable[..., KafkaSink]
) -> None:
    """Kafka tells it since 2.3; a client of 2.1 does not ask."""
    recovered = open_sink().recover()
    clients = replace(KAFKA_CLIENTS, open_admin=partial(KafkaAdminClient, api_version=(2, 1)))
    assert inspect(settings, "pipe", clients) == recovered

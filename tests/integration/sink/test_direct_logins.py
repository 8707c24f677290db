"""Transactions are committed through TLS and logins, too, and no wait there is without end."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SinkUnavailable
from connector.foundation.operating_system import Background
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.metrics.kafka_watch import KafkaWatch
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress.progress_record import progress_topic
from connector.stream.sink.kafka_sink import KafkaSink
from stream_jobs.errors import MirrorError
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import BrokerConfig
from tests.integration.harness import wait_until
from tests.integration.sink.commits import PROGRESS, commit, publish
from tests.integration.sink.test_direct_commits import LARGE, SMALL, delivered, warm
from tests.integration.sink.test_large_commits import standing_still
from tests.integration.start.kafka_doors import PASSWORD, USER, open_doors
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.start.kafka_doors import Doors

pytestmark = pytest.mark.kafka

LOGIN = {"sasl_mechanism": "PLAIN", "sasl_username": USER, "sasl_password": PASSWORD}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with open_doors(tmp_path_factory.mktemp("doors")) as doors:
        yield doors


def settings(doors: Doors, door: str, prefix: str) -> KafkaSettings:
    """Return the settings for one of the listeners."""
    protocols = {"TLS": "SSL", "LOGIN": "SASL_PLAINTEXT", "TLS_LOGIN": "SASL_SSL"}
    values: dict[str, Any] = {
        "bootstrap_servers": [doors.address(door)],
        "topic_prefix": prefix,
        "security_protocol": protocols[door],
    }
    if "TLS" in door:
        values["ssl_ca"] = doors.authority
    if "LOGIN" in door:
        values |= LOGIN
    return KafkaSettings.model_validate(values)


@pytest.mark.parametrize("door", ["TLS", "LOGIN", "TLS_LOGIN"])
def test_transactions_go_through_every_door(doors: Doors, door: str, prefix: str) -> None:
    sink = KafkaSink(settings(doors, door, prefix), "pipe", "a", 1 << 20)
    try:
        warm(sink, prefix)
        for number in range(3):
            # Of more bytes than one record of TLS, and than one receive.
            publish(sink, prefix, range(number, number + 1), size=50_000)
            commit(sink, PROGRESS)
        publish(sink, prefix, range(3, 20), size=50_000)
        commit(sink, PROGRESS)
        assert delivered(doors.broker, prefix) == list(range(20))
    finally:
        sink.close()


# The client forgets the socket of a handshake that takes too long without closing it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@full_only
def test_nobody_waits_without_end_for_a_broker_that_stands_still(doors: Doors, prefix: str) -> None:
    sinks = []
    own = settings(doors, "TLS", prefix).model_copy(
        update={"request_timeout_seconds": 4, "transaction_timeout_seconds": 10}
    )
    for name, size in (("small", SMALL), ("large", LARGE)):
        sinks.append(KafkaSink(own, name, "a", 1 << 20))
        warm(sinks[-1], prefix)
        publish(sinks[-1], prefix, range(3), size)
    place = progress_topic(own.topic_prefix), 0
    facts = BrokerConfig(tuple(own.bootstrap_servers), 4, tuple(own.login_arguments().items()))
    metrics = PipelineMetrics("pipe")
    # What waits without end does so until the broker goes on.
    with ThreadPoolExecutor() as pool, closing(KafkaClient(facts)) as mirror:
        mirror.fetch({place: 0})
        watch = KafkaWatch(own, metrics)
        try:
            wait_until(lambda: metrics.kafka.up, metrics.kafka.words)
            with standing_still(doors.broker):
                commits = [pool.submit(commit, sink, PROGRESS) for sink in sinks]
                fetches = [pool.submit(mirror.fetch, {place: 0}) for _ in range(2)]
                for committed in commits:
                    assert isinstance(committed.exception(timeout=60), SinkUnavailable)
                for fetched in fetches:
                    assert isinstance(fetched.exception(timeout=60), MirrorError)
                wait_until(lambda: metrics.kafka.lost, metrics.kafka.words)
                for sink in sinks:
                    pool.submit(sink.close).result(timeout=60)
        finally:
            # It may be opening a connection; the client forgets that socket, too.
            Background.close(watch)
            for sink in sinks:
                sink.close()
    gc.collect()

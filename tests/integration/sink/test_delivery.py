"""How batches reach a real broker: compressed, split, dropped, and lost."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient

from connector.foundation.errors import RecordTooLarge, SinkUnavailable
from connector.kafka.kafka_python import network_client
from connector.stream.sink import kafka_errors
from connector.stream.sink.recovery import RecoveredState
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until_settled
from tests.integration.sink.commits import PROGRESS, commit, delivered, keys, publish

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.stream.sink.kafka_sink import KafkaSink
    from local_stack import KafkaBroker

    Open = Callable[..., KafkaSink]

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip", "none"])
def test_whole_batches_are_delivered_with_every_compression(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker, compression: str
) -> None:
    sink = open_sink(compression=compression)
    publish(sink, prefix, range(500))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(500))
    assert sink.in_flight_bytes == 0


def test_batches_that_a_topic_does_not_take_are_split(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink(compression="none", in_flight_bytes_max=50_000)
    # After the sink has looked at the limits of topics.
    create_topic(kafka_broker, f"{prefix}.db.t", record_bytes=2000)
    publish(sink, prefix, range(1000))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(1000))
    publish(sink, prefix, range(1000, 2000))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(2000))


def test_a_record_that_a_topic_does_not_take_is_refused(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    topic = f"{prefix}.db.t"
    sink = open_sink(compression="none")
    create_topic(kafka_broker, topic, record_bytes=2000)
    publish(sink, prefix, range(10))
    publish(sink, prefix, range(10, 11), size=3000)
    with pytest.raises(SinkUnavailable) as unknown:
        commit(sink, PROGRESS)
    assert unknown.value.text == text_of(
        kafka_errors.CHANGED_LIMITS,
        servers=kafka_broker.endpoint.bootstrap,
        topics=[f"{topic} (2000)"],
    )
    sink.abort()
    assert keys(kafka_broker, prefix) == []
    sink = open_sink(compression="none")
    publish(sink, prefix, range(10))
    with pytest.raises(RecordTooLarge) as known:
        publish(sink, prefix, range(10, 11), size=3000)
    assert known.value.text.endswith(
        f": cannot write to topic {topic}: a record is larger than Kafka takes; raise "
        "kafka.record_bytes_max, and max.message.bytes of the topic if it existed before"
    )
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(10))


def test_what_was_not_committed_may_be_dropped_while_it_is_under_way(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink()
    publish(sink, prefix, range(100), size=20_000)
    sink.abort()
    publish(sink, prefix, range(100, 110))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(100, 110))


def test_a_batch_whose_time_runs_out_takes_its_transaction_with_it(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    # On a busy machine, the abort may find no broker in time; then Kafka aborts after 20 s.
    sink = open_sink(request_timeout_seconds=1, transaction_timeout_seconds=20)
    publish(sink, prefix, range(5))
    commit(sink, PROGRESS)
    # While the broker stands still, the batches that come now get no answer.
    os.kill(kafka_broker.pid, signal.SIGSTOP)
    try:
        publish(sink, prefix, range(5, 10))
        sink.target.flush()
        time.sleep(2)
    finally:
        os.kill(kafka_broker.pid, signal.SIGCONT)
    with pytest.raises(SinkUnavailable):
        commit(sink, PROGRESS)
    sink.abandon()
    sink.close()
    wait_until_settled(kafka_broker.endpoint, prefix)
    # A broker that stood still leads nothing for a while, on a busy machine for long.
    recovered = open_sink(request_timeout_seconds=60).recover()
    assert recovered == RecoveredState(PROGRESS, {}, {}, {}, has_run=True)
    assert keys(kafka_broker, prefix) == list(range(5))


def test_a_sink_is_closed_although_its_broker_stands_still(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    # So long waits what ends the transaction.
    sink = open_sink(request_timeout_seconds=3)
    publish(sink, prefix, range(5))
    commit(sink, PROGRESS)
    os.kill(kafka_broker.pid, signal.SIGSTOP)
    try:
        publish(sink, prefix, range(5, 300), size=1000)
        sink.target.flush()
        assert sink.in_flight_bytes
        sink.abandon()
        sink.close()
        assert sink.in_flight_bytes == 0
    finally:
        os.kill(kafka_broker.pid, signal.SIGCONT)
    # A broker that stood still leads nothing for a while, on a busy machine for long.
    commit(open_sink(request_timeout_seconds=60), PROGRESS)
    assert keys(kafka_broker, prefix) == list(range(5))


def create_topic(broker: KafkaBroker, topic: str, record_bytes: int) -> None:
    admin = KafkaAdminClient(
        bootstrap_servers=broker.endpoint.bootstrap, kafka_client=network_client
    )
    try:
        description = {
            "num_partitions": 1,
            "replication_factor": 1,
            "configs": {"max.message.bytes": str(record_bytes), "retention.ms": "-1"},
        }
        admin.create_topics({topic: description}, wait_for_metadata=True)
    finally:
        admin.close()

"""Kafka transactions, progress and fencing, against a real broker."""

from __future__ import annotations

import random
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from connector.foundation.errors import (
    DecodeError,
    RecordTooLarge,
    SinkRefused,
    SinkUnavailable,
    Superseded,
    TopicRefused,
)
from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import connection_errors
from connector.kafka.kafka_python import network_client
from connector.stream.progress import progress_errors
from connector.stream.sink import kafka_errors
from connector.stream.sink.connection import KAFKA_CLIENTS, client_settings, consumer_settings
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.sink.recovery import RecoveredState, read_progress, recover
from local_stack.server import free_port
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.sink.commits import commit, delivered, keys, progress, publish
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_stack import KafkaBroker

    Open = Callable[..., KafkaSink]

pytestmark = pytest.mark.kafka

IN_FLIGHT_BYTES_MAX = 1 << 20


def test_a_new_pipeline_has_no_progress(open_sink: Open) -> None:
    assert open_sink("a").recover() == RecoveredState(None, {}, {}, {})


def test_records_become_visible_with_their_progress(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink("a")
    for number in range(50):
        publish(sink, settings.topic_prefix, [number])
    assert keys(kafka_broker, settings.topic_prefix) == []
    assert read_progress(settings, "pipe") is None
    commit(sink, progress("a", 900))
    assert delivered(kafka_broker, settings.topic_prefix) == list(range(50))
    assert sink.recover() == RecoveredState(progress("a", 900), {}, {}, {}, has_run=True)


def test_what_is_abandoned_holds_back_nobody(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink("a")
    sink.abandon()  # without a transaction
    publish(sink, settings.topic_prefix, [1])
    commit(sink, progress("a"))
    publish(sink, settings.topic_prefix, [2])
    sink.target.flush()
    wait_until(lambda: sink.in_flight_bytes == 0, lambda: "the batch is not acknowledged")
    sink.abandon()
    sink.close()
    # Long before the transaction's time is up.
    assert delivered(kafka_broker, settings.topic_prefix) == [1]


def test_what_was_aborted_is_never_seen(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink("a")
    publish(sink, settings.topic_prefix, [1])
    sink.abort()
    publish(sink, settings.topic_prefix, [2])
    commit(sink, progress("a"))
    assert delivered(kafka_broker, settings.topic_prefix) == [2]


def test_the_last_progress_of_this_pipeline_is_found_among_others(
    settings: KafkaSettings, open_sink: Open
) -> None:
    sink = open_sink("a")
    commit(sink, progress("a", 111))
    other = KafkaSink(settings, "other", "b", IN_FLIGHT_BYTES_MAX)
    for position in range(4, 250):
        commit(other, progress("b", position))
    other.close()
    found = read_progress(settings, "pipe")
    assert found is not None
    assert found.position == 111


def test_a_new_pipeline_begins_after_the_epochs_of_all_that_wrote_to_its_topics(
    settings: KafkaSettings, open_sink: Open
) -> None:
    for name, epochs in (("reset", [1, 3]), ("older", [2] * 250), ("removed", [4])):
        other = KafkaSink(settings, name, "b", IN_FLIGHT_BYTES_MAX)
        for epoch in epochs:
            commit(other, replace(progress("b"), epoch=epoch))
        other.close()
    remove_progress(settings, "removed")
    recovered = open_sink("a").recover()
    assert (recovered.progress, recovered.first_epoch) == (None, 5)


def test_what_was_committed_after_what_another_pipeline_left_open_is_waited_for(
    settings: KafkaSettings, open_sink: Open
) -> None:
    commit(open_sink("a"), progress("a", 111))
    other = KafkaSink(settings, "other", "b", IN_FLIGHT_BYTES_MAX)
    # As far as a process comes that dies within a commit.
    left = progress("b").encode(settings.topic_prefix, "other")
    other.target.take(left.topic, left.key, left.value, NO_HEADERS, left.timestamp_ms)
    other.target.flush()
    while other.in_flight_bytes:
        time.sleep(0.01)
    commit(open_sink("a"), progress("a", 222))

    class Late(KafkaConsumer):  # type: ignore[misc]  # the library has no types
        """Reads, and only then the transaction ends."""

        def poll(self, **arguments: Any) -> Any:
            other.abort()
            return super().poll(**arguments)

    recovered = recover(settings, "pipe", replace(KAFKA_CLIENTS, open_consumer=Late))
    assert recovered.progress == progress("a", 222)
    other.close()


def test_a_pipeline_does_not_begin_again_because_somebody_has_removed_its_progress(
    settings: KafkaSettings, open_sink: Open
) -> None:
    sink = open_sink("a")
    commit(sink, progress("a", 50))
    commit(sink, replace(progress("a", 60), epoch=2))
    remove_progress(settings, "pipe")
    with pytest.raises(SinkRefused) as caught:
        open_sink("a").recover()
    assert caught.value.message.code is kafka_errors.NO_POSITION
    # What the error asks for.
    with closing(KafkaSink(settings, "another", "b", IN_FLIGHT_BYTES_MAX)) as another:
        recovered = another.recover()
    assert (recovered.progress, recovered.first_epoch) == (None, 3)


def test_the_epoch_of_another_version_is_refused(settings: KafkaSettings, open_sink: Open) -> None:
    open_sink("a").close()
    topic = f"{settings.topic_prefix}.fences"
    with closing(KafkaProducer(**client_settings(settings))) as producer:
        producer.send(topic, b"{}", key=b"/pipe").get(10)
    with pytest.raises(DecodeError) as caught:
        open_sink("a").recover()
    assert caught.value.message.code is progress_errors.EPOCH


def test_the_epoch_of_another_pipeline_matters_only_to_one_that_begins(
    settings: KafkaSettings, open_sink: Open
) -> None:
    commit(open_sink("a"), progress("a", 50))
    topic = f"{settings.topic_prefix}.fences"
    with closing(KafkaProducer(**client_settings(settings))) as producer:
        producer.send(topic, b"{}", key=b"/another").get(10)
    recovered = open_sink("a").recover()
    assert (recovered.progress, recovered.has_run) == (progress("a", 50), True)


def remove_progress(settings: KafkaSettings, name: str) -> None:
    """Write what compaction takes for a removal, as a person would."""
    producer = KafkaProducer(**client_settings(settings))
    producer.send(f"{settings.topic_prefix}.progress", None, key=name.encode()).get(10)
    producer.close()


@pytest.mark.broker("topics that are made when a client asks for them")
def test_a_consumer_does_not_make_the_topic_that_it_asks_for(settings: KafkaSettings) -> None:
    topic = f"{settings.topic_prefix}.missing"
    with closing(KafkaAdminClient(**client_settings(settings))) as admin:
        with closing(KafkaConsumer(**consumer_settings(settings))) as consumer:
            assert not consumer.partitions_for_topic(topic)
        assert topic not in admin.list_topics()
        # The broker would: it is the client that has to say no.
        with closing(KafkaConsumer(bootstrap_servers=settings.bootstrap_servers)) as consumer:
            consumer.subscribe([topic])
            wait_until(
                lambda: bool(consumer.poll(100)) or topic in admin.list_topics(),
                lambda: "the broker did not make the topic",
            )


def test_a_producer_does_not_make_a_topic_again_that_somebody_has_deleted(
    open_sink: Open, settings: KafkaSettings
) -> None:
    sink = open_sink("a")
    producer: Any = sink._producer
    publish(sink, settings.topic_prefix, [0])
    commit(sink, progress("a"))
    topic = f"{settings.topic_prefix}.db.t"
    with closing(
        KafkaAdminClient(bootstrap_servers=settings.bootstrap_servers, kafka_client=network_client)
    ) as admin:
        admin.delete_topics([topic])
        wait_until(lambda: topic not in admin.list_topics(), lambda: f"{topic} is not deleted")
        producer._cluster.refresh([topic])
        assert topic not in admin.list_topics()
        # The next instance makes it with the number of partitions of the settings.
        sink.close()
        publish(open_sink("b"), settings.topic_prefix, [0])
        (made,) = admin.describe_topics([topic])
        assert len(made["partitions"]) == settings.partitions


def test_many_topics_are_created_at_once_without_those_that_kafka_refuses(
    open_sink: Open, prefix: str
) -> None:
    sink = open_sink()
    names = [f"{prefix}.shop.t_{number}" for number in range(4)]
    assert sink.partition_count(names[0]) == 3
    # Kafka takes it for the name of the first one.
    refused = f"{prefix}.shop.t.0"
    assert not sink.has_topics([*names, refused])
    wait_until(lambda: sink.has_topics([*names, refused]), lambda: str(sink.used_topics))
    assert {*names} <= {*sink.used_topics}
    assert refused not in sink.used_topics
    assert [sink.partition_count(name) for name in names] == [3] * 4
    with pytest.raises(TopicRefused):
        sink.partition_count(refused)


def test_what_fails_before_the_first_commit_is_no_other_instance(
    open_sink: Open,
) -> None:
    commit(open_sink("old"), progress("old", 50))
    sink = open_sink("new")
    sink.recover()
    # It takes the id over, as Kafka itself does where a transaction takes too long.
    open_sink("other")
    with pytest.raises(SinkUnavailable) as caught:
        commit(sink, progress("new", 50))
    assert caught.value.superseded
    assert caught.value.code is kafka_errors.SUPERSEDED
    assert f"transactional id {sink.transactional_id} and has not" in caught.value.text


def test_an_instance_does_not_take_back_what_another_has_taken_over(open_sink: Open) -> None:
    commit(open_sink("old"), progress("old", 50))
    commit(open_sink("new"), progress("new", 50))
    with pytest.raises(Superseded) as caught:
        open_sink("old").recover(claimed=True)
    assert caught.value.text == (
        "pipeline pipe: another instance took over (process 77 on there, instance new); stop one "
        "of the two, or give this one another name"
    )


def test_a_new_instance_drops_what_the_old_one_left_open_and_fences_it(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    old = open_sink("old")
    commit(old, progress("old", 50))
    publish(old, settings.topic_prefix, [1])
    new = open_sink("new")
    last = new.recover().progress
    assert last is not None
    assert last.position == 50
    commit(new, progress("new", 50))
    with pytest.raises(Superseded) as caught:
        commit(old, progress("old", 99))
    assert caught.value.text == (
        "pipeline pipe: another instance took over (process 77 on there, instance new); stop one "
        "of the two, or give this one another name"
    )
    publish(new, settings.topic_prefix, [2])
    commit(new, progress("new", 99))
    assert delivered(kafka_broker, settings.topic_prefix) == [2]


def test_memory_is_bounded_while_a_transaction_is_larger_than_the_limit(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink("a")
    for number in range(60):
        publish(sink, settings.topic_prefix, [number], size=100_000)
        assert sink.in_flight_bytes <= IN_FLIGHT_BYTES_MAX
    commit(sink, progress("a"))
    assert delivered(kafka_broker, settings.topic_prefix) == list(range(60))


def test_a_record_above_the_limit_is_refused_with_the_setting_to_raise(
    settings: KafkaSettings, open_sink: Open
) -> None:
    sink = open_sink("a", record_bytes_max=100_000)
    with pytest.raises(SinkRefused) as caught:
        publish(sink, settings.topic_prefix, [1], size=200_000)
    where = f"kafka {settings.bootstrap_servers[0]}"
    assert caught.value.text == (
        f"{where}: cannot write to topic {settings.topic_prefix}.db.t: a record is larger than "
        "Kafka takes; raise kafka.record_bytes_max, and max.message.bytes of the topic if it "
        "existed before"
    )


def test_the_largest_record_that_is_not_refused_is_delivered(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    # Of text that compression makes no smaller, but larger.
    sink = open_sink("a", record_bytes_max=2_000_000)
    text = b64encode(random.Random(7).randbytes(2_000_000))
    topic, key, headers = f"{settings.topic_prefix}.db.t", b'{"id":1}', b"\x02\x0ecdc.seq\x021"
    overhead = len(key) + len(headers) + 2 + 61 + 31
    with pytest.raises(RecordTooLarge):
        sink.target.take(topic, key, b'"%b"' % text[: 2_000_001 - overhead], headers, 0)
    sink.target.take(topic, key, b'"%b"' % text[: 2_000_000 - overhead], headers, 0)
    commit(sink, progress("a"))
    assert delivered(kafka_broker, settings.topic_prefix) == [1]


def test_too_many_replicas_are_refused_with_the_setting_to_lower(open_sink: Open) -> None:
    with pytest.raises(SinkRefused) as caught:
        open_sink("a", replication_factor=3)
    assert caught.value.text.endswith(
        ": kafka.replication_factor is 3, above the number of brokers, 1; lower it"
    )


@pytest.mark.broker("a limit of the time of transactions")
def test_a_transaction_timeout_above_the_brokers_limit_is_refused(open_sink: Open) -> None:
    with pytest.raises(SinkRefused) as caught:
        open_sink("a", transaction_timeout_seconds=3600.0)
    assert caught.value.text.endswith(
        "kafka.transaction_timeout_seconds is above the brokers' transaction.max.timeout.ms; "
        "lower the one or raise the other"
    )


def test_a_broker_that_is_not_there_is_unavailable(settings: KafkaSettings) -> None:
    port = free_port()
    absent = settings.model_copy(
        update={"bootstrap_servers": [f"127.0.0.1:{port}"], "request_timeout_seconds": 0.5}
    )
    with pytest.raises(SinkUnavailable) as caught:
        KafkaSink(absent, "pipe", "a", IN_FLIGHT_BYTES_MAX)
    assert caught.value.code is connection_errors.NO_CONNECTION
    assert f"kafka 127.0.0.1:{port}: cannot connect: Connection refused" in caught.value.text


@full_only
def test_a_commit_succeeds_across_a_restart_of_the_broker(
    settings: KafkaSettings, open_sink: Open, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink("a", transaction_timeout_seconds=30)
    publish(sink, settings.topic_prefix, [1])
    commit(sink, progress("a"))
    # A broker that is alone and killed before it has marked a commit never marks it.
    wait_until_settled(kafka_broker.endpoint, settings.topic_prefix)
    kafka_broker.kill()
    with ThreadPoolExecutor(1) as pool:
        # Its partitions are to be added to the transaction while nobody answers.
        publish(sink, settings.topic_prefix, [2])
        committed = pool.submit(commit, sink, progress("a", 900))
        kafka_broker.start()
        committed.result()

    assert delivered(kafka_broker, settings.topic_prefix) == [1, 2]
    assert read_progress(settings, "pipe") == progress("a", 900)

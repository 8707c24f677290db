"""Every client of the product works with the server of a folder, which is this process."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, TransactionState
from kafka.errors import (
    InvalidReplicationFactorError,
    InvalidTopicError,
    KafkaError,
    NoError,
    TopicAlreadyExistsError,
    TransactionalIdNotFoundError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata

from connector.kafka import transaction_requests
from connector.kafka.failures import Action, action_of
from connector.kafka.folder import door, partition_requests
from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.source import client, offset_requests
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import BrokerConfig, OffsetRange
from tests.foundation.errors.texts import text_of
from tests.kafka.folder import folder_clients
from tests.kafka.folder.folder_clients import (
    PARTITIONS,
    TOPIC,
    admin_of,
    batch_of,
    commit,
    consumer_of,
    create,
    producer_of,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from connector.kafka.producer import TransactionalProducer

ROOM = 1 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that this process serves."""
    yield tmp_path
    door.close()


def mirror_of(folder: Path) -> KafkaClient:
    return KafkaClient(BrokerConfig((folder_clients.url_of(folder),), 5.0, ()))


def test_each_request_with_one_version_has_that_of_our_clients() -> None:
    ours = transaction_requests.VERSIONS | offset_requests.VERSIONS
    assert ours == partition_requests.VERSIONS


def test_a_transaction_is_seen_when_it_is_committed_and_never_when_it_is_aborted(
    folder: Path,
) -> None:
    create(folder)
    with closing_now(producer_of(folder)) as producer:
        producer.deliver(batch_of([b"1", b"2"]), ROOM)
        producer.wake()
        wait_until(lambda: not producer.in_flight_bytes)
        assert read(folder) == [[], []]
        producer.start_commit()
        producer.finish_commit()
        assert read(folder) == [[b"1", b"2"], []]

        producer.deliver(batch_of([b"3"]), ROOM)
        producer.wake()
        wait_until(lambda: not producer.in_flight_bytes)
        producer.abort_transaction()
        assert read(folder) == [[b"1", b"2"], []]
        assert read(folder, isolation_level="read_uncommitted")[0] == [b"1", b"2", b"3"]
    with closing_now(producer_of(folder)) as producer:
        commit(producer, batch_of([b"4"]), batch_of([b"5"], partition=1))
    assert read(folder) == [[b"1", b"2", b"4"], [b"5"]]


def test_a_large_transaction_with_many_batches_of_a_partition_is_whole(folder: Path) -> None:
    create(folder)
    values = [b"%d" % number * 20_000 for number in range(60)]
    with closing_now(producer_of(folder)) as producer:
        commit(producer, *(batch_of([value]) for value in values))
    assert read(folder) == [values, []]


def test_a_batch_that_is_too_large_for_its_topic_is_halved(folder: Path) -> None:
    create(folder, **{"max.message.bytes": "30000"})
    values = [bytes([number]) + random_bytes(9000) for number in range(8)]
    with closing_now(producer_of(folder)) as producer:
        commit(producer, batch_of(values))
    assert read(folder) == [values, []]


def test_an_older_producer_of_the_same_name_is_fenced(folder: Path) -> None:
    create(folder)
    with closing_now(producer_of(folder)) as old, closing_now(producer_of(folder)) as new:
        with pytest.raises(KafkaError) as refused:
            commit(old, batch_of([b"old"]))
        assert action_of(refused.value) is Action.FENCE
        commit(new, batch_of([b"new"]))
    assert read(folder) == [[b"new"], []]


def test_a_producer_without_transactions_writes_what_a_consumer_waits_for(folder: Path) -> None:
    create(folder)
    place = TopicPartition(TOPIC, 1)
    with (
        closing(KafkaProducer(**folder_clients.settings_of(folder), acks="all")) as producer,
        closing(consumer_of(folder)) as consumer,
    ):
        consumer.assign([place])
        assert consumer.poll(timeout_ms=10) == {}
        assert producer.send(TOPIC, b"1", partition=1).get(5).offset == 0
        (record,) = consumer.poll(timeout_ms=5000)[place]
        assert record.value == b"1"
        assert producer.send(TOPIC, b"2", partition=1).get(5).offset == 1
        (record,) = consumer.poll(timeout_ms=5000)[place]
        assert (record.value, record.offset) == (b"2", 1)


def test_an_admin_client_manages_topics(folder: Path) -> None:
    create(folder)
    description = {"num_partitions": 1, "replication_factor": 1}
    with closing(admin_of(folder)) as admin:
        assert admin.list_topics() == [TOPIC]
        for name, changed, error in (
            (TOPIC, {}, TopicAlreadyExistsError),
            ("other", {"replication_factor": 2}, InvalidReplicationFactorError),
            ("a/b", {}, InvalidTopicError),
        ):
            with pytest.raises(error):
                admin.create_topics({name: description | changed}, validate_only=True)
        admin.create_topics({"other": description}, validate_only=True)
        assert admin.list_topics() == [TOPIC]

        assert settings_of_topic(admin, TOPIC)["retention.ms"] == "-1"
        longer = ConfigResource(ConfigResourceType.TOPIC, TOPIC, {"retention.ms": "3600000"})
        admin.alter_configs([longer])
        assert settings_of_topic(admin, TOPIC) == {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "max.message.bytes": "1048588",
            "retention.bytes": "-1",
            "retention.ms": "3600000",
        }

        admin.create_partitions({TOPIC: PARTITIONS + 1})
        (described,) = admin.describe_topics([TOPIC])
        assert len(described["partitions"]) == PARTITIONS + 1

        admin.delete_topics([TOPIC])
        assert admin.list_topics() == []
        with pytest.raises(UnknownTopicOrPartitionError):
            admin.delete_topics([TOPIC])


def settings_of_topic(admin: Any, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    (answer,) = admin.describe_configs([resource], config_filter="all").values()
    return {name: each["value"] for name, each in answer[topic].items()}


def test_deleted_records_are_gone_for_consumers_and_for_the_mirror(folder: Path) -> None:
    create(folder)
    place = TopicPartition(TOPIC, 0)
    with closing_now(producer_of(folder)) as producer:
        for number in range(4):
            commit(producer, batch_of([b"%d" % number]))
    with closing(admin_of(folder)) as admin:
        # After each record comes the marker of its transaction.
        admin.delete_records({place: 4})
    assert read(folder) == [[b"2", b"3"], []]
    with closing(mirror_of(folder)) as mirror:
        assert mirror.first_offsets([(TOPIC, 0)]) == {(TOPIC, 0): 4}
        with pytest.raises(MirrorError, match="M"):
            mirror.fetch({(TOPIC, 0): 2})


def test_the_mirror_reads_ranges_and_sees_open_transactions(folder: Path) -> None:
    create(folder)
    places = [(TOPIC, 0), (TOPIC, 1)]
    with closing_now(producer_of(folder)) as producer, closing(mirror_of(folder)) as mirror:
        commit(producer, batch_of([b"1"]), batch_of([b"2"], partition=1))
        assert mirror.partition_counts() == {TOPIC: PARTITIONS}
        assert mirror.partitions(TOPIC) == [(TOPIC, number) for number in range(PARTITIONS)]
        assert mirror.partitions("unknown") == []
        assert mirror.end_offsets(places) == {(TOPIC, 0): 2, (TOPIC, 1): 2}
        assert not mirror.have_open_transactions(places)
        ranges = [OffsetRange(TOPIC, 0, 0, 2), OffsetRange(TOPIC, 1, 0, 2)]
        found = {span.partition: columns.values for span, columns in mirror.read_ranges(ranges)}
        assert found == {0: [b"1"], 1: [b"2"]}

        producer.deliver(batch_of([b"3"]), ROOM)
        producer.wake()
        wait_until(lambda: mirror.have_open_transactions(places))
        assert mirror.end_offsets(places) == {(TOPIC, 0): 2, (TOPIC, 1): 2}
        (fetched,) = mirror.fetch_open((TOPIC, 0), 2)
        assert fetched.data
        producer.abort_transaction()
        assert not mirror.have_open_transactions(places)


def test_the_mirror_does_not_wait_for_records_that_the_log_has_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_STALLED_SECONDS", 0.2)
    create(folder)
    with closing_now(producer_of(folder)) as producer, closing(mirror_of(folder)) as mirror:
        commit(producer, batch_of([b"1", b"2"]))
        end = mirror.end_offsets([(TOPIC, 0)])[TOPIC, 0]
        # It was planned before the loss.
        with pytest.raises(MirrorError) as lost:
            list(mirror.read_ranges([OffsetRange(TOPIC, 0, 0, end + 2)]))
        facts = {"topic": TOPIC, "partition": 0, "offset": end + 2, "end": end}
        assert lost.value.text == text_of(record_errors.TOPIC_SHORTER, **facts)

        # Records of a transaction that has not ended are there.
        producer.deliver(batch_of([b"3"]), ROOM)
        producer.wake()
        wait_until(lambda: mirror.have_open_transactions([(TOPIC, 0)]))
        refuse_lost = KafkaClient._refuse_lost

        def look(mirror: KafkaClient, ranges: Mapping[tuple[str, int], OffsetRange]) -> None:
            refuse_lost(mirror, ranges)
            producer.abort_transaction()

        monkeypatch.setattr(KafkaClient, "_refuse_lost", look)
        wanted = OffsetRange(TOPIC, 0, end, end + 1)
        ((found, columns),) = mirror.read_ranges([wanted])
        assert (found, columns.values) == (wanted, [])


def test_a_topic_that_is_made_again_has_another_id(folder: Path) -> None:
    create(folder)
    with closing(mirror_of(folder)) as mirror, closing(admin_of(folder)) as admin:
        first = mirror.topic_ids([TOPIC, "absent"])
        assert first.keys() == {TOPIC}
        assert mirror.topic_ids([TOPIC]) == first
        admin.delete_topics([TOPIC])
        assert mirror.topic_ids([TOPIC]) == {}
        create(folder)
        assert mirror.topic_ids([TOPIC]) != first


def test_the_mirror_waits_for_the_next_record_of_many_topics(folder: Path) -> None:
    topics = [f"shop.erp.t{number}" for number in range(50)]
    create(folder, *topics)
    positions = {(topic, number): 0 for topic in topics for number in range(PARTITIONS)}
    with closing_now(producer_of(folder)) as producer, closing(mirror_of(folder)) as mirror:
        assert not mirror.wait(positions, 0.05)
        late = threading.Timer(0.3, commit, (producer, batch_of([b"1"], topics[7], 1)))
        begun = time.monotonic()
        late.start()
        assert mirror.wait(positions, 10)
        assert 0.2 < time.monotonic() - begun < 5
        late.join()
        # It is still there; after it, nothing is.
        assert mirror.wait(positions, 5)
        positions[topics[7], 1] = 2
        assert not mirror.wait(positions, 0.05)
        del positions[topics[8], 0]
        commit(producer, batch_of([b"1"], topics[8], 0))
        assert not mirror.wait(positions, 0.05)


def test_groups_keep_offsets_which_all_see_and_which_expire_as_in_kafka(folder: Path) -> None:
    create(folder)
    create(folder, "shop.erp.items")
    orders, items = TopicPartition(TOPIC, 1), TopicPartition("shop.erp.items", 0)
    with closing(admin_of(folder)) as admin:
        assert admin.list_groups() == []
        done = admin.alter_group_offsets(
            "shop.mirror.a", {each: OffsetAndMetadata(3, "", -1) for each in (orders, items)}
        )
        assert done == {orders: NoError, items: NoError}
        unknown = TopicPartition("shop.erp.none", 0)
        later = {orders: OffsetAndMetadata(7, "", -1), unknown: OffsetAndMetadata(1, "", -1)}
        done = admin.alter_group_offsets("shop.mirror.a", later)
        assert done == {orders: NoError, unknown: UnknownTopicOrPartitionError}
    # The next process knows them, too.
    door.close()
    with closing(admin_of(folder)) as admin:
        assert [group["group_id"] for group in admin.list_groups()] == ["shop.mirror.a"]
        assert offsets_of(admin, "shop.mirror.a") == {orders: 7, items: 3}
        assert admin.list_group_offsets({"shop.mirror.a": [items, TopicPartition(TOPIC, 0)]}) == {
            "shop.mirror.a": {
                items: OffsetAndMetadata(3, "", -1),
                TopicPartition(TOPIC, 0): OffsetAndMetadata(-1, "", -1),
            }
        }
        admin.delete_topics([items.topic])
        assert offsets_of(admin, "shop.mirror.a") == {orders: 7}
        assert offsets_of(admin, "shop.mirror.b") == {}


def offsets_of(admin: Any, group: str) -> dict[TopicPartition, int]:
    found = admin.list_group_offsets(group)[group]
    return {place: own.offset for place, own in found.items()}


def test_an_open_transaction_has_a_name_partitions_and_a_first_offset(folder: Path) -> None:
    create(folder)
    places = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with closing_now(producer_of(folder, "pipeline")) as producer, closing(admin_of(folder)) as own:
        commit(producer, batch_of([b"1"]))
        assert own.list_transactions() == {1: []}
        with pytest.raises(TransactionalIdNotFoundError):
            own.describe_transactions(["pipeline"])
        before = time.time() * 1000
        producer.deliver(batch_of([b"2", b"3"]), ROOM)
        producer.wake()
        wait_until(lambda: not producer.in_flight_bytes)
        (listed,) = own.list_transactions()[1]
        assert (listed.transactional_id, listed.state) == ("pipeline", TransactionState.ONGOING)
        assert own.list_transactions(state_filters=["PrepareCommit"]) == {1: []}
        assert own.list_transactions(producer_id_filters=[listed.producer_id + 1]) == {1: []}
        described = own.describe_transactions(["pipeline"])["pipeline"]
        assert described.topic_partitions == {places[0]}
        assert described.transaction_timeout_ms == 60_000
        assert before - 1000 < described.transaction_start_time_ms < before + 10_000
        found = own.describe_producers(places)
        (active,) = found[places[0]].active_producers
        # After the first transaction comes its marker.
        assert active.current_transaction_start_offset == 2
        assert (active.producer_id, active.last_sequence) == (listed.producer_id, 2)
        assert active.producer_epoch == described.producer_epoch
        assert found[places[1]].active_producers == []
        producer.abort_transaction()
        (active,) = own.describe_producers(places)[places[0]].active_producers
        assert active.current_transaction_start_offset == -1
        assert own.list_transactions() == {1: []}
        with pytest.raises(UnknownTopicOrPartitionError):
            own.describe_producers([TopicPartition(TOPIC, PARTITIONS)], broker_id=1)


def test_bytes_that_are_no_request_end_their_connection_alone(folder: Path) -> None:
    create(folder)
    for sent in (b"GET / HTTP/1.1\r\n\r\n", struct.pack(">ihhih", 10, 0, 99, 1, 0)):
        with door.connect(folder) as stranger:
            stranger.sendall(sent)
            stranger.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
    with closing(admin_of(folder)) as admin:
        assert admin.list_topics() == [TOPIC]


def random_bytes(count: int) -> bytes:
    return random.Random(count).randbytes(count)


@contextmanager
def closing_now(producer: TransactionalProducer) -> Iterator[TransactionalProducer]:
    try:
        yield producer
    finally:
        producer.close_now()


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_name_that_differs_by_dots_alone_from_another_is_refused_as_kafka_does(
    folder: Path,
) -> None:
    create(folder)
    with closing(admin_of(folder)) as admin:
        new = {"num_partitions": 1, "replication_factor": 1}
        admin.create_topics({"shop.a_b": new})
        with pytest.raises(InvalidTopicError):
            admin.create_topics({"shop_a.b": new})
        admin.delete_topics(["shop.a_b"])
        admin.create_topics({"shop_a.b": new})


def test_thousands_of_topics_of_one_request_do_not_wait_for_the_disk_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(folder)
    syncs: list[int] = []
    sync = os.fdatasync

    def counted(descriptor: int) -> None:
        # Upkeep has some of its own, as often as its time is up.
        if threading.current_thread().name == "log folder client":
            syncs.append(descriptor)
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", counted)
    names = [f"shop.t{number}" for number in range(3000)]
    with closing(admin_of(folder)) as admin:
        admin.create_topics(
            {name: {"num_partitions": 3, "replication_factor": 1} for name in names}
        )
        assert {*names} <= {*admin.list_topics()}
        admin.delete_topics(names)
    assert 0 < len(syncs) < 10

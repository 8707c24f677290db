"""A log is copied from folder to folder at the same offsets; what must not be copied is refused."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from connector.cli import log
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.folder import door
from connector.stream.sink import connection, log_copy_errors, offset_writer
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.sink.log_copy import copy_log, copy_topic
from tests.kafka.folder.folder_clients import (
    TOPIC,
    admin_of,
    batch_of,
    commit,
    consumer_of,
    create,
    producer_of,
    settings_of,
    url_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.kafka.producer import TransactionalProducer

PREFIX = "shop"
COMMANDS = "shop.commands"
CONFIG = """
name = "{}"
[source]
host = "db"
user = "cdc"
password = "p"
server_id = 7
tables = ["shop.*"]
[kafka]
topic_prefix = "{}"
bootstrap_servers = ["{}"]
"""


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder with a log, and one without; this process serves both."""
    source, target = tmp_path / "source", tmp_path / "target"
    create(source, TOPIC, COMMANDS)
    yield source, target
    door.close()


def settings_for(folder: Path) -> KafkaSettings:
    return KafkaSettings(
        bootstrap_servers=[url_of(folder)], topic_prefix=PREFIX, request_timeout_seconds=5
    )


def fill(folder: Path) -> None:
    """Write transactions, aborted ones, removed records, and records without a transaction."""
    with closing_now(producer_of(folder)) as producer:
        for number in range(5):
            values = [bytes([each]) for each in range(number + 1)]
            commit(producer, batch_of(values), batch_of(values, partition=1))
    with closing_now(producer_of(folder, "aborted")) as producer:
        producer.deliver(batch_of([b"gone", b"gone"]), 1 << 30)
        producer.wake()
        producer.abort_transaction()
    with closing_now(producer_of(folder)) as producer:
        commit(producer, batch_of([b"last"]))
    with closing(KafkaProducer(**settings_of(folder), acks="all")) as producer:
        for value in (b"first", b"second", None):
            headers = [("cdc.op", b"c"), ("empty", b"")]
            producer.send(
                COMMANDS, value=value, key=b"k", headers=headers, partition=0, timestamp_ms=7
            ).get(5)
    with closing(admin_of(folder)) as admin:
        admin.delete_records({TopicPartition(TOPIC, 1): 4})


@contextmanager
def closing_now(producer: TransactionalProducer) -> Iterator[TransactionalProducer]:
    try:
        yield producer
    finally:
        producer.close_now()


def seen(folder: Path) -> dict[str, Any]:
    """Return the records with offsets, and the offsets at which partitions begin and end."""
    found: dict[str, Any] = {}
    with closing(consumer_of(folder)) as consumer:
        for topic in consumer.topics():
            partitions = [
                TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic)
            ]
            consumer.assign(partitions)
            begins = consumer.beginning_offsets(partitions)
            ends = consumer.end_offsets(partitions)
            consumer.seek_to_beginning(*partitions)
            records = []
            while any(consumer.position(each) < end for each, end in ends.items()):
                for batch in consumer.poll(timeout_ms=100).values():
                    records += [
                        (r.partition, r.offset, r.timestamp, r.key, r.value, list(r.headers))
                        for r in batch
                    ]
            found[topic] = sorted(begins.items()), sorted(ends.items()), sorted(records)
    return found


def show_nothing(*_: object) -> None:
    pass


def test_records_keep_offsets_times_keys_and_headers(folders: tuple[Path, Path]) -> None:
    source, target = folders
    fill(source)
    with closing(admin_of(source)) as admin:
        kept = ConfigResource(ConfigResourceType.TOPIC, COMMANDS, {"retention.ms": "123456"})
        admin.alter_configs([kept])
    offsets = copy_log(settings_for(source), settings_for(target), show_nothing)
    before = seen(source)
    assert seen(target) == before
    assert offsets == sum(end for _, ends, _ in before.values() for _, end in ends)
    with closing(admin_of(target)) as admin:
        asked = ConfigResource(ConfigResourceType.TOPIC, COMMANDS)
        (answer,) = admin.describe_configs([asked], config_filter="all").values()
    assert answer[COMMANDS]["retention.ms"]["value"] == "123456"


def test_an_interrupted_copy_is_no_log_and_begins_again(folders: tuple[Path, Path]) -> None:
    source, target = folders
    fill(source)
    for after in (0, 1, 4):
        steps = iter(range(after))

        def interrupt(*_: object, steps: Iterator[int] = steps) -> None:
            next(steps)

        with pytest.raises(StopIteration):
            copy_log(settings_for(source), settings_for(target), interrupt)
        with pytest.raises(ConnectorError) as refused:
            KafkaSink(settings_for(target), PREFIX, "instance", 1 << 20)
        assert refused.value.code is log_copy_errors.NOT_COMPLETE
        with pytest.raises(ConnectorError) as refused:
            copy_log(settings_for(target), settings_for(source), show_nothing)
        assert refused.value.code is log_copy_errors.NOT_COMPLETE
    copy_log(settings_for(source), settings_for(target), show_nothing)
    assert seen(target) == seen(source)


def test_a_log_with_records_is_not_replaced(folders: tuple[Path, Path]) -> None:
    source, target = folders
    fill(source)
    copy_log(settings_for(source), settings_for(target), show_nothing)
    with pytest.raises(ConnectorError) as refused:
        copy_log(settings_for(source), settings_for(target), show_nothing)
    assert refused.value.code is log_copy_errors.TARGET_IN_USE
    assert seen(target) == seen(source)


def test_what_is_written_during_the_copy_is_noticed(folders: tuple[Path, Path]) -> None:
    source, target = folders
    fill(source)
    with closing_now(producer_of(source)) as producer:
        producer.deliver(batch_of([b"open"]), 1 << 30)
        producer.wake()
        producer.deliver(batch_of([b"open"]), 1 << 30)

        def write(*_: object) -> None:
            commit(producer, batch_of([b"late"]))

        wait_for_open(source)
        with pytest.raises(ConnectorError) as refused:
            copy_log(settings_for(source), settings_for(target), show_nothing)
        assert refused.value.code is log_copy_errors.STILL_WRITTEN
        write()
        with pytest.raises(ConnectorError) as refused:
            copy_log(settings_for(source), settings_for(target), write)
        assert refused.value.code is log_copy_errors.STILL_WRITTEN
    copy_log(settings_for(source), settings_for(target), show_nothing)
    assert seen(target) == seen(source)


def wait_for_open(folder: Path) -> None:
    """Wait until a transaction is open."""
    partition = TopicPartition(TOPIC, 0)
    with (
        closing(consumer_of(folder)) as committed,
        closing(consumer_of(folder, "read_uncommitted")) as every,
    ):
        while committed.end_offsets([partition]) == every.end_offsets([partition]):
            pass


def test_a_partition_that_another_program_writes_is_noticed(folders: tuple[Path, Path]) -> None:
    source, _ = folders
    settings = settings_for(source)
    with offset_writer.opened(settings, copy_topic(PREFIX)) as writer:
        writer.begin(TOPIC, 0, plain=False)
        with closing_now(producer_of(source)) as producer:
            commit(producer, batch_of([b"other"]))
        with pytest.raises(ConnectorError) as refused:
            writer.close_partition(5)
    assert refused.value.code is log_copy_errors.OFFSETS_DIFFER
    assert connection.servers_of(settings) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "prefix", "servers"), [("a", "a", "a:1"), ("b", "a", "b:1"), ("a", "b", "b:1")]
)
def test_two_configurations_of_one_pipeline_are_needed(
    name: str, prefix: str, servers: str, tmp_path: Path
) -> None:
    paths = []
    for number, facts in enumerate([("a", "a", "a:1"), (name, prefix, servers)]):
        paths.append(tmp_path / f"{number}.toml")
        paths[-1].write_text(CONFIG.format(*facts))
    with pytest.raises(ConfigError) as refused:
        log.run_copy(Namespace(config=paths[0], target=paths[1]))
    assert refused.value.code is log_copy_errors.SAME_LOG


def test_the_end_says_what_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    log.print_moved(7, ["file:///var/lib/cdc/log"], Path("new.toml"))
    said = capsys.readouterr().out
    assert "the same 7 offsets" in said
    assert "start it with new.toml" in said
    assert "name file:///var/lib/cdc/log in kafka.bootstrap_servers" in said

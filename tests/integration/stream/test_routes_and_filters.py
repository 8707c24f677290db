"""Rows of several tables in one topic, and rows that have no records, in a running pipeline."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from connector.kafka.kafka_python import network_client
from tests.integration.database_stream import new_stream
from tests.integration.harness import (
    consumer_of,
    partitions_of,
    records_of,
    wait_until,
    wait_until_settled,
)
from tests.integration.proof.delivered import proven
from verification.topics.outcome import OTHERS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

FIELD = "__dbz__physicalTableIdentifier"


def test_shards_share_a_topic_and_drafts_have_no_records(either_stream: Stream) -> None:
    stream = either_stream
    database, prefix = stream.database, stream.prefix
    for shard in ("t_1", "t_2", "other"):
        stream.execute(
            f"CREATE TABLE {shard} (id INT PRIMARY KEY, status VARCHAR(9))",
            f"INSERT INTO {shard} VALUES (1, 'paid'), (2, 'draft')",
        )
    shared, outside = f"{prefix}.all.t", f"{prefix}-{database}"
    chosen = {
        "source__start": "snapshot",
        "snapshot__chunk_rows": 1,
        "envelope__profile": "debezium",
        "envelope__filters": [{"tables": f"{database}.t_*", "where": "status <> 'draft'"}],
        "envelope__routes": [
            {"tables": f"{database}.t_*", "topic": shared},
            {"tables": f"{database}.*", "topic": f"{prefix}-{{database}}"},
        ],
    }
    with stream.connector(**chosen) as connector:
        copied = stream.wait_for_changes(2, connector)
        stream.execute(
            "DELETE FROM other WHERE id = 1",
            "UPDATE t_1 SET status = 'paid' WHERE id = 2",
            "UPDATE t_2 SET status = 'draft' WHERE id = 1",
            "UPDATE t_2 SET id = 3 WHERE id = 2",
            "UPDATE t_1 SET id = 4 WHERE id = 1",
        )
        streamed = stream.wait_for_changes(5, connector)
        # A connector that is killed may leave a transaction open.
        assert connector.terminate() == 0
    keys = {(each.op, each.key["id"], each.key[FIELD].rpartition(".")[2]) for each in streamed}
    assert {each.topic for each in streamed} == {shared}
    assert {(each.op, each.key[FIELD]) for each in copied} == {
        ("r", f"{prefix}.{database}.t_1"),
        ("r", f"{prefix}.{database}.t_2"),
    }
    assert keys == {
        ("r", 1, "t_1"), ("r", 1, "t_2"), ("u", 2, "t_1"), ("d", 1, "t_1"), ("c", 4, "t_1"),
    }  # fmt: skip
    wait_until_settled(stream.broker, prefix)
    outcome = proven(stream.config(**chosen))
    assert not outcome.differences
    # A delete has a tombstone.
    found = {topic: counts.found for topic, counts in outcome.topics.items()}
    assert (found[shared], found[outside]) == (4, 2)


def test_a_topic_of_several_pipelines_is_proven_for_each(stream: Stream, tmp_path: Path) -> None:
    shards = [stream, new_stream(stream.source, stream.broker, tmp_path)]
    shared = f"{stream.prefix}-of-all"
    chosen = {
        "kafka__partitions": 1,
        "envelope__profile": "debezium",
        # Neither keys nor values tell from where they come.
        "envelope__routes": [{"tables": "*.t", "topic": shared, "key_field": ""}],
        "envelope__shape": "flat",
        "envelope__flat_deletes": "delete-to-tombstone",
    }
    for shard in shards:
        shard.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    options = [chosen | {"source__server_id": 7100 + number} for number, _ in enumerate(shards)]
    with ExitStack() as opened:
        for shard, each in zip(shards, options, strict=True):
            opened.enter_context(shard.connector(**each)).wait_for('"streaming"')
        producer = opened.enter_context(
            closing(
                KafkaProducer(
                    bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client
                )
            )
        )
        consumer = opened.enter_context(closing(consumer_of(stream.broker)))
        for number in range(5):
            for shard in shards:
                shard.execute(f"INSERT INTO t VALUES ({number})", "UPDATE t SET id = id + 100")
                shard.execute("DELETE FROM t")
            producer.send(shared, b"of another program").get()
        # A row comes, moves, which are two records, and goes.
        wait_until(
            lambda: len(records_of(consumer, partitions_of(consumer, shared))) == 2 * 20 + 5,
            lambda: "not all records came",
        )
        for shard, each in zip(shards, options, strict=True):
            outcome = proven(shard.config(**each))
            assert not outcome.differences
            counts = outcome.topics[shared]
            assert (counts.expected, counts.found) == (20, 20)
            assert counts.others == {OTHERS: 20 + 5}

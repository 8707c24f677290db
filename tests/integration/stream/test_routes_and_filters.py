"""Rows of several tables in one topic, and rows that have no records, in a running pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import wait_until_settled
from tests.integration.proof.delivered import proven

if TYPE_CHECKING:
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

"""Notifications of snapshots, each committed once with what it tells."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.harness import consumer_of, partitions_of, records_of, wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = pytest.mark.kafka

ROWS = 40


def told(stream: Stream) -> list[dict[str, Any]]:
    """Return the committed notifications, in order."""
    with closing(consumer_of(stream.broker)) as consumer:
        topic = f"{stream.prefix}-told"
        return [
            json.loads(record.value)
            for record in records_of(consumer, partitions_of(consumer, topic))
        ]


def wait_for_kind(stream: Stream, kind: str, count: int, connector: ConnectorProcess) -> None:
    """Return when so many notifications of a kind are committed."""
    wait_until(
        lambda: [each["type"] for each in told(stream)].count(kind) >= count, connector.output
    )


def test_each_step_of_a_snapshot_is_told_once(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (v INT)",
        "INSERT INTO a VALUES " + ",".join(f"({n})" for n in range(1, ROWS + 1)),
        "INSERT INTO b VALUES (1)",
        "CREATE TABLE signals (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))",
    )
    name = stream.database
    chosen: dict[str, object] = {
        "source__start": "snapshot",
        "signals__table": f"{name}.signals",
        "notifications__kafka_topic": f"{stream.prefix}-told",
        "notifications__log": True,
        "snapshot__chunk_rows": 1,
        "snapshot__connections": 1,
    }
    data = json.dumps({"data-collections": [f"{name}.a", f"{name}.b"]})
    with stream.connector(**chosen) as connector:
        wait_for_kind(stream, "COMPLETED", 1, connector)
        assert "a notification" in connector.output()
        initial = told(stream)
        stream.execute(f"INSERT INTO signals VALUES ('ad-hoc', 'execute-snapshot', '{data}')")
        wait_for_kind(stream, "IN_PROGRESS", 5, connector)
        connector.kill()
    with stream.connector(**chosen) as connector:
        wait_for_kind(stream, "COMPLETED", 2, connector)
        stream.execute(
            "INSERT INTO signals VALUES ('p', 'pause-snapshot', NULL)",
            f"INSERT INTO signals VALUES ('stopped', 'execute-snapshot', '{data}')",
            "INSERT INTO signals VALUES ('s', 'stop-snapshot', NULL)",
        )
        wait_for_kind(stream, "ABORTED", 1, connector)
    tables = {f"{name}.a": ROWS, f"{name}.b": 1, f"{name}.signals": 0}
    kinds = [(each["type"], each["additional_data"].get("total_rows_scanned")) for each in initial]
    assert (kinds[0], kinds[-1]) == (("STARTED", None), ("COMPLETED", None))
    assert sorted(kinds[1:-1]) == sorted(
        [("IN_PROGRESS", None)] * len(tables)
        + [("TABLE_SCAN_COMPLETED", str(rows)) for rows in tables.values()]
    )
    assert {each["aggregate_type"] for each in initial} == {"Initial Snapshot"}

    rest = told(stream)[len(initial) :]
    again = [each["type"] for each in rest if each["aggregate_type"] == "Initial Snapshot"]
    assert again == ["SKIPPED"]
    signalled = [each for each in rest if each["id"] == "ad-hoc"]
    assert {each["aggregate_type"] for each in signalled} == {"Incremental Snapshot"}
    # After the kill, the copy went on after its last row that was told.
    keys = [
        (each["additional_data"]["last_processed_key"], each["additional_data"]["maximum_key"])
        for each in signalled
        if each["type"] == "IN_PROGRESS"
    ]
    assert keys == [(str(n), str(ROWS)) for n in range(1, ROWS + 1)]
    assert [each["type"] for each in signalled if each["type"] != "IN_PROGRESS"] == [
        "STARTED",
        "TABLE_SCAN_COMPLETED",
        "TABLE_SCAN_COMPLETED",
        "COMPLETED",
    ]
    stopped = [each["type"] for each in rest if each["id"] == "stopped"]
    assert stopped == ["STARTED", "ABORTED"]

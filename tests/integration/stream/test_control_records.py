"""Records of transactions, and heartbeats, as a consumer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import read_committed, wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import Seen

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def records(stream: Stream, suffix: str) -> list[Seen]:
    topic = f"{stream.prefix}.{suffix}"
    found = read_committed(stream.broker, stream.prefix, control=True)
    return [record for record in found if record.topic == topic]


def test_transactions_are_counted_by_table(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)")
    stream.transaction("INSERT INTO t VALUES (1), (2)", "INSERT INTO u VALUES (3)")
    # A key that changes takes two records, and a tombstone, which does not count.
    stream.execute("UPDATE t SET id = 9 WHERE id = 1", "DELETE FROM u")
    with stream.connector(delivery__transaction_records=True) as connector:
        changes = stream.wait_for_changes(6, connector)
        assert connector.terminate() == 0
    found = records(stream, "transaction")
    ids = list(dict.fromkeys(change.headers["cdc.txn"] for change in changes))
    assert [(r.key["id"], r.value["id"], r.value["status"]) for r in found] == [
        (name, name, status) for name in ids for status in ("BEGIN", "END")
    ]
    name = stream.database
    ends = [r.value for r in found if r.value["status"] == "END"]
    assert [(end["event_count"], end["data_collections"]) for end in ends] == [
        (
            3,
            [
                {"data_collection": f"{name}.t", "event_count": 2},
                {"data_collection": f"{name}.u", "event_count": 1},
            ],
        ),
        (2, [{"data_collection": f"{name}.t", "event_count": 2}]),
        (1, [{"data_collection": f"{name}.u", "event_count": 1}]),
    ]
    begin = found[0].value
    assert (begin["event_count"], begin["data_collections"]) == (None, None)
    assert begin["ts_ms"] == changes[0].value["source"]["ts_ms"]


def test_heartbeats_come_while_the_source_is_idle(stream: Stream) -> None:
    stream.execute("CREATE TABLE beat (n INT)")
    options = {
        "delivery__heartbeat_interval_seconds": 0.3,
        "source__exclude_tables": [f"{stream.database}.beat"],
        "source__heartbeat_statement": f"INSERT INTO {stream.database}.beat VALUES (1)",
    }
    with stream.connector(**options) as connector:
        wait_until(lambda: len(records(stream, "heartbeat")) >= 3, connector.output)
        assert connector.terminate() == 0
    found = records(stream, "heartbeat")
    assert {record.key["serverName"] for record in found} == {stream.prefix}
    times = [record.value["ts_ms"] for record in found]
    assert times == sorted(set(times))
    # Each has the progress of its moment with it.
    progress = records(stream, "progress")
    assert len(progress) >= len(found)
    # The statement of the heartbeats moves the log, and so the progress, on.
    assert len({record.value["gtid_set"] for record in progress}) >= len(found) - 1

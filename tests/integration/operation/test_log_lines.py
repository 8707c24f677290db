"""What the log tells of a stream: its start, what it met, and its end."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation import compiled
from tests.integration.harness import wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = [pytest.mark.server, pytest.mark.kafka]

ROWS = 120_000
MANY = (
    "INSERT INTO t (id) SELECT a.i * 400 + b.i FROM "
    "(SELECT @a := @a + 1 i FROM information_schema.COLUMNS x, (SELECT @a := -1) v LIMIT 300) a, "
    "(SELECT @b := @b + 1 i FROM information_schema.COLUMNS x, (SELECT @b := -1) v LIMIT 400) b"
)


def lines(connector: ConnectorProcess, event: str) -> list[dict[str, Any]]:
    """Return the lines of the log about `event`."""
    entries = [json.loads(line) for line in connector.output().splitlines() if line[:1] == "{"]
    return [entry for entry in entries if entry["message"] == event]


def test_ddl_and_large_transactions_have_a_line_each(either_stream: Stream) -> None:
    stream = either_stream
    with stream.connector() as connector:
        connector.wait_for('"message": "streaming"')
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) DEFAULT 'secret')",
            "ALTER TABLE t ADD c INT",
            "TRUNCATE TABLE t",
            MANY,
            "RENAME TABLE t TO u",
            "DROP TABLE u",
        )
        connector.wait_for('"cdc.kind": "DROP TABLE", "cdc.table": "' + f'{stream.database}.u"')
        assert connector.terminate() == 0
    ddl = lines(connector, "DDL")
    table = f"{stream.database}.t"
    assert [one["cdc.kind"] for one in ddl if one["cdc.table"] == table][:3] == [
        "CREATE TABLE",
        "ALTER TABLE",
        "TRUNCATE TABLE",
    ]
    assert all(":" in one["cdc.position"] and one["cdc.gtid"] for one in ddl)
    assert "secret" not in connector.output()
    (large,) = lines(connector, "large transaction")
    assert large["cdc.records"] >= ROWS
    assert large["cdc.bytes"] > ROWS
    assert large["cdc.seconds"] >= 0
    assert large["cdc.gtid"]


def test_start_and_stop_have_a_line_each(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    with stream.connector() as connector:
        stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    (start,) = lines(connector, "starting")
    assert start["cdc.build"] == compiled.mode()
    assert start["cdc.config"] == str(connector.config)
    assert start["cdc.name"] == stream.prefix
    assert start["cdc.source"] == f"127.0.0.1:{stream.source.port}"
    assert start["cdc.start"] == stream.start
    assert start["service.version"]
    (streaming,) = lines(connector, "streaming")
    # The source tells the file of a start by GTID with its first event.
    assert ("cdc.position" in streaming) is not stream.start.startswith("gtid:")
    assert streaming["cdc.instance"]
    (asked,) = lines(connector, "stop requested")
    assert asked["cdc.signal"] == "SIGTERM"
    (stopped,) = lines(connector, "stopped")
    assert stopped["cdc.records"] >= 2
    assert stopped["cdc.transactions"] >= 2
    assert ":" in stopped["cdc.position"]
    assert stopped["cdc.gtid_set"]


def test_sigusr1_writes_a_line_about_the_state(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    with stream.connector() as connector:
        stream.wait_for_changes(2, connector)
        connector.signal(signal.SIGUSR1)
        connector.wait_for('"message": "state"')
        stream.execute("INSERT INTO t VALUES (3)")
        stream.wait_for_changes(3, connector)
        # Several at once are one line or more, and do not harm the stream.
        for _ in range(100):
            connector.signal(signal.SIGUSR1)
        stream.execute("INSERT INTO t VALUES (4)")
        stream.wait_for_changes(4, connector)
        connector.signal(signal.SIGUSR1)
        wait_until(lambda: "4 records" in connector.output(), connector.output)
        assert connector.terminate() == 0
    first, *others = lines(connector, "state")
    assert others
    assert (first["cdc.state"], first["cdc.interruptions"]) == ("streaming", 0)
    assert "error.code" not in first
    # Not since 1970, although nothing was delivered when the source was first asked.
    assert all(one.get("cdc.lag_seconds", 0.0) < 60 for one in (first, *others))
    assert first["cdc.tables"] == [f"{stream.database}.t: 2 records"]
    assert first["cdc.servers"] == [f"{stream.source.host}:{stream.source.port}: in use"]
    assert ":" in first["cdc.position"]
    assert first["cdc.gtid_set"]

"""What happened at 03:12 is in the log: a night with a copy, DDL, a retry and a fence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = [pytest.mark.server, pytest.mark.kafka]

RECORD_BYTES_MAX = 20_000
# A line comes when the minute of the clock is full.
MINUTE_SECONDS = 120.0
# What the person on call asks the log for: anything that is not a line of each minute.
PERIODIC = {"summary", "copying"}


def end_streams(stream: Stream) -> None:
    """End the connections over which the source sends its log."""
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW PROCESSLIST")
        for row in cursor.fetchall():
            if str(row[4]).startswith("Binlog Dump"):
                cursor.execute(f"KILL {row[0]}")


def day(connector: ConnectorProcess) -> list[dict[str, Any]]:
    """Return the lines of the log."""
    return [json.loads(line) for line in connector.output().splitlines()]


def happened(lines: list[dict[str, Any]], after: str, until: str) -> list[dict[str, Any]]:
    """Return what happened between two times, which are compared as text."""
    between = [line for line in lines if after < line["@timestamp"] <= until]
    return [line for line in between if line["message"] not in PERIODIC]


def test_the_log_of_a_day_says_what_happened_when(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, v LONGTEXT)",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
    )
    settings = {
        "source__start": "snapshot",
        "quarantine__policy": "fence-table",
        "kafka__record_bytes_max": RECORD_BYTES_MAX,
    }
    fenced = '"message": "changes that cannot be published are kept in quarantine"'
    with stream.connector(**settings) as connector:
        connector.wait_for('"message": "copied"')
        stream.execute("ALTER TABLE orders ADD c INT")
        connector.wait_for('"message": "DDL"')
        end_streams(stream)
        connector.wait_for('"message": "interrupted"')
        stream.execute("INSERT INTO orders VALUES (3, 'c', 7)")
        stream.wait_for_changes(3, connector)
        stream.execute(f"INSERT INTO orders VALUES (4, REPEAT('x', {RECORD_BYTES_MAX}), 1)")
        connector.wait_for(fenced)
        # The minute in which all of this was is full.
        summary = '"message": "summary"'
        connector.wait_for(summary, MINUTE_SECONDS, connector.output().count(summary) + 1)
        assert connector.terminate() == 0
    lines = day(connector)
    times = [line["@timestamp"] for line in lines]
    assert times == sorted(times)
    assert {line["labels.pipeline"] for line in lines} == {stream.prefix}
    table = f"{stream.database}.orders"

    # Since when does it run, and from where?
    start, streaming = lines[0], next(line for line in lines if line["message"] == "streaming")
    assert (start["message"], start["cdc.start"]) == ("starting", "snapshot")
    assert streaming["cdc.source"] == f"{stream.source.host}:{stream.source.port}"
    # When was the table copied, and was the copy complete?
    copied = next(line for line in lines if line["message"] == "copied")
    assert (copied["cdc.table"], copied["cdc.rows"]) == (table, 2)
    # Who changed the table, and where in the log of the source?
    ddl = next(line for line in lines if line["message"] == "DDL")
    assert (ddl["cdc.kind"], ddl["cdc.table"]) == ("ALTER TABLE", table)
    assert ":" in ddl["cdc.position"]
    # What happened between the statement and the fence?
    last = next(line for line in lines if line["message"].startswith("changes that cannot"))
    night = happened(lines, ddl["@timestamp"], last["@timestamp"])
    # The watch of the source may have noticed it, too: it was lost, and is back.
    stream_alone = [line for line in night if not line["message"].startswith("the source ")]
    interrupted, again, end = stream_alone
    assert [interrupted["message"], again["message"]] == ["interrupted", "streaming"]
    assert end == last
    assert interrupted["error.code"].startswith("S")
    assert interrupted["cdc.retry_in_seconds"] >= 0
    assert again["cdc.resumed"]
    assert (last["cdc.table"], last["cdc.fenced"]) == (table, "the table")
    # How was it afterwards, and how much was done?
    summaries = [line for line in lines if line["message"] == "summary"]
    after = summaries[-1]
    assert (after["cdc.state"], after["log.level"]) == ("quarantine", "info")
    assert sum(line["cdc.interruptions"] for line in summaries) == 1
    assert sum(line["cdc.records"] for line in summaries) >= 3
    assert any(table in line["cdc.tables"] for line in summaries)
    assert after["cdc.lag_seconds"] < 60
    assert after["cdc.position"]

"""A snapshot of type BLOCKING: the stream waits while tables are copied as they are together."""

from __future__ import annotations

import json
import threading
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.harness import wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess, Seen

pytestmark = pytest.mark.kafka

ROWS = 3000


def write_until(stop: threading.Event, stream: Stream) -> None:
    """Change a row of each table in transactions: both have the same number at any time."""
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        while not stop.wait(0.005):
            cursor.execute("BEGIN")
            cursor.execute("UPDATE a SET v = v + 1 WHERE id = 1")
            cursor.execute("UPDATE b SET v = v + 1")
            cursor.execute("COMMIT")


def values(records: list[Seen], table: str) -> list[int]:
    """Return the numbers that the changing row of a table had."""
    return [
        each.value["after"]["v"]
        for each in records
        if each.topic.endswith(f".{table}")
        and each.op != "t"
        and each.value["after"].get("id", 1) == 1
    ]


def test_all_rows_are_of_one_position_also_after_a_kill(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT, pad VARCHAR(1000) NOT NULL)",
        "CREATE TABLE b (v INT)",
        "INSERT INTO a VALUES "
        + ",".join(f"({n}, 0, REPEAT('x', 1000))" for n in range(1, ROWS + 1)),
        "INSERT INTO b VALUES (0)",
        "CREATE TABLE signals (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))",
    )
    name = stream.database
    tables = [f"{name}.a", f"{name}.b", f"{name}.none"]
    data = json.dumps({"type": "BLOCKING", "data-collections": tables})
    chosen: dict[str, object] = {
        "source__start": "latest",
        "signals__table": f"{name}.signals",
        # So that there are many chunks.
        "snapshot__chunk_bytes_max": 65536,
        "snapshot__connections": 1,
    }

    def wait_for_copies(count: int, connector: ConnectorProcess) -> None:
        wait_until(lambda: sum(r.op == "r" for r in stream.changes()) >= count, connector.output)

    stop = threading.Event()
    writer = threading.Thread(target=write_until, args=(stop, stream))
    try:
        with stream.connector(**chosen) as connector:
            connector.wait_for("streaming")
            writer.start()
            stream.execute(f"INSERT INTO signals VALUES ('x', 'execute-snapshot', '{data}')")
            wait_for_copies(1, connector)
            connector.kill()
        with stream.connector(**chosen) as connector:
            connector.wait_for('"message": "copied"', times=2)
            stop.set()
            writer.join()
            stream.execute("UPDATE a SET v = -1 WHERE id = 1", "UPDATE b SET v = -1")
            wait_until(lambda: values(stream.changes(), "b")[-1:] == [-1], connector.output)
            # What is not there fails alone.
            assert f'"cdc.table": "{name}.none"' in connector.output()
    finally:
        stop.set()
    seen = [each for each in stream.changes() if ".signals" not in each.topic]
    changed = [each for each in seen if each.op == "u"]
    for table in ("a", "b"):
        # Each change once, before and after the copies.
        found = values(changed, table)
        assert found == [*range(1, len(found)), -1]
    # The rows of the last copy, without a change between them.
    runs = [list(run) for _, run in groupby(seen, key=lambda each: each.op == "u")]
    copied = [run for run in runs if run[0].op != "u"][-1]
    rows = [each for each in copied if each.op == "r"]
    assert len(rows) == ROWS + 1
    marks = [each.value["source"]["snapshot"] for each in rows]
    assert marks == ["first", *["true"] * (ROWS - 2), "last_in_data_collection", "last"]
    (of_a,), (of_b,) = values(rows, "a"), values(rows, "b")
    assert of_a == of_b
    after = seen[seen.index(copied[-1]) + 1 :]
    assert values(after, "a")[0] in (of_a + 1, -1)

"""Tables are copied while they are written to, by the daemon as a user runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.integration.harness import read_committed, wait_until
from tests.integration.snapshot_load import Writer, fill, folded, never_outdated, rows_of

if TYPE_CHECKING:
    from tests.integration.conftest import Stream
    from tests.integration.harness import ConnectorProcess, Seen

ROWS = 6000
SMALL_CHUNKS = {"source__start": "snapshot", "snapshot__chunk_rows": 250}


def states(stream: Stream) -> dict[str, dict[str, Any]]:
    """Return the last state of each table's copy, by its key."""
    found: dict[str, dict[str, Any]] = {}
    for record in read_committed(stream.broker, stream.prefix, control=True):
        if record.topic == f"{stream.prefix}.snapshot":
            key = str(record.key).partition("/")[2]
            found.pop(key, None)
            if record.value is not None:
                found[key] = record.value
    return found


def wait_for_copies(stream: Stream, connector: ConnectorProcess, *names: str) -> None:
    def complete() -> bool:
        found = states(stream)
        return all(found.get(name, {}).get("phase") == "complete" for name in names)

    wait_until(complete, lambda: f"{json.dumps(states(stream))}\n{connector.output()}")


def topics_equal_the_source(
    stream: Stream, connector: ConnectorProcess, *tables: str
) -> list[Seen]:
    """Wait until the topics lead to what the tables hold; return all records."""
    seen: list[Seen] = []

    def equal() -> bool:
        seen[:] = read_committed(stream.broker, stream.prefix)
        return all(
            folded(seen, f"{stream.prefix}.{stream.database}.{table}")
            == rows_of(stream.source, stream.database, table)
            for table in tables
        )

    def difference() -> str:
        lines = []
        for table in tables:
            ours = folded(seen, f"{stream.prefix}.{stream.database}.{table}")
            theirs = rows_of(stream.source, stream.database, table)
            wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
            lines += [f"{table}: {len(wrong)} rows differ"]
            lines += [f"{key}: {ours.get(key)} is {theirs.get(key)}" for key in wrong[:5]]
        return "\n".join(lines) + connector.output()

    wait_until(equal, difference)
    return seen


def test_tables_are_copied_while_they_are_written_to(either_stream: Stream) -> None:
    stream = either_stream
    fill(stream.source, stream.database, "orders", ROWS)
    fill(stream.source, stream.database, "items", ROWS, key="part, id")
    with (
        Writer(stream.source, stream.database, "orders", ROWS, 1) as orders,
        Writer(stream.source, stream.database, "items", ROWS, 2) as items,
        stream.connector(**SMALL_CHUNKS) as connector,
    ):
        wait_for_copies(stream, connector, f"{stream.database}.orders", f"{stream.database}.items")
        orders.stop()
        items.stop()
        seen = topics_equal_the_source(stream, connector, "orders", "items")
        assert connector.terminate() == 0
    assert orders.transactions
    assert items.transactions
    for table in ("orders", "items"):
        topic = f"{stream.prefix}.{stream.database}.{table}"
        assert {r.op for r in seen if r.topic == topic and r.value} >= {"r", "u", "c", "d"}
        never_outdated(seen, topic)

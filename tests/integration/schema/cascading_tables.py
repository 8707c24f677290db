"""Tables with foreign keys that cascade, and what a consumer of their topics has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pymysql.cursors

from local_stack import connect
from tests.integration.harness import read_committed, wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess, Seen

Rows = list[dict[str, Any]]


def consumed(records: list[Seen], topic: str) -> Rows:
    """Return the rows that a consumer of a topic has, in the order of their values."""
    rows: dict[str, dict[str, Any]] = {}
    for record in sorted((r for r in records if r.topic == topic and r.value), key=lambda r: r.seq):
        key = json.dumps(record.key)
        if record.op == "t":
            rows.clear()
        elif record.op == "d":
            rows.pop(key, None)
        else:
            rows[key] = record.value["after"]
    return sorted(rows.values(), key=repr)


def selected(stream: Stream, tables: list[str]) -> dict[str, Rows]:
    """Return the rows of the server."""
    with (
        connect(stream.source, stream.database) as connection,
        connection.cursor(pymysql.cursors.DictCursor) as cursor,
    ):
        found: dict[str, Rows] = {}
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")
            found[table] = sorted(map(dict, cursor.fetchall()), key=repr)
        return found


def wait_until_equal(stream: Stream, connector: ConnectorProcess, tables: list[str]) -> list[Seen]:
    """Return the records once a consumer has the rows that the server has."""
    records: list[Seen] = []
    wanted = selected(stream, tables)

    def found() -> dict[str, Rows]:
        records[:] = read_committed(stream.broker, stream.prefix)
        return {
            table: consumed(records, f"{stream.prefix}.{stream.database}.{table}")
            for table in tables
        }

    wait_until(lambda: found() == wanted, lambda: f"{found()}\n!= {wanted}\n{connector.output()}")
    return records


def ops(records: list[Seen], table: str) -> str:
    """Return the operations of a table's records, in their order."""
    found = [r for r in records if r.topic.endswith(f".{table}") and r.value]
    return "".join(r.op for r in sorted(found, key=lambda r: r.seq))

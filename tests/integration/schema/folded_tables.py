"""What a consumer of the topics has of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.integration.harness import read_committed, wait_until

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess, Seen


def folded(records: list[Seen], table: str) -> dict[int, dict[str, Any]]:
    """Return the rows that a consumer of one topic has."""
    rows: dict[int, dict[str, Any]] = {}
    for record in sorted(
        (r for r in records if r.topic.endswith(f".{table}") and r.value), key=lambda r: r.seq
    ):
        if record.op == "t":
            rows.clear()
        elif record.op == "d":
            # While a table is copied again, rows are deleted that were not copied yet.
            rows.pop(record.key["id"], None)
        else:
            rows[record.key["id"]] = record.value["after"]
    return rows


def wait_for(
    stream: Stream, connector: ConnectorProcess, wanted: dict[str, list[int]]
) -> list[Seen]:
    """Return the records once each table has the rows with these ids, and no others."""
    records: list[Seen] = []

    def found() -> dict[str, list[int]]:
        records[:] = read_committed(stream.broker, stream.prefix)
        return {table: sorted(folded(records, table)) for table in wanted}

    wait_until(lambda: found() == wanted, lambda: f"{found()}\n{connector.output()}")
    return records

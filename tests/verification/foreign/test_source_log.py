"""The log of the source is searched for a table that needs it, once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connector.replication.server.addresses import source_settings
from connector.replication.start_point import StartPoint
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from verification.foreign import source_log
from verification.foreign.column_mapping import ColumnMapping, ColumnNames
from verification.foreign.source_log import SourceLog


def test_the_log_is_searched_when_it_is_needed_from_the_moment_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = []

    def searched(_: object, since: float) -> tuple[StartPoint, int]:
        searches.append(since)
        return StartPoint("mysql", None, "binlog.000007", 4), 5

    monkeypatch.setattr(source_log, "log_since", searched)
    schema = mirrored.TableSchema("shop", "orders", "", PackedSequence(0, 0), ())
    times = iter([1_000_000_000])
    source: Any = SimpleNamespace(
        schema=schema,
        selected=SimpleNamespace(schema=TableSchema("shop", "orders", "", (), ())),
        session=SimpleNamespace(query=lambda _: [{"Value": "ROW"}]),
        server_time_us=lambda: next(times),
        ignores_case=False,
    )
    mapping = ColumnMapping(schema, [], ColumnNames())
    log = SourceLog(source_settings("mysql://audit@db1"), source, mapping, 60)
    assert not searches
    assert [log.reach_us, log.reach_us] == [5, 5]
    # 60 seconds and a margin before the time at which it was made.
    assert searches == [938.0]

"""The log of the source is searched for a table that needs it, once."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import RetrySettings
from connector.replication.server.addresses import source_settings
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from tests.foundation.errors.texts import shown
from verification import verify_errors
from verification.foreign import source_log
from verification.foreign.column_mapping import ColumnMapping, ColumnNames
from verification.foreign.source_log import SourceLog
from verification.patience import Patience
from verification.same_server import SameServer

SETTINGS = source_settings("mysql://audit@db1")


def log_of(*times_us: int) -> SourceLog:
    """The log of a source whose clock shows these times."""
    schema = mirrored.TableSchema("shop", "orders", "", PackedSequence(0, 0), ())
    times = iter(times_us)
    server = SameServer(lambda: pytest.fail("a session"))
    server.uuid = "a"
    source: Any = SimpleNamespace(
        schema=schema,
        selected=SimpleNamespace(schema=TableSchema("shop", "orders", "", (), ())),
        session=SimpleNamespace(query=lambda _: [{"Value": "ROW"}], name="source db1:3306"),
        server=server,
        patience=Patience(RetrySettings(), 60),
        server_time_us=lambda: next(times),
        ignores_case=False,
    )
    return SourceLog(SETTINGS, source, ColumnMapping(schema, [], ColumnNames()), 60)


def test_the_log_is_searched_when_it_is_needed_from_the_moment_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = []

    def searched(_: object, __: object, since: float) -> tuple[StartPoint, int]:
        searches.append(since)
        return StartPoint("mysql", None, "binlog.000007", 4), 5

    monkeypatch.setattr(source_log, "log_since", searched)
    log = log_of(1_000_000_000)
    assert not searches
    assert [log.reach_us, log.reach_us] == [5, 5]
    # 60 seconds and a margin before the time at which it was made.
    assert searches == [938.0]


@pytest.mark.parametrize("is_found", [False, True])
def test_another_server_is_not_asked_where_the_log_begins(
    monkeypatch: pytest.MonkeyPatch, *, is_found: bool
) -> None:
    log = log_of(1_000_000_000)
    if is_found:
        start = StartPoint("mysql", None, "binlog.000007", 4)
        monkeypatch.setattr(source_log, "log_since", lambda *_: (start, 5))
    other = SimpleNamespace(identity=SimpleNamespace(server_uuid="b"))
    monkeypatch.setattr(MysqlServer, "connect", lambda _: nullcontext(other))
    with pytest.raises(SourceUnavailable) as caught:
        # What rows had before is looked for in the files of the same server.
        log.look_back({}) if is_found else log.states(frozenset())
    expected = shown(verify_errors.OTHER_ANSWERS, server="source db1:3306")
    assert str(caught.value) == expected

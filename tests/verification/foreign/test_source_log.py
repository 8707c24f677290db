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
from verification.foreign import shared_log
from verification.foreign.column_mapping import ColumnMapping, ColumnNames
from verification.foreign.row_states import DefinitionMoment
from verification.foreign.shared_log import SharedLog
from verification.foreign.source_log import SourceLog
from verification.patience import Patience
from verification.same_server import SameServer

SETTINGS = source_settings("mysql://audit@db1")


def log_of(*times_us: int) -> SharedLog:
    """The log of a source whose clock shows these times."""
    times = iter(times_us)
    same = SameServer(lambda: pytest.fail("a session"))
    same.uuid = "a"
    server: Any = SimpleNamespace(
        settings=SETTINGS,
        session=SimpleNamespace(query=lambda _: [{"Value": "ROW"}], name="source db1:3306"),
        same=same,
        time_us=lambda: next(times),
        ignores_case=False,
    )
    return SharedLog(server, 60)


def of_table(log: SharedLog) -> SourceLog:
    """What one table reads of it."""
    schema = mirrored.TableSchema("shop", "orders", "", PackedSequence(0, 0), ())
    source: Any = SimpleNamespace(
        schema=schema,
        described=DefinitionMoment(10**15),
        selected=SimpleNamespace(schema=TableSchema("shop", "orders", "", (), ())),
        patience=Patience(RetrySettings(), 60),
    )
    return SourceLog(log, source, ColumnMapping(schema, [], ColumnNames()))


def seconds(*numbers: int) -> list[int]:
    return [1_000_000 * (1000 + number) for number in numbers]


def test_the_log_is_searched_when_it_is_needed_once_for_all_tables_of_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches = []

    def searched(_: object, since: float) -> tuple[StartPoint, int]:
        searches.append(since)
        return StartPoint("mysql", None, "binlog.000007", 4), len(searches)

    monkeypatch.setattr(shared_log, "log_since", searched)
    log = log_of(*seconds(0, 1, 59, 80, 110, 115, 300))
    tables = [of_table(log) for _ in range(6)]
    assert not searches
    # The second one asks first.
    assert [tables[place].reach_us for place in (1, 0, 1)] == [1, 1, 1]
    # 60 seconds and a margin before the run began.
    assert searches == [938.0]
    # Later tables need a later beginning, and those that began a little before them have the same.
    assert [tables[place].reach_us for place in (3, 2, 4)] == [2, 2, 2]
    assert searches[1:] == [938.0 + 110 - 30]
    assert tables[5].reach_us == 3
    assert searches[2:] == [938.0 + 300 - 30]


@pytest.mark.parametrize("is_found", [False, True])
def test_another_server_is_not_asked_where_the_log_begins(
    monkeypatch: pytest.MonkeyPatch, *, is_found: bool
) -> None:
    log = of_table(log_of(*seconds(0, 1)))
    if is_found:
        start = StartPoint("mysql", None, "binlog.000007", 4)
        monkeypatch.setattr(shared_log, "log_since", lambda *_: (start, 5))
    other = SimpleNamespace(identity=SimpleNamespace(server_uuid="b"))
    monkeypatch.setattr(MysqlServer, "connect", lambda _: nullcontext(other))
    with pytest.raises(SourceUnavailable) as caught:
        # What rows had before is looked for in the files of the same server.
        log.look_back({}) if is_found else log.states(frozenset())
    expected = shown(verify_errors.OTHER_ANSWERS, server="source db1:3306")
    assert str(caught.value) == expected

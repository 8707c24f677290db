"""How a task rests between the SELECTs of a range."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication import dump_errors
from connector.stream.snapshot import watermark
from stream_jobs.load import load_errors, range_task
from stream_jobs.load.range_task import RangeResult, load_range
from stream_jobs.tables.load_state import LoadPart
from tests.foundation.errors.texts import text_of

# ER_QUERY_TIMEOUT
TIMEOUT = 3024


@dataclass
class Server:
    """A server whose SELECTs take some seconds each, and then time out, fail, or have no rows."""

    seconds: float
    errors: list[int]
    now: float = 0.0
    rests: list[float] = field(default_factory=list)

    def read(self, *_: Any, **__: Any) -> None:
        self.now += self.seconds
        if self.errors:
            number = self.errors.pop(0)
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, number=number, server="db")

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.rests.append(seconds)
        self.now += seconds


def result_of(server: Server, rests: float, patch: pytest.MonkeyPatch) -> RangeResult:
    columns = SimpleNamespace(columns=[{"name": "id"}])
    table = SimpleNamespace(
        name="shop.t", schema=columns, order_columns=[SimpleNamespace(name="id")]
    )
    identity = SimpleNamespace(server_uuid="a")
    session = SimpleNamespace(is_closed=False, name="source db:3306", identity=identity)
    patch.setattr(range_task, "_session", lambda *_: session)
    patch.setattr(range_task, "_limits", {})
    patch.setattr(range_task, "SelectedTable", SimpleNamespace(describe=lambda *_: table))
    patch.setattr(range_task, "is_same_table", lambda *_: True)
    no_gtids = SimpleNamespace(gtid_set=None)
    patch.setattr(range_task, "delivered_position", lambda *_: no_gtids)
    patch.setattr(watermark, "read_after_delivered", server.read)
    patch.setattr(range_task, "CLOCK", SimpleNamespace(monotonic=lambda: server.now))
    patch.setattr(range_task, "sleep", server.sleep)
    source = SimpleNamespace(user="", host="", port=1, tls=None, password="", password_command=[])
    job: Any = SimpleNamespace(
        source=source,
        settings=SnapshotSettings(),
        database="shop",
        table="t",
        mirror=SimpleNamespace(schema=SimpleNamespace(schema_id="s")),
        load=SimpleNamespace(parts=[LoadPart()], watermark=None),
        place=0,
        rows_max=1000,
        task=SimpleNamespace(bytes_max=1000),
        statement_rows=200,
        rests=rests,
    )
    return load_range(job)


def test_a_task_rests_after_each_select_but_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also after one that has timed out, which was work for the server."""
    server = Server(0.5, [TIMEOUT, TIMEOUT])
    result = result_of(server, 3.0, monkeypatch)
    assert result.part.done
    assert server.rests == [1.5, 1.5]
    assert (result.rested_seconds, result.unpaid_seconds) == (3.0, 0.5)


def test_a_range_ends_where_the_next_rest_would_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task would keep its core, and its rows, for minutes."""
    server = Server(5.0, [TIMEOUT])
    result = result_of(server, 31.0, monkeypatch)
    assert not result.part.done
    assert not server.rests
    assert (result.rested_seconds, result.unpaid_seconds) == (0.0, 5.0)


def test_a_range_that_fails_tells_how_long_it_has_rested(monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(Server(0.5, [TIMEOUT, 1045]), 1.0, monkeypatch)
    assert result.problem is not None
    assert (result.rested_seconds, result.unpaid_seconds) == (0.5, 0.5)


def test_at_the_full_pace_nothing_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(5.0, [TIMEOUT] * 3)
    result = result_of(server, 0.0, monkeypatch)
    assert result.part.done
    assert not server.rests
    assert (result.rested_seconds, result.unpaid_seconds) == (0.0, 20.0)


def test_a_server_that_needs_too_long_for_one_row_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = result_of(Server(30.0, [TIMEOUT] * 99), 0.0, monkeypatch)
    assert result.problem is not None
    assert result.problem.text == text_of(
        load_errors.SLOW, server="source db:3306", seconds=30, table="shop.t"
    )
    assert not result.is_of_server

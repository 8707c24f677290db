"""Rows that lag: after an absence of a server, and the changes that the target lacks at the end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import RetrySettings
from tests.stream_jobs.topics import column
from tests.verification.foreign.test_guess import schema
from verification import patience as patience_module
from verification.digests import digest_pairs
from verification.foreign import foreign_errors, settlement
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess
from verification.foreign.row_states import Change, KeyStates, Value
from verification.foreign.settlement import Settlement, Sides
from verification.foreign.table_choice import TableChoice
from verification.patience import Patience

if TYPE_CHECKING:
    from pathlib import Path

_US = 1_000_000
LAG = 60.0
WITNESS: Any = {"hides": lambda *_: False, "reach_us": 0, "lacks_changes": False}


class _Clock:
    """A clock that goes on when somebody waits."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def rows(note: str) -> pa.Table:
    return pa.table({"id": pa.array([1], pa.int32()), "note": [note]})


def source_at(clock: _Clock) -> Any:
    """Return a source whose row is the new one."""
    return SimpleNamespace(
        schema=schema(column("id", "int", key=1), column("note", "text")),
        no_rows=rows("new").slice(0, 0),
        rows_of=lambda _: iter([rows("new")]),
        server_time_us=lambda: int(clock.now * _US),
    )


class _Target(DeltaTarget):
    """A table that is away from 1001 to 1310, and gets the new row at a time."""

    def __init__(self, path: Path, clock: _Clock, follows_at: float) -> None:
        write_deltalake(path, rows("old"))
        super().__init__(f"delta:{path}", str(path))
        self._path, self._clock, self._follows_at = path, clock, follows_at

    def refresh(self) -> str:
        if 1001 < self._clock.now < 1310:
            self._clock.now += 10
            raise SourceUnavailable(foreign_errors.TARGET_AWAY, server="dwh", said="closed")
        if self._clock.now >= self._follows_at:
            write_deltalake(self._path, rows("new"), mode="overwrite")
        return super().refresh()


@pytest.mark.parametrize("follows_at", [1330.0, 10_000.0])
def test_after_an_absence_a_target_has_the_time_of_the_lag_to_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follows_at: float
) -> None:
    clock = _Clock()
    for module in (settlement, patience_module):
        monkeypatch.setattr(module, "time", clock)
    target = _Target(tmp_path, clock, follows_at)
    target.refresh()
    source = source_at(clock)
    mapping = MappingGuess(source, target, TableChoice("shop", "t", target.name, {})).mapping()
    (digest,) = digest_pairs(mapping.keys(rows("new")))
    old, new = (mapping.values(rows(note))[0] for note in ("old", "new"))
    change = Change(995 * _US, "binlog.000001:4", 995 * _US)
    states = {digest: KeyStates([old, new], [None, change])}
    log: Any = SimpleNamespace(states=lambda _: states, **WITNESS)
    result = ForeignResult("shop.t", target.name)
    patience = Patience(RetrySettings(initial_seconds=0.001, max_seconds=0.002), 600.0)
    sides = Sides(source, target, mapping, log, patience)
    found = Settlement(sides, LAG, result).settle({digest: (1,)}, 1000)
    if follows_at < 1310 + LAG:
        assert (found, result.unsettled, result.lagging_rows) == ({}, 0, 1)
    else:
        assert [each.kind for each in found.values()] == ["stale"]
        assert clock.now >= 1310 + LAG


class _Following(DeltaTarget):
    """A table that has one value after the other."""

    def __init__(self, path: Path, *notes: str) -> None:
        write_deltalake(path, rows(notes[0]))
        super().__init__(f"delta:{path}", str(path))
        self._path, self._notes = path, list(notes)

    def refresh(self) -> str:
        if self._notes:
            write_deltalake(self._path, rows(self._notes.pop(0)), mode="overwrite")
        return super().refresh()


@pytest.mark.parametrize("last", ["mid", "new"])
def test_a_target_that_follows_lacks_the_changes_after_the_value_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    clock = _Clock()
    monkeypatch.setattr(settlement, "time", clock)
    target = _Following(tmp_path, "old", "old", last)
    target.refresh()
    source = source_at(clock)
    mapping = MappingGuess(source, target, TableChoice("shop", "t", target.name, {})).mapping()
    (digest,) = digest_pairs(mapping.keys(rows("new")))
    values: list[Value] = [mapping.values(rows(note))[0] for note in ("old", "mid", "new")]
    changes = [Change(at * _US, f"binlog.000001:{at}", at * _US) for at in (995, 996)]
    states = {digest: KeyStates(values, [None, *changes])}
    log: Any = SimpleNamespace(states=lambda _: states, **WITNESS)
    result = ForeignResult("shop.t", target.name)
    sides = Sides(source, target, mapping, log, Patience(RetrySettings(), 600.0))
    assert Settlement(sides, LAG, result).settle({digest: (1,)}, 1000) == {}
    assert result.lagging_rows == 1
    assert result.lacking == ({changes[1]} if last == "mid" else set())


@pytest.mark.parametrize("follows", [False, True])
def test_what_the_log_lacks_is_no_difference_before_the_lag_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, follows: bool
) -> None:
    clock = _Clock()
    monkeypatch.setattr(settlement, "time", clock)
    target = _Following(tmp_path, *["old"] * 5, *(["new"] if follows else []))
    target.refresh()
    source = source_at(clock)
    mapping = MappingGuess(source, target, TableChoice("shop", "t", target.name, {})).mapping()
    (digest,) = digest_pairs(mapping.keys(rows("new")))
    old = mapping.values(rows("old"))[0]
    # The last change that the log has made the row that the target has.
    change = Change(1, "binlog.000001:4", 1)
    states = {digest: KeyStates([None, old], [None, change])}
    log: Any = SimpleNamespace(states=lambda _: states, **{**WITNESS, "lacks_changes": True})
    result = ForeignResult("shop.t", target.name)
    sides = Sides(source, target, mapping, log, Patience(RetrySettings(), 600.0))
    found = Settlement(sides, LAG, result).settle({digest: (1,)}, 1000)
    assert [each.kind for each in found.values()] == ([] if follows else ["different"])
    assert follows == (clock.now <= 1000 + LAG)
    assert result.unsettled == 0

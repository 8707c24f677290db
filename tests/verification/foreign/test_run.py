"""Through which moment a table of another program is equal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from verification.foreign import run
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.row_states import Change
from verification.foreign.run import OneTable, compare
from verification.source_moment import SourceMoment

NOW = SourceMoment(9, "")


class _Check:
    """A comparison that finds a row that lags."""

    def __init__(self, _: object, __: object, result: ForeignResult, ___: object) -> None:
        self._result = result

    def run(self) -> None:
        self._result.lacking.add(Change(7, "b.000001:4", 7))


@pytest.mark.parametrize("lacks_changes", [False, True])
def test_where_the_log_lacks_changes_a_table_that_lags_has_no_moment(
    monkeypatch: pytest.MonkeyPatch, *, lacks_changes: bool
) -> None:
    guess, log = SimpleNamespace(mapping=lambda: None), SimpleNamespace(lacks_changes=lacks_changes)
    monkeypatch.setattr(run, "require_rows", lambda _: None)
    monkeypatch.setattr(run, "MappingGuess", lambda *_: guess)
    monkeypatch.setattr(run, "SourceLog", lambda *_: log)
    monkeypatch.setattr(run, "ForeignCheck", _Check)
    moments = SimpleNamespace(now=lambda: NOW, through=lambda *_: NOW)
    patience = SimpleNamespace(again=lambda read: read())
    source: Any = SimpleNamespace(
        server=SimpleNamespace(moments=moments),
        patience=SimpleNamespace(for_target=lambda: patience),
    )
    target = SimpleNamespace(refresh=lambda: "1", close=lambda: None)
    choice: Any = SimpleNamespace(opened=lambda: target)
    result = ForeignResult("shop.t", "delta:/t")
    shared: Any = SimpleNamespace()
    compare(OneTable(source, shared, choice, ForeignLimits(), result, lambda *_: None))
    assert result.through == (None if lacks_changes else NOW)

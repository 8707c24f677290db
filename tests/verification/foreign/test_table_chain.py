"""Which keys of a table have to be compared next, and when all rows have to be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.replication import dump_errors
from stream_jobs.errors import MirrorError
from verification.foreign import foreign_errors, table_chain
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.table_chain import RoundStart, TableChain
from verification.foreign.table_choice import TableChoice
from verification.source_moment import SourceMoment

HOUR_US = 3_600_000_000
AWAY = SourceUnavailable(dump_errors.SERVER_CLOSED, server="db")
MAPPING: Any = object()


def source(*columns: str) -> Any:
    return SimpleNamespace(schema=SimpleNamespace(columns=columns))


def start(number: int) -> RoundStart:
    return RoundStart(SourceMoment(number * HOUR_US, ""), f"b.000001:{number}")


def result(*open_ids: int, **facts: Any) -> ForeignResult:
    found = ForeignResult("shop.t", "delta:/t", mapping=MAPPING, **facts)
    found.open_keys = {(number, number): (number,) for number in open_ids}
    return found


def whole(*open_ids: int, number: int = 1) -> TableChain:
    """A table whose rows were all compared."""
    chain = TableChain(TableChoice("shop", "t", "delta:/t"), is_whole=True)
    chain.take(result(*open_ids), source("id"), start(number))
    return chain


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        table_chain, "LoggedKeys", lambda *_: SimpleNamespace(keys={}, needs_all_rows=False)
    )


def logged(chain: TableChain, *ids: int) -> None:
    """Let the log name some keys."""
    assert chain.logged is not None
    chain.logged.keys |= {(number, number): (number,) for number in ids}


def taken(chain: TableChain, number: int) -> set[object]:
    return {key[0] for key in chain.taken_keys(start(number)).values()}


def test_what_differed_or_has_changed_is_compared_again() -> None:
    chain = whole(7)
    assert not chain.is_due(SourceMoment(2 * HOUR_US, ""), 12)
    logged(chain, 1, 2)
    assert taken(chain, 2) == {1, 2, 7}
    assert chain.position == "b.000001:2"
    chain.take(result(2, changed_keys=3), None, start(2))
    logged(chain, 5)
    assert taken(chain, 3) == {2, 5}
    chain.take(result(changed_keys=2), None, start(3))
    assert taken(chain, 4) == set()


def test_what_could_not_be_compared_is_compared_again() -> None:
    chain = whole()
    logged(chain, 1)
    assert taken(chain, 2) == {1}
    chain.take(result(changed_keys=1, error=AWAY), None, start(2))
    assert taken(chain, 3) == {1}


def test_all_rows_are_due_after_some_hours_and_after_a_failure() -> None:
    chain = whole(number=1)
    assert not chain.is_due(SourceMoment(12 * HOUR_US, ""), 12)
    assert chain.is_due(SourceMoment(13 * HOUR_US, ""), 12)
    assert chain.is_due(SourceMoment(HOUR_US, ""), 0)
    chain.take(result(error=AWAY), source("id"), start(13))
    assert chain.reading() is None
    assert chain.is_due(SourceMoment(13 * HOUR_US, ""), 12)


def test_what_no_key_names_demands_all_rows() -> None:
    chain = whole()
    assert chain.logged is not None
    chain.logged.needs_all_rows = True
    assert chain.is_due(SourceMoment(HOUR_US, ""), 12)
    chain = whole()
    chain.take(result(changed_keys=1, has_unknown_keys=True), None, start(2))
    assert chain.is_due(SourceMoment(HOUR_US, ""), 12)


def test_a_comparison_of_all_rows_may_end_while_keys_are_compared() -> None:
    chain = whole(1)
    assert taken(chain, 2) == {1}
    # It began before these keys were taken, and has found another one.
    chain.take(result(9), source("id"), start(1))
    chain.take(result(1, changed_keys=1), None, start(2))
    assert chain.position == "b.000001:1"
    assert taken(chain, 3) == {1, 9}


def test_without_a_position_all_rows_are_compared_each_time() -> None:
    chain = TableChain(TableChoice("shop", "t", "delta:/t"))
    chain.take(result(), source("id"), RoundStart(SourceMoment(HOUR_US, ""), ""))
    assert chain.reading() is None
    assert chain.is_due(SourceMoment(HOUR_US, ""), 12)


def test_while_all_rows_are_due_the_log_is_not_read_again() -> None:
    chain = whole()
    assert chain.logged is not None
    chain.logged.needs_all_rows = True
    assert chain.reading() is None


def test_too_many_keys_of_a_target_that_is_away_demand_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_chain, "KEYS_MAX", 3)
    chain = whole(7)
    logged(chain, 1, 2)
    chain.limit_keys()
    assert not chain.is_due(SourceMoment(HOUR_US, ""), 12)
    taken(chain, 2)
    chain.take(result(changed_keys=3, error=AWAY), None, start(2))
    logged(chain, 3)
    chain.limit_keys()
    assert chain.is_due(SourceMoment(HOUR_US, ""), 12)
    assert (chain.open_keys, chain.logged and chain.logged.keys) == ({}, {})


def test_a_table_with_other_columns_is_not_compared_by_its_old_ones() -> None:
    chain = whole()
    chain.require_same(source("id"))
    with pytest.raises(MirrorError) as caught:
        chain.require_same(source("id", "more"))
    assert caught.value.code == foreign_errors.TABLE_CHANGED

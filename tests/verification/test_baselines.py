"""From where on `--forever` compares changes, and when all rows are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import ConfigError
from tests.foundation.errors.texts import shown
from verification import verify_errors
from verification.baseline import Baseline
from verification.baselines import Baselines
from verification.report import Difference, TableResult
from verification.source_moment import SourceMoment

if TYPE_CHECKING:
    from pathlib import Path

NAME = "shop.orders"
OF = {"pipeline": "shop"}
DIFFERENT = Difference("different", {"id": 7}, {"name": "secret"}, {"name": None})


def at(minute: int) -> SourceMoment:
    return SourceMoment(minute * 60_000_000, f"0-1-{minute}")


def compared(minute: int, *, is_whole: bool, **facts: Any) -> TableResult:
    """Return the result of a comparison that began at a minute, at a version of this number."""
    result = TableResult(NAME, began_at=at(minute), **facts)
    result.baseline = Baseline("a", minute, {0: minute})
    result.changed_keys = None if is_whole else 3
    return result


def known_after(*results: TableResult) -> Baseline:
    baselines = Baselines(None, OF, 12)
    for result in results:
        baselines.take(result)
    known = baselines.get(NAME)
    assert known is not None
    return known


def test_all_rows_are_due_after_some_hours_and_changes_do_not_put_it_off() -> None:
    baselines = Baselines(None, OF, 2)
    assert baselines.is_due(NAME, at(0))
    baselines.take(compared(1, is_whole=True))
    baselines.take(compared(100, is_whole=False))
    assert [baselines.is_due(NAME, at(minute)) for minute in (1, 120, 121)] == [False, False, True]
    assert Baselines(None, OF, 0).is_due(NAME, at(1))


def test_changes_move_the_moment_and_what_was_proven_by_all_rows_stays() -> None:
    known = known_after(compared(1, is_whole=True), compared(5, is_whole=False))
    assert known == Baseline("a", 5, {0: 5}, "", at(5), at(1), at(1))
    # All rows were read meanwhile: later changes are known already.
    late = known_after(
        compared(1, is_whole=True), compared(5, is_whole=False), compared(3, is_whole=True)
    )
    assert late == Baseline("a", 5, {0: 5}, "", at(5), at(3), at(3))


def test_a_difference_that_only_all_rows_show_takes_the_moment_back() -> None:
    results = [compared(1, is_whole=True), compared(5, is_whole=False)]
    of_changes = known_after(*results, compared(7, is_whole=False, differences=[DIFFERENT]))
    assert (of_changes.version, of_changes.through) == (7, at(5))
    assert of_changes.different
    of_all = known_after(*results, compared(3, is_whole=True, differences=[DIFFERENT]))
    # Changes since this comparison began are compared again, and the key that differs.
    assert (of_all.version, of_all.through, of_all.whole) == (3, at(1), at(3))
    assert of_all.different


def test_what_is_not_finished_changes_nothing_and_too_much_is_compared_as_a_whole() -> None:
    first = compared(1, is_whole=True)
    unsettled = compared(5, is_whole=False, unsettled=1)
    assert known_after(first, unsettled) == known_after(first)
    many = known_after(first, compared(5, is_whole=False, differences=[DIFFERENT], has_more=True))
    # No table has this digest.
    assert (many.of, many.through) == ("", at(1))
    nameless = Difference("surplus", {}, None, {})
    assert known_after(first, compared(5, is_whole=True, differences=[nameless])).of == ""


def test_a_restart_goes_on_without_values_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    baselines = Baselines(path, OF, 12)
    baselines.take(compared(1, is_whole=True))
    baselines.take(compared(5, is_whole=False, differences=[DIFFERENT]))
    baselines.write()
    assert "secret" not in path.read_text()
    again = Baselines(path, OF, 12)
    assert again.get(NAME) == baselines.get(NAME)
    assert again.knows_one_of([("shop", "orders")])
    again.keep({"shop.others"})
    assert again.get(NAME) is None
    with pytest.raises(ConfigError) as caught:
        Baselines(path, {"pipeline": "other"}, 12)
    assert str(caught.value) == shown(verify_errors.STATE_OTHER, path=path, names=["pipeline"])
    path.write_text('{"format": 1, "of": {"pipeline": "shop"}, "tables": {"a.t": [1]}}')
    with pytest.raises(ConfigError) as caught:
        Baselines(path, OF, 12)
    said = "it is not a file of this program"
    assert str(caught.value) == shown(verify_errors.STATE_UNUSABLE, path=path, said=said)


def test_what_is_known_of_a_server_says_nothing_of_another_one(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = Baselines(path, OF | {"server": "a"}, 12)
    first.take(compared(5, is_whole=True))
    first.write()
    # The file is not of the new server before something was compared there.
    second, again = (Baselines(path, OF | {"server": "b"}, 12) for _ in range(2))
    assert second.get(NAME) is again.get(NAME) is None
    assert second.elsewhere == again.elsewhere == at(5)
    again.write()
    assert Baselines(path, OF | {"server": "b"}, 12).elsewhere is None

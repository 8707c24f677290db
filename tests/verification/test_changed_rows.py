"""Which keys have other rows in two versions of a mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.verification.past import Past
from verification.changed_keys import ChangedRows

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def past(tmp_path: Path) -> Past:
    past = Past(tmp_path)
    past.write(dict.fromkeys(range(10), 0))
    past.write({3: 1})
    return past


def changed(past: Past, version: int) -> list[Any]:
    """The keys that have changed since a version."""
    side = past.side
    found = ChangedRows(side, side.log.load_version(version), side.snapshot).each()
    different: set[Any] = {key for _, keys in found for (key,) in keys}
    return sorted(different)


def test_rows_that_came_went_or_changed_are_named(past: Past) -> None:
    past.write({1: 5})
    past.write({2: None, 20: 1})
    past.write({3: 1})
    past.write({4: 7})
    past.write({4: 0, 21: 1})
    past.write({21: None})
    assert changed(past, 2) == [1, 2, 20]
    assert changed(past, 4) == []


def test_rows_that_are_only_moved_are_not_named(past: Past) -> None:
    past.write({1: 5})
    past.rewrite(data_change=False)
    past.rewrite(data_change=True)
    past.write({7: None})
    assert changed(past, 2) == [1, 7]
    assert changed(past, 3) == [7]


def test_an_emptied_table_names_all_rows(past: Past) -> None:
    past.write(dict.fromkeys(range(10)))
    assert changed(past, 2) == list(range(10))

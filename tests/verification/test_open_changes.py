"""Rows of a snapshot tell which transactions it has, of those that the log has at its end."""

from __future__ import annotations

from typing import Any

import pytest

from verification.certificate.logged_sums import OpenChanges

A, B = (1, 1), (2, 2)
OLD, NEW, OTHER = (7, 7), (8, 8), (9, 9)
STEPS: dict[str, Any] = {
    "1": {A: (OLD, NEW)},
    "2": {B: (None, OTHER)},
    "3": {A: (NEW, OLD)},
    "4": {B: (OTHER, None)},
}


@pytest.mark.parametrize(
    ("seen", "count"),
    [
        # Before the first transaction and after the last one, the table is the same.
        ({A: OLD, B: None}, 4),
        ({A: NEW, B: None}, 1),
        ({A: NEW, B: OTHER}, 2),
        ({A: OLD, B: OTHER}, 3),
        # The log has no such moment.
        ({A: OTHER, B: None}, None),
        ({A: None, B: OTHER}, None),
    ],
)
def test_rows_are_those_after_some_of_the_transactions(seen: Any, count: int | None) -> None:
    changes: Any = OpenChanges(None, dict(STEPS))  # type: ignore[arg-type]
    assert changes.count_in(list(STEPS), seen) == count


def test_transactions_that_are_known_by_now_do_not_count() -> None:
    changes = OpenChanges(None, dict(STEPS))  # type: ignore[arg-type]
    assert changes.count_in(["3", "4"], {A: NEW, B: OTHER}) == 0
    assert changes.count_in(["3"], {A: NEW}) == 0
    assert changes.count_in(["3"], {A: OLD}) == 1

"""When rows that foreign keys have changed are copied."""

from __future__ import annotations

import pytest

from connector.stream.changes.cascades import CascadedRows
from connector.stream.snapshot.copy_backlog import CascadeCopies

ITEMS = "shop", "items"
WHERE = "`p` = 1"


def copies(
    seconds: float = 60.0, fenced: tuple[str, ...] = ()
) -> tuple[CascadedRows, CascadeCopies]:
    """Return rows that cascades changed, and what copies them."""
    rows = CascadedRows()
    return rows, CascadeCopies(rows, seconds, lambda _, table: table in fenced)


def test_the_first_copy_begins_at_once_and_the_next_after_a_pause() -> None:
    rows, cascaded = copies()
    rows.add(ITEMS, {WHERE})
    assert cascaded.due(100.0, ()) == [(*ITEMS, f"({WHERE})")]
    rows.add(ITEMS, {WHERE})
    rows.add(ITEMS, {""})
    # The first copy is under way, then the pause begins.
    assert cascaded.due(101.0, {ITEMS}) == []
    assert cascaded.due(102.0, ()) == []
    assert cascaded.due(161.9, ()) == []
    assert cascaded.due(162.0, ()) == [(*ITEMS, "")]
    assert rows.tables == []


@pytest.mark.parametrize(
    ("cost", "pause"),
    [(0.2, 60.0), (20.0, 180.0), (100.0, 900.0), (5000.0, 900.0)],
)
def test_the_pause_is_nine_times_the_cost_of_the_copy_up_to_a_bound(
    cost: float, pause: float
) -> None:
    rows, cascaded = copies()
    rows.add(ITEMS, {""})
    assert cascaded.due(0.0, ()) == [(*ITEMS, "")]
    rows.add(ITEMS, {""})
    # It waits for other copies and for the stream, which costs nothing.
    assert cascaded.due(9_000.0, {ITEMS}) == []
    cascaded.note_cost(ITEMS, cost)
    assert cascaded.due(10_000.0, ()) == []
    assert cascaded.due(10_000.0 + pause - 0.1, ()) == []
    assert cascaded.due(10_000.0 + pause, ()) == [(*ITEMS, "")]


def test_rows_that_wait_are_told_with_the_time_since_when() -> None:
    rows, cascaded = copies()
    rows.add(ITEMS, {WHERE})
    assert cascaded.due(5.0, {ITEMS}) == []
    rows.add(ITEMS, {""})
    assert cascaded.due(7.0, {ITEMS}) == []
    assert cascaded.waiting() == {ITEMS: 5.0}
    assert cascaded.due(8.0, ()) == [(*ITEMS, "")]
    assert cascaded.waiting() == {}
    rows.add(ITEMS, {""})
    assert cascaded.due(9.0, {ITEMS}) == []
    assert cascaded.met(ITEMS)
    assert cascaded.waiting() == {}
    rows.add(ITEMS, {""})
    assert cascaded.due(10.0, {ITEMS}) == []
    rows.forget(*ITEMS)
    assert cascaded.due(11.0, {ITEMS}) == []
    assert cascaded.waiting() == {}


def test_without_seconds_there_is_no_pause() -> None:
    rows, cascaded = copies(0)
    for seconds in (0.0, 5.0, 5.0):
        rows.add(ITEMS, {WHERE})
        assert cascaded.due(seconds, ()) == [(*ITEMS, f"({WHERE})")]


def test_another_copy_of_the_table_ends_first() -> None:
    rows, cascaded = copies(0)
    rows.add(ITEMS, {WHERE})
    rows.add(("shop", "notes"), {WHERE})
    assert cascaded.due(1.0, {ITEMS}) == [("shop", "notes", f"({WHERE})")]
    assert cascaded.due(2.0, ()) == [(*ITEMS, f"({WHERE})")]


def test_a_copy_of_all_rows_that_has_read_none_brings_them_too() -> None:
    rows, cascaded = copies()
    assert not cascaded.met(ITEMS)
    rows.add(ITEMS, {WHERE})
    assert not cascaded.met(ITEMS)
    rows.add(ITEMS, {""})
    assert cascaded.met(ITEMS)
    assert cascaded.due(1.0, ()) == []


def test_a_table_with_a_fence_is_copied_as_a_whole() -> None:
    rows, cascaded = copies(fenced=("items",))
    rows.add(ITEMS, {WHERE})
    assert cascaded.due(1.0, ()) == [(*ITEMS, "")]


def test_a_condition_that_failed_becomes_a_copy_of_all_rows() -> None:
    rows, cascaded = copies()
    rows.add(ITEMS, {WHERE})
    cascaded.add_all(*ITEMS)
    assert cascaded.due(1.0, ()) == [(*ITEMS, "")]

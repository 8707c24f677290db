"""When changes that wait become visible."""

from __future__ import annotations

from connector.commit_schedule import CommitSchedule


def test_a_lone_change_is_due_at_once() -> None:
    schedule = CommitSchedule(0.1, now=7.0)
    schedule.started(9.0)
    assert schedule.due(records=True) <= 9.0


def test_behind_a_commit_changes_gather_for_as_long_as_it_took() -> None:
    schedule = CommitSchedule(0.1, now=7.0)
    schedule.committed(8.0, 8.0625)
    schedule.started(8.0625)
    assert schedule.due(records=True) == 8.125


def test_a_commit_that_took_long_holds_changes_back_for_the_interval_alone() -> None:
    schedule = CommitSchedule(0.125, now=7.0)
    schedule.committed(8.0, 11.0)
    assert schedule.due(records=True) == 11.125


def test_changes_that_keep_coming_are_committed_after_the_interval() -> None:
    schedule = CommitSchedule(0.125, now=7.0)
    schedule.started(9.0)
    assert schedule.overdue(records=True) == 9.125


def test_what_only_moves_the_position_is_committed_every_five_seconds() -> None:
    schedule = CommitSchedule(0.125, now=7.0)
    schedule.committed(8.0, 9.0)
    schedule.started(10.0)
    assert (schedule.due(records=False), schedule.overdue(records=False)) == (14.0, 14.0)

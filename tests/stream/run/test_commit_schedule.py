"""When changes that wait become visible."""

from __future__ import annotations

from connector.stream.run.commits import CommitSchedule


def test_a_lone_change_is_due_at_once() -> None:
    schedule = CommitSchedule(0.1, now=7.0)
    schedule.started(9.0)
    assert schedule.due(records=True) <= 9.0


def test_changes_that_came_during_a_commit_are_due_after_it() -> None:
    schedule = CommitSchedule(0.1, now=7.0)
    schedule.committed(8.0)
    schedule.started(8.0)
    assert schedule.due(records=True) <= 8.0


def test_changes_that_keep_coming_are_committed_after_the_interval() -> None:
    schedule = CommitSchedule(0.125, now=7.0)
    schedule.started(9.0)
    assert schedule.overdue(records=True) == 9.125


def test_what_only_moves_the_position_is_committed_every_five_seconds() -> None:
    schedule = CommitSchedule(0.125, now=7.0)
    schedule.committed(9.0)
    schedule.started(10.0)
    assert (schedule.due(records=False), schedule.overdue(records=False)) == (14.0, 14.0)

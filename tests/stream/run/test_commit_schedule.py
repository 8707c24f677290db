"""When changes that wait become visible."""

from __future__ import annotations

from connector.stream.run.commits import CommitSchedule


def test_a_lone_change_is_due_at_once() -> None:
    schedule = CommitSchedule(0.1, 0.0, now=7.0)
    schedule.batch_started = 9.0
    assert schedule.due_at(records=True) <= 9.0


def test_changes_that_came_during_a_commit_are_due_after_it() -> None:
    schedule = CommitSchedule(0.1, 0.0, now=7.0)
    schedule.committed_at = 8.0
    schedule.batch_started = 8.0
    assert schedule.due_at(records=True) <= 8.0


def test_changes_that_keep_coming_are_committed_after_the_interval() -> None:
    schedule = CommitSchedule(0.125, 0.0, now=7.0)
    schedule.batch_started = 9.0
    assert schedule.deadline(records=True) == 9.125


def test_what_only_moves_the_position_is_committed_every_five_seconds() -> None:
    schedule = CommitSchedule(0.125, 0.0, now=7.0)
    schedule.committed_at = 9.0
    schedule.batch_started = 10.0
    assert (schedule.due_at(records=False), schedule.deadline(records=False)) == (14.0, 14.0)


def test_changes_wait_for_the_end_of_the_pause() -> None:
    schedule = CommitSchedule(0.125, 0.0625, now=7.0)
    schedule.committed_at = 9.0
    schedule.batch_started = 9.0
    assert (schedule.due_at(records=True), schedule.deadline(records=True)) == (9.0625, 9.125)


def test_a_change_after_the_pause_is_due_at_once() -> None:
    schedule = CommitSchedule(0.125, 0.0625, now=7.0)
    schedule.batch_started = 9.0
    assert schedule.due_at(records=True) <= 9.0


def test_the_interval_ends_a_longer_pause() -> None:
    schedule = CommitSchedule(0.125, 60.0, now=7.0)
    schedule.batch_started = 9.0
    assert (schedule.due_at(records=True), schedule.deadline(records=True)) == (9.125, 9.125)

"""What a stream wants copied anew waits until the copies have their turn."""

from __future__ import annotations

from connector.stream.run.assembly import LoggingListener
from connector.stream.snapshot.copy_backlog import CopyQueue


def test_a_table_that_the_stream_wants_copied_is_taken_once() -> None:
    wanted = CopyQueue()
    notices = LoggingListener(wanted)
    notices.resync_wanted("shop", "orders", "its columns are not known")
    notices.resync_wanted("shop", "items", "ALTER TABLE")
    assert wanted.take() == [
        ("shop", "orders", "its columns are not known"),
        ("shop", "items", "ALTER TABLE"),
    ]
    assert wanted.take() == []


def test_a_table_that_ends_before_the_turn_of_the_copies_is_not_copied() -> None:
    wanted = CopyQueue()
    notices = LoggingListener(wanted)
    for name in ("orders", "items"):
        notices.resync_wanted("shop", name, "ALTER TABLE")
    notices.resync_wanted("crm", "orders", "ALTER TABLE")
    notices.table_ended("shop", "orders")
    assert wanted.take() == [("shop", "items", "ALTER TABLE"), ("crm", "orders", "ALTER TABLE")]


def test_of_a_database_that_ends_no_table_is_copied() -> None:
    wanted = CopyQueue()
    notices = LoggingListener(wanted)
    for name in ("orders", "items"):
        notices.resync_wanted("shop", name, "ALTER TABLE")
    notices.resync_wanted("crm", "orders", "ALTER TABLE")
    notices.table_ended("shop", "")
    assert wanted.take() == [("crm", "orders", "ALTER TABLE")]


def test_a_table_that_is_made_again_after_its_end_is_copied() -> None:
    wanted = CopyQueue()
    notices = LoggingListener(wanted)
    notices.table_ended("shop", "orders")
    notices.resync_wanted("shop", "orders", "CREATE TABLE … SELECT")
    assert wanted.take() == [("shop", "orders", "CREATE TABLE … SELECT")]

"""What a run that ended means for the next one."""

from __future__ import annotations

from connector.stream.run.supervisor import RetryState


def test_the_first_run_leaves_out_nothing_and_commits_in_batches() -> None:
    following = RetryState()
    assert following.single_transactions == 0
    assert following.rolled_back == frozenset()


def test_rows_that_were_rolled_back_are_left_out_in_all_runs_until_a_peer_is_lost() -> None:
    following = RetryState()
    following.leave_out_rows("uuid:1")
    following.leave_out_rows("uuid:5")
    assert following.rolled_back == {"uuid:1", "uuid:5"}
    following.start_over()
    assert following.rolled_back == frozenset()


def test_a_rollback_leaves_the_transactions_that_are_committed_one_by_one() -> None:
    following = RetryState()
    assert following.save_complete(3)
    following.leave_out_rows("uuid:1")
    assert following.single_transactions == 3


def test_what_came_before_a_change_that_cannot_be_published_is_committed_one_by_one() -> None:
    following = RetryState()
    assert following.save_complete(3)
    assert following.single_transactions == 3


def test_a_change_that_cannot_be_published_is_the_end_if_nothing_came_before_it() -> None:
    following = RetryState()
    assert not following.save_complete(0)
    assert following.single_transactions == 0


def test_a_change_that_cannot_be_published_is_the_end_when_it_comes_again() -> None:
    following = RetryState()
    assert following.save_complete(3)
    assert not following.save_complete(2)


def test_after_a_lost_peer_what_came_before_a_refused_change_is_saved_once_more() -> None:
    following = RetryState()
    assert following.save_complete(3)
    following.start_over()
    assert following.single_transactions == 0
    assert following.save_complete(2)
    assert following.single_transactions == 2


def test_a_transaction_that_kafka_aborted_is_sent_alone_once() -> None:
    following = RetryState()
    assert following.spare_others("uuid:7", 4)
    assert following.single_transactions == 4
    assert not following.spare_others("uuid:7", 0)


def test_another_transaction_that_kafka_aborted_has_a_chance_of_its_own() -> None:
    following = RetryState()
    assert following.spare_others("uuid:7", 4)
    assert following.spare_others("uuid:8", 1)
    assert following.single_transactions == 1
    assert following.spare_others("uuid:7", 2)


def test_a_lost_peer_gives_no_transaction_another_chance() -> None:
    following = RetryState()
    assert following.spare_others("uuid:7", 4)
    following.start_over()
    assert following.single_transactions == 0
    assert not following.spare_others("uuid:7", 4)


def test_a_transaction_that_kafka_aborted_lets_what_was_rolled_back_be_read_again() -> None:
    following = RetryState()
    following.leave_out_rows("uuid:1")
    assert following.save_complete(3)
    assert following.spare_others("uuid:7", 4)
    assert following.rolled_back == frozenset()
    assert following.save_complete(1)

"""Places between two transactions: behind the one, before the other, rising."""

from __future__ import annotations

from connector.foundation.contract import Sequence
from connector.stream.progress.sequences import GapCounter, TransactionOrder

FILE = "binlog.000007"


def taken(between: GapCounter, file: str, position: int, count: int = 1) -> Sequence:
    first = between.take(file, position, count)
    return Sequence(first.epoch, first.file, first.position, first.event, first.row)


def test_what_stands_between_transactions_rises() -> None:
    order = TransactionOrder()
    between = GapCounter(order, FILE, 4, 0)
    sequences = [
        taken(between, FILE, 4, 3),
        taken(between, FILE, 4),
        Sequence(*order.of_transaction(FILE, 4), 0, 0),
        taken(between, FILE, 300, 10**8),
        taken(between, FILE, 300),
        Sequence(*order.of_transaction(FILE, 300), 0, 0),
        taken(between, FILE, 500),
        Sequence(*order.of_transaction("binlog.000008", 4), 0, 0),
    ]
    assert sequences == sorted(set(sequences))
    assert sequences[0] == Sequence(1, 7, 3, 0, 0)
    assert sequences[4] == Sequence(1, 7, 299, 1, 0)


def test_a_restart_at_the_same_position_counts_on() -> None:
    before = GapCounter(TransactionOrder(), FILE, 300, 0)
    last = taken(before, FILE, 300, 5)
    again = GapCounter(
        TransactionOrder(epoch=1, file=FILE, position=300),
        FILE,
        300,
        before.count_at(FILE, 300),
    )
    assert taken(again, FILE, 300) == Sequence(1, 7, 299, 0, 5) > last


def test_the_count_is_of_one_position() -> None:
    between = GapCounter(TransactionOrder(), FILE, 300, 5)
    assert between.count_at(FILE, 300) == 5
    assert between.count_at(FILE, 400) == 0
    taken(between, FILE, 400, 2)
    assert between.count_at(FILE, 400) == 2


def test_another_server_may_have_lower_positions() -> None:
    order = TransactionOrder(epoch=1, file=FILE, position=300, same_server=False)
    between = GapCounter(order, FILE, 300, 0)
    copied = taken(between, FILE, 300)
    following = Sequence(*order.of_transaction("binlog.000002", 4), 0, 0)
    assert Sequence(1, 7, 299, 0, 0) < copied < following

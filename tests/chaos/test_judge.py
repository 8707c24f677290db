"""Each way in which the promise can be broken is found by the one who judges."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition

from tests.chaos.ledger import Ledger, Transaction
from tests.chaos.tables import RowId
from tests.chaos.topic_reader import TopicReader
from tests.chaos.verdict import Verdict, _compare_changes, _compare_rows

ROW = RowId("account", 7)


class Topics:
    """A reader that is given records by hand."""

    def __init__(self) -> None:
        self.reader = TopicReader({}, "p", "d")
        self._offset = 0

    def show(self, seq: int, op: str, n: int, key: int = ROW.key) -> None:
        row = {"id": key, "n": n}
        value = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
        self.take(seq, op, value)

    def take(self, seq: int, op: str, value: Any) -> None:
        self._offset += 1
        record = SimpleNamespace(
            offset=self._offset,
            headers=[("cdc.seq", f"{seq:038d}".encode()), ("cdc.op", op.encode())],
            value=None if value is None else json.dumps(value).encode(),
        )
        self.reader._take(TopicPartition("p.d.account", 0), record)

    def kinds(self, *committed: tuple[str, ...]) -> set[str]:
        """Return what is wrong, where these transactions of changes were committed."""
        ledger = Ledger()
        for ops in committed:
            transaction = Transaction(ledger)
            for op in ops:
                transaction.add(ROW, op)
            ledger.commit(transaction)
        verdict = Verdict(counts=self.reader.problem_counts.copy())
        # The rows that nobody owns were inserted once each.
        for number in range(5):
            self.reader.changes[RowId("hot", number)] = [("c", 1)]
        _compare_changes(verdict, [ledger], self.reader)
        return {kind for kind, number in verdict.counts.items() if number}


def test_what_was_committed_is_there() -> None:
    topics = Topics()
    for seq, op, n in ((1, "c", 1), (2, "u", 2), (3, "d", 2)):
        topics.show(seq, op, n)
    topics.take(3, "d", None)
    topics.show(4, "c", 3)

    assert topics.kinds(("c", "u"), ("d",), ("c",)) == set()
    assert topics.reader.rows("account") == [{"id": 7, "n": 3}]


def test_a_change_that_is_not_there_is_a_gap_and_missing() -> None:
    topics = Topics()
    topics.show(1, "c", 1)
    topics.show(3, "u", 3)

    assert topics.kinds(("c", "u", "u")) == {"gap", "missing"}


def test_the_last_change_that_is_not_there_is_missing() -> None:
    topics = Topics()
    topics.show(1, "c", 1)

    assert topics.kinds(("c", "u")) == {"missing"}


def test_a_change_that_comes_again_is_a_repeat() -> None:
    topics = Topics()
    for seq in (1, 2):
        topics.show(seq, "c", 1)

    assert topics.kinds(("c",)) == {"repeat", "surplus"}


def test_a_sequence_that_does_not_rise_is_a_wrong_order() -> None:
    topics = Topics()
    topics.show(2, "c", 1)
    topics.show(1, "u", 2)

    assert topics.kinds(("c", "u")) == {"order"}


def test_a_sequence_of_two_records_is_a_repeat() -> None:
    topics = Topics()
    topics.show(2, "c", 1)
    topics.show(2, "u", 2)

    assert topics.kinds(("c", "u")) == {"order", "repeat"}


def test_a_change_that_was_rolled_back_is_surplus() -> None:
    topics = Topics()
    topics.show(1, "c", 1)
    topics.show(2, "u", 2)

    assert topics.kinds(("c",)) == {"surplus"}


def test_a_tombstone_that_follows_no_delete_is_a_wrong_order() -> None:
    topics = Topics()
    topics.show(1, "c", 1)
    topics.take(1, "u", None)

    assert topics.kinds(("c",)) == {"order"}


def test_rows_before_a_truncate_are_gone() -> None:
    topics = Topics()
    topics.show(1, "c", 1)
    topics.take(2, "t", {"before": None, "after": None})
    topics.show(3, "c", 1, key=8)

    assert topics.reader.rows("account") == [{"id": 8, "n": 1}]


@pytest.mark.parametrize(
    "folded",
    [[], [{"id": 7, "n": 1}], [{"id": 7, "n": 2}, {"id": 8, "n": 1}], [{"id": 7, "n": 2}] * 2],
)
def test_rows_that_differ_from_the_source_are_told(folded: list[dict[str, Any]]) -> None:
    verdict = Verdict()

    _compare_rows(verdict, "account", [{"id": 7, "n": 2}], folded, {})

    assert verdict.counts["state"]


def test_rows_have_the_default_of_a_column_that_was_added_and_not_one_that_was_dropped() -> None:
    verdict = Verdict()

    on_source = [{"id": 7, "n": 2, "more_2": 2}]
    defaults = {"more_1": 1, "more_2": 2}
    _compare_rows(verdict, "account", on_source, [{"id": 7, "n": 2}], defaults)

    assert not verdict.problems


def test_a_rolled_back_part_of_a_transaction_is_not_committed() -> None:
    ledger = Ledger()
    transaction = Transaction(ledger)
    transaction.add(ROW, "c")
    kept = len(transaction.changes)
    transaction.add(ROW, "u")
    transaction.back_to(kept)
    ledger.commit(transaction)

    assert ledger.changes[ROW] == [("c", 1)]
    assert ledger.latest(ROW) == ("c", 1)

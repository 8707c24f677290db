"""Records come back in reverse order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connector.flashback.spool import Spool


@given(st.lists(st.text()))
def test_records_come_back_in_reverse_order(records: list[str]) -> None:
    with Spool() as spool:
        for record in records:
            spool.append(record)
        assert list(reversed(spool)) == records[::-1]


def test_a_record_may_be_longer_than_a_block() -> None:
    records = ["a" * 3_000_000, "", "é" * 1_000_000, "b"]
    with Spool() as spool:
        for record in records:
            spool.append(record)
        assert list(reversed(spool)) == records[::-1]


def test_what_is_after_a_mark_can_be_dropped() -> None:
    with Spool() as spool:
        spool.append("kept")
        mark = spool.mark()
        spool.append("dropped")
        spool.cut(mark)
        spool.append("new")
        assert list(reversed(spool)) == ["new", "kept"]

"""Records come back in reverse order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connector.logs.flashback.reverse_spool import ReverseSpool
from tests.logs.flashback.undone import reversed_lines


def lines(records: list[bytes]) -> bytes:
    return b"".join(record + b"\n" for record in reversed(records))


@given(st.lists(st.binary()))
def test_records_come_back_in_reverse_order(records: list[bytes]) -> None:
    with ReverseSpool() as spool:
        for record in records:
            spool.append(record)
        assert reversed_lines(spool) == lines(records)


def test_a_record_may_be_longer_than_a_block() -> None:
    records = [b"a" * 3_000_000, b"", b"c" * 1_000_000, b"b", b"d" * 300_000]
    with ReverseSpool() as spool:
        for record in records:
            spool.append(record)
        assert reversed_lines(spool) == lines(records)


def test_a_record_may_come_in_pieces() -> None:
    with ReverseSpool() as spool:
        for number in range(100_000):
            spool.block.write(b"%d" % number)
            spool.block.write(b";")
            spool.end_record()
        assert reversed_lines(spool) == lines([b"%d;" % number for number in range(100_000)])


def test_what_is_after_a_mark_can_be_dropped() -> None:
    for size in (10, 200_000, 900_000):
        with ReverseSpool() as spool:
            spool.append(b"kept")
            mark = spool.mark()
            spool.append(b"d" * size)
            spool.append(b"dropped")
            spool.block.write(b"not ended")
            spool.cut(mark)
            spool.append(b"new")
            assert reversed_lines(spool) == b"new\nkept\n"

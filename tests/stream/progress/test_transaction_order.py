"""The total order of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.header import file_number
from connector.foundation.contract import Sequence
from connector.foundation.errors import UnsupportedChange
from connector.stream.progress.sequences import TransactionOrder

SEQUENCES = st.builds(
    Sequence,
    st.integers(0, 9_999),
    st.integers(0, 99_999_999),
    st.integers(0, 9_999_999_999),
    st.integers(0, 99_999_999),
    st.integers(0, 99_999_999),
)


@given(SEQUENCES, SEQUENCES)
def test_the_digits_of_sequences_order_like_their_numbers(a: Sequence, b: Sequence) -> None:
    assert (str(a) < str(b)) == (a < b)
    assert len(str(a)) == 38
    assert Sequence.parse(str(a)) == a


@pytest.mark.parametrize("text", ["", "1" * 37, "1" * 39, "x" * 38, "-" + "1" * 37])
def test_anything_but_38_digits_is_no_sequence(text: str) -> None:
    with pytest.raises(ValueError, match=f"a sequence has 38 digits, not '{text}'"):
        Sequence.parse(text)


def test_the_epoch_stays_while_positions_rise() -> None:
    order = TransactionOrder()
    assert order.of_transaction("binlog.000001", 4) == (1, 1, 4)
    assert order.of_transaction("binlog.000001", 900) == (1, 1, 900)
    assert order.of_transaction("binlog.000002", 4) == (1, 2, 4)


def test_the_epoch_rises_when_positions_go_back() -> None:
    order = TransactionOrder()
    order.of_transaction("binlog.000007", 900)
    assert order.of_transaction("binlog.000001", 126) == (2, 1, 126)
    assert order.of_transaction("binlog.000001", 500) == (2, 1, 500)


def test_the_same_position_twice_is_two_positions() -> None:
    order = TransactionOrder()
    order.of_transaction("binlog.000001", 126)
    assert order.of_transaction("binlog.000001", 126) == (2, 1, 126)


def test_a_resumed_stream_on_the_same_server_continues_the_epoch() -> None:
    order = TransactionOrder(epoch=3, file="binlog.000002", position=700)
    assert order.of_transaction("binlog.000002", 700) == (3, 2, 700)


def test_a_resumed_stream_whose_log_was_reset_gets_a_new_epoch() -> None:
    order = TransactionOrder(epoch=3, file="binlog.000002", position=700)
    assert order.of_transaction("binlog.000001", 158) == (4, 1, 158)


def test_another_server_gets_a_new_epoch_wherever_its_log_stands() -> None:
    order = TransactionOrder(epoch=3, file="binlog.000002", position=700, same_server=False)
    assert order.of_transaction("binlog.000009", 4) == (4, 9, 4)


def test_before_the_server_has_named_its_file_the_position_is_before_all_files() -> None:
    order = TransactionOrder(epoch=3, file="binlog.000002", position=700, same_server=False)
    assert order.between("", 4) == (4, 0, 3)
    assert order.of_transaction("binlog.000001", 4) == (4, 1, 4)


def test_a_log_file_without_a_number_cannot_be_ordered() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        file_number("binlog")
    assert caught.value.text == (
        "log file 'binlog' has no number at the end of its name, so it cannot be ordered; give "
        "it the name that its server gave it"
    )


def test_a_sequence_that_would_overflow_is_refused() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        TransactionOrder(epoch=9_999).of_transaction("binlog.000001", 10**10)
    assert caught.value.text == (
        "binlog.000001:10000000000 in epoch 9999 is beyond what a sequence can count; run RESET "
        "BINARY LOGS AND GTIDS on the source in a maintenance window and start the pipeline under "
        "a new name"
    )

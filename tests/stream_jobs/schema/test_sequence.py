"""Sequences become two BIGINTs that order as the sequences do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.foundation.contract import Sequence
from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence, PackedSequences

sequences = st.builds(
    Sequence,
    epoch=st.integers(0, 2**11 - 1),
    file=st.integers(0, 2**20 - 1),
    position=st.integers(0, 2**32 - 1),
    event=st.integers(0, 10**8 - 1),
    row=st.integers(0, 10**8 - 1),
)


def test_the_parts_lie_where_the_diagram_says() -> None:
    packed = PackedSequence.pack(Sequence(epoch=3, file=5, position=7, event=11, row=13))
    assert packed == PackedSequence(hi=3 << 52 | 5 << 32 | 7, lo=11 << 32 | 13)


@given(sequences)
def test_unpacking_gives_back_what_was_packed(sequence: Sequence) -> None:
    assert PackedSequence.pack(sequence).unpack() == sequence


@given(sequences, sequences)
def test_packed_sequences_order_as_sequences_do(one: Sequence, other: Sequence) -> None:
    packed_one, packed_other = map(PackedSequence.pack, (one, other))
    assert (packed_one < packed_other) == (one < other)


@given(sequences)
def test_both_halves_fit_a_signed_bigint(sequence: Sequence) -> None:
    packed = PackedSequence.pack(sequence)
    assert 0 <= packed.hi < 2**63
    assert 0 <= packed.lo < 2**63


@pytest.mark.parametrize(
    "beyond",
    [
        Sequence(2**11, 0, 0, 0, 0),
        Sequence(0, 2**20, 0, 0, 0),
        Sequence(0, 0, 2**32, 0, 0),
    ],
)
def test_a_part_that_is_too_wide_is_an_error_and_not_a_wrap(beyond: Sequence) -> None:
    with pytest.raises(MirrorError) as caught:
        PackedSequence.pack(beyond)
    assert caught.value.text == (
        f"sequence {beyond} is beyond what a mirror can store; begin again under a new topic prefix"
    )


@given(st.lists(sequences, min_size=1), st.sampled_from([1, 100]), sequences)
def test_many_are_packed_and_compared_as_each_of_them_is(
    listed: list[Sequence], times: int, bound: Sequence
) -> None:
    each = listed * times
    many = PackedSequences("".join(map(str, each)).encode())
    packed = [PackedSequence.pack(sequence) for sequence in each]
    assert many.fits.all()
    assert [many.at(place) for place in range(len(each))] == packed
    limit = PackedSequence.pack(bound)
    assert many.are_above(limit).tolist() == [one > limit for one in packed]
    every = np.arange(len(each))
    assert (many.lowest(every), many.highest(every)) == (min(packed), max(packed))
    assert many.highest(every[:0]) is None


@pytest.mark.parametrize(
    "text", ["9" * 38, "0" * 37 + "x", "\0" * 38, "0" * 37 + "/", "2048" + "0" * 34]
)
def test_what_is_no_sequence_among_many_is_found(text: str) -> None:
    right = str(Sequence(1, 2, 3, 4, 5))
    assert PackedSequences((right + text + right).encode()).fits.tolist() == [True, False, True]
    every = PackedSequences((right * 100 + text).encode())
    assert every.fits.tolist() == [True] * 100 + [False]
    assert every.at(100) == PackedSequence(0, 0)

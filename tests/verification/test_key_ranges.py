"""Ranges of keys: each key is in one, they are divided, and SQL names them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from verification.key_ranges import GREATEST, LEAST, KeyNumber, KeyRanges, numbers_of


def test_all_keys_are_in_ranges_of_about_as_many_rows() -> None:
    keys = np.random.default_rng(1).permutation(100_000) * 7
    parts = np.array_split(keys, 9)
    ranges = KeyRanges.whole().divided(parts, len(keys), 1000)
    assert (ranges.low[0], ranges.high[-1]) == (LEAST, GREATEST)
    assert (ranges.low[1:] == ranges.high[:-1] + 1).all()
    rows = np.bincount(ranges.places(keys), minlength=len(ranges))
    assert 95 <= len(ranges) <= 105
    # The keys of boundaries are a sample, so ranges are not alike.
    assert rows.max() < 4000


def test_only_some_ranges_are_divided_and_nothing_comes_between() -> None:
    ranges = KeyRanges(np.array([0, 500]), np.array([99, 599]))
    keys = np.arange(1000)
    parts = ranges.divided([keys], 200, 10)
    assert parts.low[0] == 0
    assert parts.high[-1] == 599
    assert (parts.places(keys) >= 0).sum() == 200
    assert parts.places(np.array([-1, 99, 100, 499, 500, 600])).tolist()[2:4] == [-1, -1]
    joined = parts.joined()
    assert (joined.low.tolist(), joined.high.tolist()) == ([0, 500], [99, 599])
    runs = [(int(parts.low[run][0]), int(parts.high[run][-1])) for run in parts.runs(1000)]
    assert runs == [(0, 99), (500, 599)]
    assert all(len(parts.low[run]) <= 4 for run in parts.runs(4))


def test_a_mirror_without_rows_leaves_one_range() -> None:
    ranges = KeyRanges.whole().divided([np.empty(0, np.int64)], 0, 1000)
    assert (ranges.low.tolist(), ranges.high.tolist()) == ([LEAST], [GREATEST])


def test_unsigned_keys_keep_their_order_and_sql_has_their_values() -> None:
    values = [0, 1, 2**63, 2**64 - 1]
    column = pa.chunked_array(
        [pa.array([Decimal(value) for value in values], pa.decimal128(20, 0)).slice(1), []],
        pa.decimal128(20, 0),
    )
    numbers = numbers_of(column)
    assert numbers.tolist() == [1 - 2**63, 0, 2**63 - 1]
    key = KeyNumber("`id`", is_unsigned=True)
    assert [key.number(Decimal(value)) for value in values[1:]] == numbers.tolist()
    ranges = KeyRanges(numbers[:1], numbers[1:2])
    assert key.condition(ranges) == f"(`id` >= 1 AND `id` <= {2**63})"
    assert key.condition(KeyRanges.whole()) == "(TRUE)"
    signed = KeyNumber("`id`", is_unsigned=False)
    assert signed.between(LEAST, 7) == "`id` <= 7"
    assert signed.between(-3, GREATEST) == "`id` >= -3"

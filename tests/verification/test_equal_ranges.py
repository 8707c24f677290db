"""Ranges that were equal, and what is left of a table."""

from __future__ import annotations

import numpy as np
import pytest

from verification.key_ranges import GREATEST, LEAST, EqualRanges, KeyRanges


def ranges(*both: tuple[int, int]) -> KeyRanges:
    found = np.array(both, np.int64).reshape(-1, 2)
    return KeyRanges(found[:, 0], found[:, 1])


def pairs(some: KeyRanges) -> list[tuple[int, int]]:
    return list(zip(some.low.tolist(), some.high.tolist(), strict=True))


def test_the_rest_has_all_other_keys() -> None:
    equal = EqualRanges.none()
    assert pairs(equal.rest()) == [(LEAST, GREATEST)]
    equal.add(ranges((10, 19), (30, 39)), np.array([5, 6]))
    equal.add(ranges((20, 24)), np.array([7]))
    assert pairs(equal.rest()) == [(LEAST, 9), (25, 29), (40, GREATEST)]
    assert equal.rows == 18
    equal.add(ranges((LEAST, 9), (40, GREATEST)), np.array([1, 1]))
    assert pairs(equal.rest()) == [(25, 29)]
    equal.add(ranges((25, 29)), np.array([0]))
    assert pairs(equal.rest()) == []


def test_neighbours_are_one_range_in_a_file_and_their_rows_stay() -> None:
    equal = EqualRanges.none()
    equal.add(ranges((0, 9), (20, 29), (10, 19), (50, 59)), np.array([1, 2, 3, 4]))
    found = equal.to_json()
    assert found == {"low": [0, 50], "high": [29, 59], "rows": [6, 4]}
    assert EqualRanges.of_json(found).to_json() == found


def test_of_many_ranges_those_that_fit_are_kept_with_their_rows() -> None:
    equal = EqualRanges.none()
    low = np.arange(30_000) * 10
    equal.add(KeyRanges(low, low + 1), np.ones(len(low), np.int64))
    assert EqualRanges.of_json(equal.to_json()).rows == 10_000


def test_lists_that_do_not_fit_together_are_no_ranges() -> None:
    with pytest.raises(ValueError, match="1"):
        EqualRanges.of_json({"low": [1], "high": [], "rows": []})

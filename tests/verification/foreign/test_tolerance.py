"""Two values are near if they are at most the tolerance away from each other, as people count."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from verification.foreign.tolerance import (
    NearRow,
    Tolerance,
    Tolerances,
    distances_of,
    numbers_of,
)


@pytest.mark.parametrize(
    ("own", "other", "size", "near"),
    [
        # The doubles of 19.91 and 19.90 are more than 0.01 away.
        (Decimal("19.91"), Decimal("19.90"), 0.01, True),
        (Decimal("19.92"), Decimal("19.90"), 0.01, False),
        (Decimal("9999999999999.91"), Decimal("9999999999999.90"), 0.01, True),
        (Decimal("9999999999999.92"), Decimal("9999999999999.90"), 0.01, False),
        (0.1 + 0.2, 0.3, 0.0, True),
        (0.300001, 0.3, 0.0, False),
        (float("inf"), float("inf"), 1.0, True),
        (float("inf"), 1.0, 1.0, False),
        (-5, 5, 10, True),
        (-5, 6, 10, False),
    ],
)
def test_numbers_are_near(own: Any, other: Any, size: float, near: bool) -> None:
    kind = pa.decimal128(15, 2) if isinstance(own, Decimal) else None
    first, second = (numbers_of(pa.chunked_array([pa.array([v], kind)])) for v in (own, other))
    assert Tolerance(size).near(first, second).tolist() == [near]


def test_times_are_near_to_the_microsecond() -> None:
    kind = pa.timestamp("us", "UTC")
    moments = [numbers_of(pa.array([us], kind)) for us in (0, 10**6, 10**6 + 1, 2**53)]
    second = Tolerance(1, is_seconds=True)
    assert [second.near(moments[0], each).item() for each in moments] == [True, True, False, False]
    days = [numbers_of(pa.array([day], pa.date32())) for day in (19_000, 19_001)]
    assert Tolerance(86_400, is_seconds=True).near(*days).all()
    assert not Tolerance(86_399, is_seconds=True).near(*days).any()


@pytest.mark.parametrize(
    ("kind", "own", "other", "expected"),
    [
        (pa.timestamp("us", "UTC"), [1, 5, None], [3, None, 4], [2.0]),
        (pa.date32(), [1, 2], [2, 2], [86_400e6, 0.0]),
        (pa.uint64(), [2**63, 1], [0, 3], [2.0**63, 2.0]),
        (pa.float64(), [float("inf"), float("inf")], [float("inf"), 1.0], [float("inf")]),
        (pa.decimal256(65, 30), [Decimal("1.5")], [Decimal(-1)], [2.5]),
        (pa.string(), ["10:00:00"], ["11:00:00"], []),
        (pa.bool_(), [True], [False], []),
    ],
)
def test_distances_are_those_of_pairs_of_numbers_or_times(
    kind: Any, own: list[Any], other: list[Any], expected: list[float]
) -> None:
    assert distances_of(pa.array(own, kind), pa.array(other, kind)).tolist() == expected


def test_rows_are_near_if_all_numbers_are_and_the_rest_is_equal() -> None:
    both = Tolerances({"a": Tolerance(0.5), "b": Tolerance(1.0)})
    row = NearRow((1, 2), np.array([[1.0, 1.0]]), both)
    assert row == NearRow((1, 2), np.array([[1.5, 0.0]]), both)
    assert row != NearRow((1, 2), np.array([[1.6, 0.0]]), both)
    assert row != NearRow((1, 3), np.array([[1.0, 1.0]]), both)
    assert row != (1, 2)

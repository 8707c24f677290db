"""The oracle of histories finds what is wrong with borders."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from connector.foundation.contract import Sequence
from stream_jobs.source.sequence import PackedSequence
from tests.stream_jobs.history_oracle import CommitTimes, problems_of_history

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def at(second: int) -> datetime:
    return BEGAN + timedelta(seconds=second)


# Each transaction takes 100 bytes, and a second.
TIMES = CommitTimes(
    {(1, 100 * number): at(number) for number in range(10)},
    {(1, 100 * (number + 1)): at(number) for number in range(10)},
)


def place(number: int, *, is_copy: bool = False) -> PackedSequence:
    """The sequence of the transaction `number`, or of a copy after it."""
    position = 100 * (number + 1) - 1 if is_copy else 100 * number
    return PackedSequence.pack(Sequence(1, 1, position, 0, 0))


def version(
    start: int, end: int | None = None, op: str | None = None, **facts: Any
) -> dict[str, Any]:
    hi, lo = place(start)
    end_hi, end_lo = (None, None) if end is None else place(end)
    row: dict[str, Any] = {
        "id": 1,
        "_cdc_valid_from": at(start),
        "_cdc_valid_to": None if end is None else at(end),
        "_cdc_is_current": end is None,
        "_cdc_end_op": op,
        "_cdc_hi": hi,
        "_cdc_lo": lo,
        "_cdc_end_hi": end_hi,
        "_cdc_end_lo": end_lo,
    }
    return row | facts


def copied() -> list[dict[str, Any]]:
    """A truncate before a copy ends a version, and a copied row begins one."""
    end_hi, end_lo = place(4, is_copy=True)
    ended = version(2, 4, "t", _cdc_end_hi=end_hi, _cdc_end_lo=end_lo)
    return [ended, version(4, _cdc_hi=end_hi, _cdc_lo=end_lo + 1)]


@pytest.mark.parametrize(
    "rows",
    [
        [version(1, 2, "u"), version(2, 3, "d"), version(5)],
        copied(),
        # The time of the log ran backwards.
        [version(1, 2, "u", _cdc_valid_from=at(1)), version(2)],
    ],
)
def test_right_borders_are_right(rows: list[dict[str, Any]]) -> None:
    assert problems_of_history(rows, ["id"], TIMES) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([version(1, 4, "u"), version(2)], "two versions"),
        ([version(1), version(2)], "two versions"),
        ([version(1, 2, "u"), version(3)], "a gap"),
        ([version(1, _cdc_valid_from=at(2))], "in the log"),
        ([version(1, 2, "d", _cdc_valid_to=at(3))], "in the log"),
        ([version(1, _cdc_hi=7)], "nothing at"),
        ([version(1, _cdc_is_current=False)], "is it current"),
    ],
)
def test_wrong_borders_are_named(rows: list[dict[str, Any]], words: str) -> None:
    found = problems_of_history(rows, ["id"], TIMES)
    assert any(words in each for each in found), found

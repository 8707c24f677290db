"""The index of a mirror's rows: what is equal, what was not seen, and keys that are there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from stream_jobs.apply.row_hashes import Keys
from verification import digests
from verification.digests import RowIndex, digest_pairs, row_digests

if TYPE_CHECKING:
    from pathlib import Path


def table(ids: list[int], values: list[str | None]) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(values, pa.string())})


def add(index: RowIndex, data: pa.Table) -> None:
    index.add(row_digests(data, ["id"]), row_digests(data, ["id", "v"]))


def equal(index: RowIndex, data: pa.Table) -> list[bool]:
    found: list[bool] = index.are_equal(
        row_digests(data, ["id"]), row_digests(data, ["id", "v"])
    ).tolist()
    return found


@pytest.mark.parametrize("bucket_rows", [1, 1 << 20])
def test_rows_are_equal_missing_different_or_surplus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_rows: int
) -> None:
    monkeypatch.setattr(digests, "_BUCKET_RECORDS", bucket_rows)
    index = RowIndex(tmp_path, 6)
    add(index, table([1, 2, 3], ["a", "", None]))
    add(index, table([5, 6, 6], ["e", "f", "f"]))
    index.complete()
    assert equal(index, table([1, 2, 3, 4], ["a", None, None, "d"])) == [True, False, True, False]
    # A key that the mirror has twice is not equal.
    assert equal(index, table([6], ["f"])) == [False]
    unseen = [pair for keys in index.unseen() for pair in digest_pairs(keys)]
    assert (index.rows, unseen) == (6, digest_pairs(row_digests(table([5], ["e"]), ["id"])))


def test_keys_with_the_same_first_half_are_two_keys(tmp_path: Path) -> None:
    same, other = np.array([7, 7, 7]), np.array([1, 2, 3])
    index = RowIndex(tmp_path, 3)
    index.add(Keys(same, other), Keys(other, other))
    index.complete()
    asked = Keys(np.array([7, 7]), np.array([3, 2]))
    rows = np.array([3, 1])
    assert index.are_equal(asked, Keys(rows, rows)).tolist() == [True, False]
    assert [digest_pairs(keys) for keys in index.unseen()] == [[(7, 1)]]


def test_an_empty_mirror_has_no_row(tmp_path: Path) -> None:
    index = RowIndex(tmp_path, 0)
    index.complete()
    assert equal(index, table([1], ["a"])) == [False]
    assert list(index.unseen()) == []


def test_the_two_zeros_are_two_values() -> None:
    zeros = pa.table({"v": pa.array([0.0, -0.0], pa.float64())})
    first, second = digest_pairs(row_digests(zeros, ["v"]))
    assert first != second

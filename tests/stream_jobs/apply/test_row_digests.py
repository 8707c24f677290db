"""Rows have the same digest if, and only if, all their values are the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from stream_jobs.apply import row_hashes
from stream_jobs.apply.row_hashes import digests_of_rows

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [None, 0, 1, -1]),
    (pa.int64(), [None, 0, 2**62, 2**62 + 1]),
    (pa.bool_(), [None, False, True]),
    (pa.float64(), [None, 0.0, 1e-300, float("inf")]),
    (pa.decimal128(20, 2), [None, Decimal(0), Decimal("-0.01"), Decimal("184467440737095516.16")]),
    (pa.string(), [None, "", "N", "ä", "\0"]),
    (pa.binary(), [None, b"", b"\0", b"\0\0"]),
    (pa.date32(), [None, dt.date(1970, 1, 1), dt.date(1, 1, 1)]),
    (pa.timestamp("us", "UTC"), [None, dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)]),
    (pa.struct([("wkb", pa.binary()), ("srid", pa.int64())]), [None, {"wkb": b"", "srid": 0}]),
    (pa.list_(pa.float32()), [None, [], [0.0], [0.0, 0.0]]),
]


def digests(rows: list[tuple[Any, ...]], kinds: list[pa.DataType]) -> list[tuple[int, int]]:
    """Return the digests of rows that lie in chunks, and not at the beginning of their arrays."""
    padded = [rows[-1], *rows]
    columns = [
        pa.chunked_array(
            [
                pa.array([row[n] for row in padded], kind)[1:3],
                pa.array([r[n] for r in rows[2:]], kind),
            ]
        )
        for n, kind in enumerate(kinds)
    ]
    keys = digests_of_rows(columns)
    assert keys.second is not None
    return list(zip(keys.first.tolist(), keys.second.tolist(), strict=True))


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=str)
def test_each_value_of_a_type_is_another_row(kind: pa.DataType, values: list[Any]) -> None:
    rows = [(value, other) for value, other in product(values, ["", "N", None])]
    found = digests(rows, [kind, pa.string()])
    assert len(set(found)) == len(rows)
    assert digests(rows, [kind, pa.string()]) == found


def test_texts_do_not_move_between_columns() -> None:
    rows = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), ("abc", None), (None, "abc")]
    assert len(set(digests(rows, [pa.string(), pa.string()]))) == len(rows)


def test_the_two_zeros_of_a_float_are_equal() -> None:
    zero, other, one = digests([(0.0,), (-0.0,), (1.0,)], [pa.float32()])
    assert zero == other != one


def test_rows_that_are_copied_in_parts_have_the_same_digests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = [kind for kind, _ in VALUES]
    rows = [tuple(values[n % len(values)] for _, values in VALUES) for n in range(9)]
    whole = digests(rows, kinds)
    monkeypatch.setattr(row_hashes, "_BYTES", 100)
    assert digests(rows, kinds) == whole
    assert digests_of_rows([pa.chunked_array([], kind) for kind in kinds]).first.tolist() == []

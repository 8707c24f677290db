from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from stream_jobs.delta import data_skipping as delta_statistics
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.data_skipping import write_statistics
from tests.stream_jobs.delta.sample import TYPES, all_columns, rows


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_statistics, "SMALL_ROWS", 0)


def statistics(kind: pa.DataType, values: list[Any], *, key: bool = False) -> dict[str, Any]:
    columns = new_columns([("a", kind, {})])
    data = pa.table({"a": pa.array(values, kind)})
    found: dict[str, Any] = json.loads(write_statistics(data, columns, ["a"] if key else []))
    return found


def test_statistics_have_the_form_of_delta() -> None:
    assert statistics(pa.int64(), [3, None, -5]) == {
        "numRecords": 3,
        "minValues": {"c1": -5},
        "maxValues": {"c1": 3},
        "nullCount": {"c1": 1},
        "tightBounds": True,
    }


TIME = dt.datetime(2020, 1, 2, 3, 4, 5, 999_999)  # noqa: DTZ001
LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("kind", "values", "least", "greatest"),
    [
        (pa.int64(), [2**63 - 1, -(2**63)], -(2**63), 2**63 - 1),
        (pa.decimal128(38, 2), [Decimal("1.50"), Decimal("-1E-2")], -0.01, 1.5),
        (pa.float64(), [1.5, -2.5], -2.5, 1.5),
        (pa.date32(), [dt.date(1, 1, 1)], "0001-01-01", "0001-01-01"),
        (pa.timestamp("us"), [TIME], "2020-01-02T03:04:05.999", "2020-01-02T03:04:06.000"),
        (
            pa.timestamp("us", "UTC"),
            [TIME.replace(microsecond=7000, tzinfo=dt.UTC)],
            "2020-01-02T03:04:05.007Z",
            "2020-01-02T03:04:05.007Z",
        ),
    ],
)
def test_bounds_include_every_value(
    kind: pa.DataType, values: list[Any], least: object, greatest: object
) -> None:
    found = statistics(kind, values)
    assert (found["minValues"], found["maxValues"]) == ({"c1": least}, {"c1": greatest})


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [1.0, float("nan")]),
        (pa.float64(), [1.0, float("inf")]),
        (pa.float32(), [float("-inf")]),
        (pa.timestamp("us"), [LAST]),
        (pa.int64(), [None]),
        (pa.int64(), []),
    ],
)
def test_there_are_no_bounds_that_json_cannot_say(kind: pa.DataType, values: list[Any]) -> None:
    found = statistics(kind, values)
    assert (found["minValues"], found["maxValues"]) == ({}, {})


def test_texts_have_bounds_if_they_are_a_key() -> None:
    assert statistics(pa.string(), ["a"])["nullCount"] == {}
    short = statistics(pa.string(), ["b", "a", None], key=True)
    assert (short["minValues"], short["maxValues"]) == ({"c1": "a"}, {"c1": "b"})
    long = statistics(pa.string(), ["é" * 40], key=True)
    assert long["minValues"] == {"c1": "é" * 32}
    assert long["maxValues"] == {"c1": "é" * 32 + "\U0010ffff"}
    highest = statistics(pa.string(), ["a" * 32 + "\U0010ffff" * 2], key=True)
    assert highest["maxValues"] == {}


def test_only_the_first_columns_and_the_key_have_statistics() -> None:
    columns = new_columns([(str(n), pa.int64(), {}) for n in range(40)])
    data = pa.table({str(n): [n] for n in range(40)})
    found = json.loads(write_statistics(data, columns, ["39"]))
    assert list(found["minValues"]) == [*(f"c{n}" for n in range(1, 33)), "c40"]


def test_a_small_file_has_statistics_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    columns = new_columns([("a", pa.int64(), {}), ("b", pa.int64(), {})])
    for count, names in ((999, ["c2"]), (1000, ["c1", "c2"])):
        data = pa.table({"a": range(count), "b": range(count)})
        found = json.loads(write_statistics(data, columns, ["b"]))
        assert (found["numRecords"], list(found["minValues"])) == (count, names)


def test_a_file_knows_its_bounds() -> None:
    columns = all_columns()
    text = write_statistics(rows(range(3)), columns, ["id"])
    file = DataFile("p", 1, 3, 0, statistics=text)
    assert file.bounds("c1") == (0, 2)
    place = 1 + list(TYPES).index("big")
    assert file.bounds(columns[place].physical_name) == (-(2**63), 2**63 - 1)
    assert file.bounds("c99") is None
    assert DataFile("p", 1, -1, 0).bounds("c1") is None
    assert DataFile("p", 1, -1, 0, statistics='{"numRecords": 1}').bounds("c1") is None

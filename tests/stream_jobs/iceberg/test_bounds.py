"""Bounds are those of another implementation, and no value is outside of them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.data_skipping import write_statistics
from stream_jobs.iceberg.bounds import ColumnMetrics, column_metrics, partition_value

_LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - DATETIME has no zone
_FIRST = dt.datetime(1, 1, 1)  # noqa: DTZ001 - the same
_US = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the same


def bounds(kind: PrimitiveType, metrics: ColumnMetrics) -> list[Any]:
    """The lower and the upper bound of the only column."""
    assert metrics.lower is not None
    assert metrics.upper is not None
    return [from_bytes(kind, pairs[0][1]) for pairs in (metrics.lower, metrics.upper)]


def _micros(moment: dt.datetime) -> int:
    return (moment.replace(tzinfo=None) - _EPOCH) // _US


@pytest.mark.parametrize(
    ("kind", "iceberg", "values"),
    [
        (pa.int8(), IntegerType(), [-128, 127]),
        (pa.int16(), IntegerType(), [-(2**15), 2**15 - 1]),
        (pa.int32(), IntegerType(), [-(2**31), 2**31 - 1]),
        (pa.int64(), LongType(), [-(2**63), 2**63 - 1]),
        (pa.decimal128(20, 0), DecimalType(20, 0), [Decimal(0), Decimal(2**64 - 1)]),
        (pa.decimal128(10, 2), DecimalType(10, 2), [Decimal("-99999999.99"), Decimal("0.10")]),
        (
            pa.decimal128(38, 10),
            DecimalType(38, 10),
            [Decimal("-" + "9" * 28 + ".0123456789"), Decimal("1E-10")],
        ),
        (pa.float32(), FloatType(), [-1.5, 3.4028234663852886e38]),
        (pa.float64(), DoubleType(), [5e-324, 1.7976931348623157e308]),
        (pa.date32(), DateType(), [_FIRST.date(), _LAST.date()]),
        (pa.string(), StringType(), ["", "é😀" + "x" * 100]),
        (pa.timestamp("us"), TimestampType(), [_FIRST, _LAST.replace(microsecond=1)]),
        (
            pa.timestamp("us", "UTC"),
            TimestamptzType(),
            [_FIRST.replace(tzinfo=dt.UTC), _LAST.replace(tzinfo=dt.UTC, microsecond=1)],
        ),
    ],
)
def test_no_value_is_outside_of_the_bounds(
    kind: pa.DataType, iceberg: PrimitiveType, values: list[Any]
) -> None:
    columns = new_columns([("a", kind, {})])
    data = pa.table({"a": pa.array([None, *values], kind)})
    metrics = column_metrics(columns, write_statistics(data, columns, ["a"]))
    assert metrics.value_counts == [(1, 3)]
    assert metrics.null_counts == [(1, 1)]
    low, high = bounds(iceberg, metrics)
    least, greatest = values
    if isinstance(least, dt.datetime):
        assert low <= _micros(least)
        assert _micros(greatest) <= high <= _micros(greatest) + 2000
    elif isinstance(least, str):
        assert low <= least
        assert greatest <= high
    elif isinstance(least, dt.date):
        assert [low, high] == [(day - _EPOCH.date()).days for day in values]
    else:
        assert [low, high] == values


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_both_zeros_are_within_the_bounds(kind: pa.DataType) -> None:
    columns = new_columns([("a", kind, {})])
    known = '{"numRecords":1,"minValues":{"c1":0.0},"maxValues":{"c1":-0.0},"nullCount":{"c1":0}}'
    metrics = column_metrics(columns, known)
    low, high = bounds(DoubleType() if kind == pa.float64() else FloatType(), metrics)
    assert math.copysign(1, low) == -1
    assert math.copysign(1, high) == 1


def test_what_another_writer_says_of_nan_is_no_bound() -> None:
    columns = new_columns([("a", pa.float64(), {})])
    known = '{"numRecords":2,"minValues":{"c1":1.0},"maxValues":{"c1":"NaN"},"nullCount":{"c1":0}}'
    metrics = column_metrics(columns, known)
    assert (metrics.lower, metrics.upper) == (None, None)
    assert column_metrics(columns, "") == (None, None, None, None)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int16(), "-7", -7),
        (pa.date32(), "0001-01-01", dt.date(1, 1, 1)),
        (pa.bool_(), "false", False),
        (pa.decimal128(38, 2), "9" * 36 + ".01", Decimal("9" * 36 + ".01")),
        (pa.string(), "a/b %=", "a/b %="),
        (pa.string(), "", None),
        (pa.int16(), None, None),
    ],
)
def test_partition_values_are_read_exactly(kind: pa.DataType, text: str, value: object) -> None:
    assert partition_value(kind, text) == value

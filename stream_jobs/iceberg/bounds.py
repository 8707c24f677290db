"""Values of Delta's log as Iceberg has them: partition values, and bounds of columns.

A bound is never inside of the values. So DECIMAL is never read as a float, and the maximum of a
time is a millisecond later: other writers of Delta cut it to milliseconds.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics
https://iceberg.apache.org/spec/#appendix-d-single-value-serialization
"""

import datetime as dt
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa

from stream_jobs.delta.columns import Column
from stream_jobs.iceberg.avro import unscaled
from stream_jobs.iceberg.avro_reader import DAY_0
from stream_jobs.iceberg.schema import PartitionField

_types: Final = pa.types
_TIME_0: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - both times are without a zone here
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_MILLISECOND_US: Final = 1000

Pairs = list[tuple[int, Any]] | None


class ColumnMetrics(NamedTuple):
    """What is known about the columns of a file: pairs of the id of a column, and a value."""

    value_counts: Pairs = None
    null_counts: Pairs = None
    lower: Pairs = None
    upper: Pairs = None


def partition_value(kind: pa.DataType, text: str | None) -> Any:
    """Return the value of a partition; Delta's empty text is NULL."""
    if not text:
        return None
    if _types.is_date(kind):
        return dt.date.fromisoformat(text)
    if _types.is_boolean(kind):
        return text == "true"
    if _types.is_decimal(kind):
        return Decimal(text)
    return int(text) if _types.is_integer(kind) else text


def partition_values(
    columns: Iterable[Column], partition: Iterable[PartitionField], values: Mapping[str, str | None]
) -> tuple[Any, ...]:
    """Return the values of a file that Delta names by columns, in the order of the partitions."""
    physical = {column.field_id: column.physical_name for column in columns}
    return tuple(
        partition_value(own.kind, values.get(physical[own.source_id])) for own in partition
    )


def serialize_partition(kind: pa.DataType, value: Any) -> bytes:
    """Return a value of a partition as a bound."""
    return _writer(kind)(value)


def column_metrics(columns: Iterable[Column], statistics: str) -> ColumnMetrics:
    """Return what the statistics of a file say of `columns`."""
    if not statistics:
        return ColumnMetrics()
    # A float would round a DECIMAL of more than 15 digits.
    known = json.loads(statistics, parse_float=Decimal)
    nulls = known.get("nullCount") or {}
    least, greatest = known.get("minValues") or {}, known.get("maxValues") or {}
    counted = [c for c in columns if isinstance(nulls.get(c.physical_name), int)]
    lower, upper = [], []
    for column in columns:
        name, kind = column.physical_name, column.type
        if least.get(name) is None or greatest.get(name) is None or _types.is_nested(kind):
            continue
        low, high = _bounds(kind, least[name], greatest[name])
        if low is not None and high is not None:
            lower.append((column.field_id, low))
            upper.append((column.field_id, high))
    return ColumnMetrics(
        [(c.field_id, known["numRecords"]) for c in counted] or None,
        [(c.field_id, nulls[c.physical_name]) for c in counted] or None,
        lower or None,
        upper or None,
    )


def _bounds(kind: pa.DataType, least: Any, greatest: Any) -> tuple[bytes | None, bytes | None]:
    """Return both bounds; None for what is no bound."""
    write = _writer(kind)
    if _types.is_floating(kind):
        low, high = float(least), float(greatest)
        if not (math.isfinite(low) and math.isfinite(high)):
            return None, None
        # Both zeros are equal, and -0.0 is the lower one.
        return write(low or -0.0), write(high or 0.0)
    if _types.is_timestamp(kind):
        low_us, high_us = _microseconds(least), _microseconds(greatest) + _MILLISECOND_US
        return struct.pack("<q", low_us), struct.pack("<q", high_us)
    if _types.is_date(kind):
        return write(dt.date.fromisoformat(least)), write(dt.date.fromisoformat(greatest))
    if _types.is_decimal(kind):
        return write(Decimal(least)), write(Decimal(greatest))
    if _types.is_binary(kind):
        return None, None
    return write(least), write(greatest)


def _microseconds(text: str) -> int:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return (moment - _TIME_0) // _MICROSECOND


def _writer(kind: pa.DataType) -> Callable[[Any], bytes]:
    """Return what serialises a value of a type."""
    if _types.is_decimal(kind):
        return lambda value: _decimal(Decimal(value), kind.scale)
    if _types.is_date(kind):
        return lambda value: struct.pack("<i", (value - DAY_0).days)
    if _types.is_boolean(kind):
        return lambda value: bytes([value])
    if _types.is_string(kind):
        return lambda value: value.encode()
    if _types.is_floating(kind):
        form = "<d" if kind == pa.float64() else "<f"
        return lambda value: struct.pack(form, value)
    form = "<q" if kind == pa.int64() else "<i"
    return lambda value: struct.pack(form, value)


def _decimal(value: Decimal, scale: int) -> bytes:
    number = unscaled(value, scale)
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)

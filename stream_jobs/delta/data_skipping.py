"""Statistics and partition values of a data file: what readers need to skip it.

Numbers, dates and times have a minimum and a maximum; so have the texts of a key, which are cut.
Other texts have none: each commit would repeat them in the log, and unordered values exclude no
file. In a small file only the key has them: skipping it saves less than its statistics cost.

In a table with partitions, all rows of a file have the same partition values.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#partition-value-serialization
"""

import datetime as dt
import decimal
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from stream_jobs.delta.columns import Column
from stream_jobs.errors import MirrorError, delta_errors

# As Delta's own writers do.
COLUMNS_MAX = 32
TEXT_MAX = 32
SMALL_ROWS = 1000
_HIGHEST = "\U0010ffff"
_MILLISECOND = dt.timedelta(milliseconds=1)


def write_statistics(data: pa.Table, columns: Sequence[Column], key: Collection[str]) -> str:
    """Return the statistics of `data`, which has `columns` in their order; `key` names some."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    count = COLUMNS_MAX if data.num_rows >= SMALL_ROWS else 0
    for place, column in enumerate(columns):
        is_key = column.name in key
        if (place >= count and not is_key) or not _is_ordered(column.type, is_key):
            continue
        values = data.column(place)
        nulls[column.physical_name] = values.null_count
        if values.null_count == len(values):
            continue
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(values)).as_py():
            continue  # NaN is above all numbers for Spark, and JSON cannot say it
        low, high = _bounds(values)
        if low is not None and high is not None:
            least[column.physical_name], greatest[column.physical_name] = low, high
    return orjson.dumps(
        {
            "numRecords": data.num_rows,
            "minValues": least,
            "maxValues": greatest,
            "nullCount": nulls,
            "tightBounds": True,
        },
        default=_number,
    ).decode()


def _bounds(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """Return the least and the greatest value for JSON; None for what JSON cannot say."""
    if pa.types.is_integer(values.type) and not values.null_count:
        # Arrow takes longer to begin than NumPy takes for a small file.
        numbers = values.to_numpy()
        return int(numbers.min()), int(numbers.max())
    bounds = pc.min_max(values)
    return _low(bounds["min"].as_py()), _high(bounds["max"].as_py())


def can_cluster(kind: pa.DataType) -> bool:
    """Return whether values of a type get a minimum and a maximum, if they are asked for."""
    return _is_ordered(kind, is_key=True)


def _is_ordered(kind: pa.DataType, is_key: bool) -> bool:
    types = pa.types
    return (
        types.is_integer(kind)
        or types.is_decimal(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_floating(kind)
        or (is_key and types.is_string(kind))
    )


def _low(value: Any) -> Any:
    if isinstance(value, str):
        return value[:TEXT_MAX]
    return _printed(value, dt.timedelta())


def _high(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) <= TEXT_MAX:
            return value
        # The longer texts with this beginning are below it, with one exception.
        return None if value[TEXT_MAX] == _HIGHEST else value[:TEXT_MAX] + _HIGHEST
    return _printed(value, _MILLISECOND)


def _printed(value: Any, rounding: dt.timedelta) -> Any:
    """Return a JSON value; times have milliseconds, so a maximum is rounded up by `rounding`."""
    if isinstance(value, dt.datetime):
        cut = value.replace(microsecond=value.microsecond // 1000 * 1000)
        try:
            cut += rounding if cut != value else dt.timedelta()
        except OverflowError:
            return None
        zone = "Z" if value.tzinfo else ""
        return f"{cut.replace(tzinfo=None).isoformat(timespec='milliseconds')}{zone}"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return None  # JSON cannot say it
    return value


def _number(value: object) -> object:
    """Return a JSON number for a DECIMAL."""
    if isinstance(value, decimal.Decimal):
        return orjson.Fragment(f"{value:f}")
    raise TypeError(type(value).__name__)


def can_partition(kind: pa.DataType) -> bool:
    """Return whether the log can hold values of a type exactly."""
    types = pa.types
    exact = types.is_integer(kind) or types.is_date(kind) or types.is_boolean(kind)
    return bool(exact or types.is_decimal(kind) or types.is_string(kind))


def partition_rows(
    table: str, columns: Sequence[Column], names: Sequence[str], data: pa.Table
) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """Yield the partition values, by physical names, and the rows of each partition, in order.

    `table` is the path of the table, `columns` are all of its columns, and `names` are those that
    partition it. Raises MirrorError for a column that cannot partition it.
    """
    columns = [column for column in columns if column.name in names]
    if not columns or not data.num_rows:
        yield {}, data
        return
    texts = [_texts(table, column, data[column.name]) for column in columns]
    partition = np.zeros(data.num_rows, dtype=np.int64)
    for values in texts:
        codes = values.dictionary_encode().indices.fill_null(-1).to_numpy()
        # Numbered again after each column, so that they stay small.
        _, partition = np.unique(partition * (codes.max() + 2) + codes + 1, return_inverse=True)
    order = np.argsort(partition, kind="stable")
    starts = np.flatnonzero(np.diff(partition[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        values = {
            column.physical_name: text[int(rows[0])].as_py()
            for column, text in zip(columns, texts, strict=True)
        }
        yield values, data.take(pa.array(rows))


def _texts(table: str, column: Column, values: pa.ChunkedArray) -> pa.Array:
    """Return values as the log has them."""
    if not can_partition(column.type):
        raise MirrorError(delta_errors.NO_PARTITION, path=table, column=column.name)
    texts = values.cast(pa.string())
    # The log cannot tell an empty text from NULL.
    if pc.any(pc.equal(texts, "")).as_py():
        raise MirrorError(delta_errors.NO_PARTITION, path=table, column=column.name)
    return texts.combine_chunks()

"""Rows of a table with partitions are divided: a file has rows with the same values.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#partition-value-serialization
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connector.errors import MirrorError, mirror_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_jobs.delta.columns import Column


def can_partition(kind: pa.DataType) -> bool:
    """Return whether the log can hold values of a type exactly."""
    types = pa.types
    exact = types.is_integer(kind) or types.is_date(kind) or types.is_boolean(kind)
    return bool(exact or types.is_decimal(kind) or types.is_string(kind))


def divide(
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
        raise MirrorError(mirror_tables.NO_PARTITION, path=table, column=column.name)
    texts = values.cast(pa.string())
    # The log cannot tell an empty text from NULL.
    if pc.any(pc.equal(texts, "")).as_py():
        raise MirrorError(mirror_tables.NO_PARTITION, path=table, column=column.name)
    return texts.combine_chunks()

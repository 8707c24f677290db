"""Keys of rows as text: they are read again with the types that they had."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa

from stream_jobs.schema.column_types import ColumnType
from verification.digests import digests, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.schema.table_schema import TableSchema
    from verification.clear_keys import Key
    from verification.digests import Digest


def write_keys(keys: Sequence[Key]) -> str:
    """Return keys as text; all have as many values."""
    columns = [pa.array(values) for values in zip(*keys, strict=True)]
    data = pa.table(columns, names=[str(place) for place in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return base64.b64encode(sink.getvalue()).decode()


def read_keys(text: str, schema: TableSchema) -> dict[Digest, Key]:
    """Return what `write_keys` got for keys of the table with this schema."""
    data = pa.ipc.open_stream(base64.b64decode(text)).read_all()
    names = schema.key
    kinds = [ColumnType.of(schema.by_name[name]).stored for name in names]
    columns = [
        pa.array(values.to_pylist(), kind) for values, kind in zip(data.columns, kinds, strict=True)
    ]
    typed = pa.table(columns, names=list(names))
    keys = list(zip(*(values.to_pylist() for values in columns), strict=True))
    return dict(zip(pairs(digests(typed, names)), keys, strict=True))

"""The columns of a checkpoint: one for each kind of action.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoint-schema
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
ACTIONS: dict[str, pa.StructType] = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _TEXTS),
            ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", _TEXTS),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("tags", _TEXTS),
            ("deletionVector", _VECTOR),
        ]
    ),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", _TEXTS),
            ("size", pa.int64()),
            ("deletionVector", _VECTOR),
        ]
    ),
}


def decoded(column: pa.ChunkedArray) -> Iterator[dict[str, Any]]:
    """Yield the actions of a column as the JSON files of the log have them."""
    for chunk in column.chunks:
        rows = chunk.drop_null()
        names = [field.name for field in rows.type]
        # Column by column: Arrow makes a Python object of a whole STRUCT slowly.
        columns = [_values(pc.struct_field(rows, name)) for name in names]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def conform(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return `values` as `kind`: fields that are missing are NULL, others are left out."""
    if not pa.types.is_struct(kind) or values.type == kind:
        return values.cast(kind)
    present = {field.name for field in values.type}
    fields = [
        conform(pc.struct_field(values, field.name), field.type)
        if field.name in present
        else pa.nulls(len(values), field.type)
        for field in kind
    ]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values

"""What a task knows of a mirror comes to a worker whole, and is unpacked there once."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa

from stream_jobs.apply.task_messages import MirrorDescription, RecordMapping
from stream_jobs.delta.columns import new_columns
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema


def test_a_mirror_is_unpacked_again_only_if_it_has_changed() -> None:
    schema = TableSchema("shop", "orders", "s1", PackedSequence(1, 2), ())
    columns = new_columns([("id", pa.int64(), {})])
    first = MirrorDescription(
        "shop/orders", schema, columns, {"s1": RecordMapping(schema, {})}, ("day",)
    )
    again, once_more = (pickle.loads(pickle.dumps(first)) for _ in range(2))
    assert again == first
    assert again is once_more
    other = replace(first, parses={**first.parses, "s2": RecordMapping(schema, {}, {"a": "b"})})
    assert pickle.loads(pickle.dumps(other)) == other != first

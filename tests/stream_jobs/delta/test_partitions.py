from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.data_skipping import partition_rows
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from tests.stream_jobs.delta.sample import HOSTILE, live

if TYPE_CHECKING:
    from pathlib import Path

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int64(), [-(2**63), 7, None, 7]),
    "d": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(9999, 12, 31)]),
    "b": (pa.bool_(), [True, False, None, False]),
    "m": (pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("0.00"), None, Decimal("0.00")]),
    HOSTILE: (pa.string(), [HOSTILE, "%2F../x=y", None, "%2F../x=y"]),
}


def test_each_value_is_read_as_it_was_written(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    kinds = {"id": pa.int64()} | {name: kind for name, (kind, _) in KINDS.items()}
    columns = new_columns([(name, kind, {}) for name, kind in kinds.items()])
    table = DeltaTable.create(storage, "t", Metadata(columns, partition_columns=tuple(KINDS)))
    arrays = {name: pa.array(values, kind) for name, (kind, values) in KINDS.items()}
    data = pa.table({"id": range(4)} | arrays)
    metadata = table.snapshot.metadata
    assert [column.name for column in metadata.file_columns] == ["id"]
    new = [
        write_file(storage, "t", metadata.file_columns, rows, partition_values=values)
        for values, rows in partition_rows("t", metadata.columns, metadata.partition_columns, data)
    ]
    table.commit(TableCommit(new=new), "WRITE")
    assert sorted(file.rows for file in table.snapshot.files.values()) == [1, 1, 2]
    anew = DeltaTable.open(storage, "t")
    assert anew is not None
    assert live(anew) == data.to_pylist()


def test_rows_of_a_partition_keep_their_order() -> None:
    columns = new_columns([("a", pa.int64(), {}), ("p", pa.int64(), {}), ("q", pa.string(), {})])
    metadata = Metadata(columns, partition_columns=("p", "q"))
    data = pa.table({"a": range(6), "p": [1, 2, 1, 2, 1, None], "q": list("xxyxxx")})
    found = [
        (values, rows["a"].to_pylist())
        for values, rows in partition_rows("t", metadata.columns, metadata.partition_columns, data)
    ]
    assert sorted(found, key=lambda item: item[1]) == [
        ({"c2": "1", "c3": "x"}, [0, 4]),
        ({"c2": "2", "c3": "x"}, [1, 3]),
        ({"c2": "1", "c3": "y"}, [2]),
        ({"c2": None, "c3": "x"}, [5]),
    ]


def test_a_table_without_partitions_is_not_divided() -> None:
    metadata = Metadata(new_columns([("a", pa.int64(), {})]))
    data = pa.table({"a": [1, 2]})
    assert list(partition_rows("t", metadata.columns, metadata.partition_columns, data)) == [
        ({}, data)
    ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [(pa.float64(), [1.0]), (pa.timestamp("us"), [0]), (pa.string(), ["a", ""])],
)
def test_a_column_whose_values_would_change_is_refused(
    kind: pa.DataType, values: list[object]
) -> None:
    columns = new_columns([("a", kind, {})])
    with pytest.raises(MirrorError) as error:
        list(partition_rows("shop/t", columns, ["a"], pa.table({"a": pa.array(values, kind)})))
    assert str(error.value) == (
        "[M516] shop/t: column a cannot partition the table; choose a column of integers, dates or "
        "decimals, or one of texts that are never empty"
    )

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from stream_jobs.delta import parquet_file
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import (
    live_mask,
    live_rows,
    read_columns,
    rows_at,
    write_file,
)
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from tests.stream_jobs.delta.sample import GEOMETRY, Sample, all_columns, rows

if TYPE_CHECKING:
    from pathlib import Path

DAMAGED = (
    "; restore the file from a backup and resume the table, or let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`"
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def test_a_file_has_physical_names_and_field_ids(storage: LocalStorage, tmp_path: Path) -> None:
    columns = all_columns()
    file = write_file(storage, "t", columns, rows(range(3)))
    path = tmp_path / "t" / file.path
    schema = pq.read_schema(path)
    assert schema.names == [column.physical_name for column in columns]
    for column, field in zip(columns, schema, strict=True):
        assert field.metadata[b"PARQUET:field_id"] == str(column.field_id).encode()
    shape = next(column for column in columns if column.name == "shape")
    wkb, srid = schema.field(shape.physical_name).type
    assert (wkb.name, srid.name) == (f"c{shape.field_id + 1}", f"c{shape.field_id + 2}")
    assert (file.size, file.rows) == (path.stat().st_size, 3)


def test_columns_are_read_by_position_in_any_order(storage: LocalStorage) -> None:
    columns = all_columns()
    file = write_file(storage, "t", columns, rows(range(5)).select(list(reversed(range(18)))))
    wanted = [columns[9], columns[0]]
    found = read_columns(storage, "t", file, wanted)
    assert found.equals(rows(range(5)).select(["double", "id"]))
    assert read_columns(storage, "t", file, []).num_columns == 0


def test_rows_of_some_positions_come_in_the_order_that_was_asked_for(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_file, "_ROW_GROUP_ROWS", 3)
    columns = new_columns([("a", pa.int64(), {}), ("b", pa.string(), {})])
    file = write_file(storage, "t", columns, pa.table({"a": range(10), "b": list("abcdefghij")}))
    (added,) = new_columns([("c", pa.int64(), {})], 2)
    found = rows_at(storage, "t", file, [*columns, added], np.array([9, 1, 8, 0]))
    assert found.to_pydict() == {"a": [9, 1, 8, 0], "b": list("jbia"), "c": [None] * 4}
    assert not rows_at(storage, "t", file, columns, np.zeros(0, np.int64)).num_rows


def test_a_column_that_a_file_lacks_is_null(storage: LocalStorage) -> None:
    columns = new_columns([("a", pa.int64(), {})])
    file = write_file(storage, "t", columns, pa.table({"a": [1, 2]}))
    added = new_columns([("b", GEOMETRY, {}), ("c", pa.timestamp("us", "UTC"), {})], 1)
    found = read_columns(storage, "t", file, [*added, *columns])
    assert found.to_pylist() == [{"b": None, "c": None, "a": n} for n in (1, 2)]
    assert found.schema.types == [GEOMETRY, pa.timestamp("us", "UTC"), pa.int64()]


def test_values_that_do_not_fit_are_refused(storage: LocalStorage) -> None:
    (column,) = new_columns([("a", pa.int8(), {})])
    with pytest.raises(pa.ArrowInvalid):
        write_file(storage, "t", [column], pa.table({"a": [1000]}))
    file = write_file(storage, "t", [column._replace(type=pa.int64())], pa.table({"a": [1000]}))
    with pytest.raises(MirrorError) as error:
        read_columns(storage, "t", file, [column])
    assert str(error.value) == (
        f"[M518] t/{file.path} cannot be read: Integer value 1000 not in range: -128 to 127"
        f"{DAMAGED}"
    )


def test_a_missing_or_damaged_file_is_named(storage: LocalStorage, tmp_path: Path) -> None:
    (column,) = new_columns([("a", pa.int8(), {})])
    file = write_file(storage, "t", [column], pa.table({"a": [1]}))
    path = tmp_path / "t" / file.path
    content = path.read_bytes()
    for size in (0, 3, 20, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(MirrorError, match=rf"^\[M518\] t/{file.path} cannot be read: "):
            read_columns(storage, "t", file, [column])
    path.unlink()
    with pytest.raises(MirrorError) as error:
        live_rows(storage, "t", file, [column])
    assert str(error.value) == f"[M518] t/{file.path} does not exist{DAMAGED}"


def test_times_as_spark_stores_them_by_default_are_read(
    storage: LocalStorage, tmp_path: Path
) -> None:
    (column,) = new_columns([("a", pa.timestamp("us", "UTC"), {})])
    times = [dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, tzinfo=dt.UTC), None]
    file = write_file(storage, "t", [column], pa.table({"a": pa.array(times, column.type)}))
    old = pa.table({column.physical_name: pa.array(times, pa.timestamp("us", "UTC"))})
    pq.write_table(old, tmp_path / "t" / file.path, use_deprecated_int96_timestamps=True)
    assert read_columns(storage, "t", file, [column])["a"].to_pylist() == times


def test_dead_rows_are_left_out(storage: LocalStorage) -> None:
    sample = Sample(storage, "t")
    file = sample.append(range(70_000))
    sample.kill(**{file.path: range(0, 70_000, 2)})
    found = sample.table.snapshot.files[file.path]
    data = live_rows(storage, "t", found, sample.table.snapshot.columns[:1])
    assert data["id"].to_pylist() == list(range(1, 70_000, 2))
    assert np.array_equal(live_mask(BitMap([1]), 3), [True, False, True])
    assert live_mask(BitMap(), 2).all()


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int32(), "-7", -7),
        (pa.string(), "a/é", "a/é"),
        (pa.date32(), "0001-01-01", dt.date(1, 1, 1)),
        (pa.decimal128(10, 2), "1.50", Decimal("1.50")),
        (pa.bool_(), "true", True),
        (pa.timestamp("us"), "2020-01-01 00:00:00.5", dt.datetime(2020, 1, 1, 0, 0, 0, 500_000)),  # noqa: DTZ001
        (pa.string(), None, None),
        (pa.string(), "", None),
    ],
)
def test_the_value_of_a_partition_is_that_of_each_row(
    storage: LocalStorage, kind: pa.DataType, text: str | None, value: object
) -> None:
    columns = new_columns([("a", pa.int64(), {}), ("p", kind, {})])
    values = {columns[1].physical_name: text}
    data = pa.table({"a": [1, 2]})
    file = write_file(storage, "t", columns[:1], data, partition_values=values)
    found = read_columns(storage, "t", file, columns)
    assert found["p"].to_pylist() == [value, value]
    assert found["p"].type == kind


def test_rows_at_positions_have_columns_that_partition_the_table(storage: LocalStorage) -> None:
    columns = new_columns([("id", pa.int32(), {}), ("day", pa.int32(), {})])
    values = {columns[1].physical_name: "7"}
    data = pa.table({"id": pa.array([1, 2, 3], pa.int32())})
    file = write_file(storage, "t", columns[:1], data, partition_values=values)
    found = rows_at(storage, "t", file, columns[1:], np.array([0, 2]))
    assert found.to_pydict() == {"day": [7, 7]}

"""Iceberg tables of other writers are read as PyIceberg and DuckDB read them."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from stream_jobs.errors import MirrorError, delta_errors
from tests.stream_jobs.iceberg.readers import DuckDB, pyiceberg_rows, sorted_rows
from tests.verification.foreign import iceberg_tables
from tests.verification.foreign.iceberg_tables import DeleteWriter
from verification.foreign import foreign_errors
from verification.foreign.iceberg_target import IcebergTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from connector.foundation.errors.code import ErrorCode

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "kind", StringType()),
    NestedField(3, "price", DecimalType(10, 2)),
)


def rows(first: int, last: int) -> pa.Table:
    numbers = list(range(first, last))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "kind": [None if n % 5 == 0 else f"kind {n % 3}" for n in numbers],
            "price": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(10, 2)),
        },
        schema=SCHEMA.as_arrow().remove_metadata(),
    )


def newest(folder: Path) -> Path:
    return max((folder / "metadata").glob("*.metadata.json"))


def manifest_list(folder: Path) -> Path:
    snapshot = json.loads(newest(folder).read_text())["snapshots"][-1]
    return Path(snapshot["manifest-list"].removeprefix("file://"))


def read(target: IcebergTarget) -> list[tuple[Any, ...]]:
    names = target.schema.names
    empty = target.schema.empty_table()
    return sorted_rows(pa.concat_tables([empty, *target.batches(names)]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of two files, the older one with the ids 0 to 9."""
    path = tmp_path / "orders"
    table = iceberg_tables.made(path, SCHEMA)
    table.append(rows(0, 10))
    table.append(rows(10, 15))
    return path


def test_columns_are_found_by_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "orders"
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))
    table = iceberg_tables.made(path, SCHEMA, spec)
    target = IcebergTarget("iceberg:orders", str(path))
    assert target.refresh() == "no snapshot"
    assert read(target) == []
    table.append(rows(0, 20))
    with table.update_schema() as update:
        update.rename_column("price", "amount")
    with table.update_schema() as update:
        update.add_column("price", IntegerType())
    table.append(
        rows(20, 30)
        .rename_columns(["id", "kind", "amount"])
        .append_column("price", pa.array(range(10), pa.int32()))
    )
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert target.refresh() == f"snapshot {snapshot.snapshot_id}"
    assert target.rows == 30
    assert target.schema.names == ["id", "kind", "amount", "price"]
    assert read(target) == pyiceberg_rows(newest(path))


def test_each_type_is_read(tmp_path: Path) -> None:
    kinds = [
        IntegerType(), LongType(), DoubleType(), BooleanType(), StringType(), BinaryType(),
        DateType(), TimestampType(), TimestamptzType(), DecimalType(20, 3),
        ListType(100, StringType(), element_required=False),
    ]  # fmt: skip
    fields = [NestedField(n, f"c{n}", kind) for n, kind in enumerate(kinds, 1)]
    at = dt.datetime(2026, 3, 1, 12, 0, 0, 123456)  # noqa: DTZ001
    values = [
        1, 2**40, 0.1, True, "é", b"\xff\x00", dt.date(1969, 12, 31), at, at.replace(tzinfo=dt.UTC),
        Decimal("-17.125"), ["a", None],
    ]  # fmt: skip
    schema = Schema(*fields)
    table = iceberg_tables.made(tmp_path / "types", schema)
    arrow = table.schema().as_arrow()
    row = {field.name: value for field, value in zip(arrow, values, strict=True)}
    table.append(pa.Table.from_pylist([row, dict.fromkeys(row)], arrow))
    target = IcebergTarget("iceberg:types", f"file://{tmp_path}/types/metadata")
    target.refresh()
    found = pa.concat_tables(target.batches(target.schema.names)).to_pylist()
    assert found == [row, dict.fromkeys(row)]


def _positions(writer: DeleteWriter) -> None:
    writer.positions(writer.data_files()[0], [0, 2])
    writer.positions(writer.data_files()[1], [1])


def _vectors(writer: DeleteWriter) -> None:
    writer.vector(writer.data_files()[0], [1, 3])


def _values(writer: DeleteWriter) -> None:
    writer.values(pa.table({"kind": pa.array(["kind 1", None], pa.string())}), [2])


def _keys_twice(writer: DeleteWriter) -> None:
    writer.values(pa.table({"id": pa.array([1, 2, 11], pa.int64())}), [1])
    writer.positions(writer.data_files()[0], [0])
    writer.values(pa.table({"id": pa.array([2, 3, 99], pa.int64())}), [1])


@pytest.mark.parametrize("delete", [_positions, _values, _keys_twice])
def test_deletes_are_applied_as_duckdb_does(
    folder: Path, delete: Callable[[DeleteWriter], None]
) -> None:
    delete(DeleteWriter(folder))
    target = IcebergTarget("iceberg:orders", str(folder))
    target.refresh()
    found = read(target)
    assert found == DuckDB().rows(newest(folder))
    assert len(found) < 15


def test_deletion_vectors_are_applied(folder: Path) -> None:
    _vectors(DeleteWriter(folder))
    target = IcebergTarget("iceberg:orders", str(folder))
    target.refresh()
    assert (target.rows, len(read(target))) == (13, 13)
    first = DeleteWriter(folder).data_files()[0]
    expected = pa.concat_tables([rows(0, 15)])
    assert {row[0] for row in read(target)} < set(expected["id"].to_pylist())
    assert sum(part.path == first for part in target.parts) == 1


def test_rows_that_are_written_after_a_delete_stay(folder: Path) -> None:
    _keys_twice(DeleteWriter(folder))
    target = IcebergTarget("iceberg:orders", str(folder))
    target.refresh()
    before = {row[0] for row in read(target)}
    assert before.isdisjoint({1, 2, 3, 11})

    def choose(data: pa.Table) -> NDArray[np.int64]:
        return np.flatnonzero(data["id"].to_numpy() % 4 == 0)

    chosen = pa.concat_tables(target.chosen(["price", "id"], ["id"], choose))
    assert set(chosen["id"].to_pylist()) == {n for n in before if n % 4 == 0}
    assert chosen["price"].to_pylist() == [Decimal(n) / 4 for n in chosen["id"].to_pylist()]


def test_metadata_may_be_compressed_and_named_alone(folder: Path) -> None:
    content = newest(folder).read_bytes()
    (folder / "metadata" / "00900-a.gz.metadata.json").write_bytes(gzip.compress(content))
    target = IcebergTarget("iceberg:orders", str(folder))
    target.refresh()
    assert len(read(target)) == 15
    oldest = min((folder / "metadata").glob("*.metadata.json"))
    target = IcebergTarget("iceberg:orders", str(oldest))
    assert target.refresh() == "no snapshot"


def _changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = newest(folder)
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return apply


def _variant(document: dict[str, Any]) -> None:
    document["schemas"][0]["fields"][1]["type"] = "variant"


@pytest.mark.parametrize(
    ("change", "code", "why"),
    [
        (_changed(lambda d: d.update({"format-version": 4})), foreign_errors.FEATURES, "version 4"),
        (_changed(_variant), foreign_errors.FEATURES, "kind: variant"),
        (_changed(lambda d: d.pop("schemas")), delta_errors.FILE_DAMAGED, "KeyError"),
        (lambda path: newest(path).write_text("{"), delta_errors.FILE_DAMAGED, "JSONDecodeError"),
        (
            lambda path: manifest_list(path).write_bytes(b"Obj"),
            delta_errors.FILE_DAMAGED,
            "ValueError",
        ),
        (
            _changed(lambda d: d["snapshots"][-1].update({"manifest-list": "gs://b/list.avro"})),
            foreign_errors.FEATURES,
            "files at gs://b",
        ),
    ],
)
def test_what_is_no_table_that_can_be_read_is_refused(
    folder: Path, change: Callable[[Path], None], code: ErrorCode, why: str
) -> None:
    change(folder)
    with pytest.raises(MirrorError) as raised:
        IcebergTarget("iceberg:orders", str(folder)).refresh()
    assert raised.value.code is code
    assert why in str(raised.value)


def test_a_snapshot_is_read_again_with_the_columns_of_its_time(tmp_path: Path) -> None:
    table = iceberg_tables.made(tmp_path, SCHEMA)
    target = IcebergTarget("iceberg:t", str(tmp_path))
    assert (target.refresh(), target.version) == ("no snapshot", "")
    table.append(rows(0, 4))
    target.refresh()
    first, identity = target.version, target.table_id
    table = table.refresh()
    with table.update_schema() as update:
        update.rename_column("kind", "sort")
    table.refresh().append(rows(4, 9).rename_columns(["id", "sort", "price"]))
    target.refresh()
    assert (target.rows, target.schema.names[1]) == (9, "sort")
    assert target.read_version(first) == f"snapshot {first}"
    assert (target.rows, target.schema.names[1], target.table_id) == (4, "kind", identity)
    assert identity == str(table.metadata.table_uuid)
    assert target.duckdb_scan == f"iceberg_scan('{newest(tmp_path)}', snapshot_from_id => {first})"
    assert (target.refresh(), target.rows) == (f"snapshot {target.version}", 9)
    with pytest.raises(MirrorError) as caught:
        target.read_version("7")
    assert caught.value.code == foreign_errors.SNAPSHOT_GONE

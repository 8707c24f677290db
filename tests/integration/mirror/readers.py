"""Three independent readers of Delta tables: Spark, delta-rs, Delta Kernel.

Delta Kernel is the library in Java that other engines read Delta tables with. It is called in the
JVM of the Spark session.
"""

from __future__ import annotations

import datetime as dt
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from local_stack.cache import Cache
from local_stack.package_repositories import Jar, fetch_jars

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

Rows = list[tuple[Any, ...]]

KERNEL_JARS = (
    Jar(
        "io.delta",
        "delta-kernel-api",
        "4.4.0",
        2838619,
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    ),
    Jar(
        "io.delta",
        "delta-kernel-defaults",
        "4.4.0",
        227185,
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    ),
)
_DAY_0 = dt.date(1970, 1, 1)
_TIME_0 = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - TIMESTAMP_NTZ has no zone


def kernel_jars() -> list[Path]:
    return fetch_jars("Delta Kernel", KERNEL_JARS, Cache.of_environment())


def spark_rows(session: SparkSession, path: str) -> Rows:
    return _sorted(session.read.format("delta").load(path).toArrow())


def delta_rs_rows(path: str) -> Rows:
    """Read by delta-rs's own engine; its way over pyarrow does not know deletion vectors."""
    query = QueryBuilder().register("t", DeltaTable(path)).execute("select * from t")
    return _sorted(pa.table(query))


def kernel_rows(session: SparkSession, path: str, version: int | None = None) -> Rows:
    return sorted(kernel_scan(session, path, version), key=_first)


def kernel_scan(session: SparkSession, path: str, version: int | None = None) -> Rows:
    """Return the rows in the order in which Delta Kernel reads them."""
    assert session._jvm is not None
    kernel: Any = session._jvm.io.delta.kernel
    one = kernel.internal.util.Utils.singletonCloseableIterator
    engine = kernel.defaults.engine.DefaultEngine.create(session._jsc.hadoopConfiguration())
    table = kernel.Table.forPath(engine, path)
    snapshot = (
        table.getLatestSnapshot(engine)
        if version is None
        else table.getSnapshotAsOfVersion(engine, version)
    )
    scan = snapshot.getScanBuilder().build()
    state = scan.getScanState(engine)
    physical = kernel.internal.data.ScanStateRow.getPhysicalDataReadSchema(state)
    nothing = session._jvm.java.util.Optional.empty()
    found = []
    for file in _rows_of(scan.getScanFiles(engine)):
        status = kernel.internal.InternalScanFileUtils.getAddFileStatus(file)
        read = engine.getParquetHandler().readParquetFiles(one(status), physical, nothing)
        while read.hasNext():
            data = kernel.Scan.transformPhysicalData(
                engine, state, file, one(read.next().getData())
            )
            found += [_row_values(row) for row in _rows_of(data)]
    return found


def _sorted(table: pa.Table) -> Rows:
    # Not by to_pylist: a table may have two columns whose names differ in case only.
    columns = [column.to_pylist() for column in table.columns]
    return sorted((tuple(map(_plain, row)) for row in zip(*columns, strict=True)), key=_first)


def _first(row: tuple[Any, ...]) -> Any:
    return row[0]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(value.values())
    return bytes(value) if isinstance(value, bytearray) else value


def _rows_of(batches: Any) -> Iterator[Any]:
    while batches.hasNext():
        rows = batches.next().getRows()
        while rows.hasNext():
            yield rows.next()


def _row_values(row: Any) -> tuple[Any, ...]:
    schema = row.getSchema()
    return tuple(
        None if row.isNullAt(place) else _value(row, place, schema.at(place).getDataType())
        for place in range(schema.length())
    )


def _value(row: Any, place: int, kind: Any) -> Any:
    name = str(kind.toString())
    if name.startswith("struct"):
        return _row_values(row.getStruct(place))
    if name.startswith("array"):
        elements = row.getArray(place).getElements()
        return [elements.getFloat(at) for at in range(elements.getSize())]
    if name.startswith("Decimal"):
        return row.getDecimal(place)
    if name == "date":
        return _DAY_0 + dt.timedelta(days=row.getInt(place))
    if name.startswith("timestamp"):
        moment = _TIME_0 + dt.timedelta(microseconds=row.getLong(place))
        return moment if name == "timestamp_ntz" else moment.replace(tzinfo=dt.UTC)
    if name == "float":
        # The bridge to Java writes it in decimal, with as many digits as a float needs.
        return struct.unpack("f", struct.pack("f", row.getFloat(place)))[0]
    getter = "getInt" if name == "integer" else f"get{name.capitalize()}"
    value = getattr(row, getter)(place)
    return bytes(value) if name == "binary" else value

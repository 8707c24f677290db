"""All readers of mirrors that do not share code with the job, as docs/tables.md names them."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import polars as pl
from deltalake import DeltaTable as DeltaRs

from tests.integration.mirror.readers import kernel_scan
from tests.stream_jobs.iceberg.reader_table import Case, Reader
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    Rows,
    delta_rs_rows,
    polars_rows,
    pyiceberg_rows,
    sorted_rows,
)
from tests.stream_jobs.iceberg.spark_iceberg import ICEBERG, SPARK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.stream_jobs.iceberg.spark_iceberg import SparkIceberg

_STATIC = "StaticTable.from_metadata(PATH)"


def _name(shown: str, package: str) -> str:
    return f"{shown} {'.'.join(version(package).split('.')[:2])}"


def refusing_readers() -> list[Reader]:
    """Return the readers of Delta that do not know what our tables need."""
    return [
        Reader(
            _name("delta-rs", "deltalake"),
            "Delta",
            "DeltaTable(PATH).to_pyarrow_table()",
            lambda case: sorted_rows(
                DeltaRs(str(case.delta), version=case.version).to_pyarrow_table()
            ),
        ),
        Reader(
            _name("Polars", "polars"),
            "Delta",
            "polars.read_delta(PATH)",
            lambda case: sorted_rows(
                pl.read_delta(str(case.delta), version=case.version).to_arrow()
            ),
        ),
    ]


def library_readers() -> list[Reader]:
    """Return the readers that need no JVM."""
    return [
        Reader(
            _name("delta-rs", "deltalake"),
            "Delta",
            'QueryBuilder().register("t", DeltaTable(PATH)).execute("select * from t")',
            lambda case: delta_rs_rows(case.delta, case.version),
        ),
        Reader(
            _name("PyIceberg", "pyiceberg"),
            "Iceberg",
            f"{_STATIC}.scan().to_arrow()",
            _iceberg(pyiceberg_rows),
        ),
        Reader(
            _name("DuckDB", "duckdb"),
            "Iceberg",
            "SELECT * FROM iceberg_scan(PATH)",
            _iceberg(DuckDB().rows),
        ),
        Reader(
            _name("Polars", "polars"),
            "Iceberg",
            f"polars.scan_iceberg({_STATIC})",
            _iceberg(polars_rows),
        ),
    ]


def spark_readers(session: SparkSession) -> list[Reader]:
    """Return those in the JVM of a session with Delta and Delta Kernel."""

    def by_spark(case: Case) -> Rows:
        options = {} if case.version is None else {"versionAsOf": case.version}
        found = session.read.format("delta").options(**options).load(str(case.delta))
        return sorted_rows(found.toArrow())

    def by_kernel(case: Case) -> Rows:
        return sorted(kernel_scan(session, str(case.delta), case.version), key=repr)

    return [
        Reader(
            "Spark with delta-spark", "Delta", 'spark.read.format("delta").load(PATH)', by_spark
        ),
        Reader("Delta Kernel for Java", "Delta", "Table.forPath(engine, PATH)", by_kernel),
    ]


def spark_iceberg_reader(spark: SparkIceberg) -> Reader:
    """Return the one that needs an environment of its own."""
    how = 'spark.read.format("iceberg").load(PATH)'
    return Reader(f"Spark {SPARK} with Iceberg {ICEBERG}", "Iceberg", how, _iceberg(spark.rows))


def _iceberg(rows: Callable[[Path, int | None], Rows]) -> Callable[[Case], Rows]:
    return lambda case: rows(case.iceberg, case.version)

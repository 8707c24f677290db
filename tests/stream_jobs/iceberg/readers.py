"""Readers of Iceberg tables that did not write them, and what they share no code with: delta-rs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

# Not by a plug-in that would be one package more.
os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"

Rows = list[tuple[Any, ...]]

# In the order in which they need each other; none is fetched.
_EXTENSIONS = ("avro", "icu", "httpfs", "iceberg", "delta")


def opened(folder: Path) -> StaticTable:
    return StaticTable.from_metadata(str(folder))


def pyiceberg_rows(folder: Path, snapshot: int | None = None) -> Rows:
    return sorted_rows(opened(folder).scan(snapshot_id=snapshot).to_arrow())


def polars_rows(folder: Path, snapshot: int | None = None) -> Rows:
    table = opened(folder)
    found = pl.scan_iceberg(table, snapshot_id=snapshot, reader_override="native")
    return sorted_rows(found.collect().to_arrow())


class DuckDB:
    """A session of DuckDB."""

    def __init__(self) -> None:
        self._session = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        packages = Path(duckdb.__file__).parents[1]
        for name in _EXTENSIONS:
            (file,) = packages.glob(f"duckdb_extension_{name}/**/*.duckdb_extension")
            self._session.execute(f"LOAD '{file}'")
        self._session.execute("SET TimeZone = 'UTC'")

    def query(self, *statements: str) -> Rows:
        """The rows of the last statement, in their order."""
        for statement in statements:
            self._session.execute(statement)
        return self._session.fetchall()

    def table(self, statement: str) -> pa.Table:
        """The rows of a statement."""
        return self._session.execute(statement).to_arrow_table()

    def rows(self, folder: Path, snapshot: int | None = None) -> Rows:
        # With its cache of files, it takes one vector for another if it has read a part of their
        # file for a later snapshot.
        self._session.execute(f"SET enable_external_file_cache = {snapshot is None}")
        which = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
        found = self._session.execute(f"SELECT * FROM iceberg_scan('{folder}'{which})")
        return sorted_rows(found.to_arrow_table())

    def catalog_rows(self, location: str, endpoint: str, key: str, secret: str) -> Rows:
        """The rows of a table whose catalog keeps its metadata at `location`, in a bucket."""
        host = endpoint.removeprefix("http://")
        self._session.execute(
            "CREATE OR REPLACE SECRET (TYPE s3, PROVIDER config, USE_SSL false, URL_STYLE 'path', "
            f"REGION 'us-east-1', ENDPOINT '{host}', KEY_ID '{key}', SECRET '{secret}')"
        )
        found = self._session.execute(f"SELECT * FROM iceberg_scan('{location}')")
        return sorted_rows(found.to_arrow_table())


def delta_rs_rows(folder: Path, version: int | None = None) -> Rows:
    table = DeltaTable(str(folder), version=version)
    return sorted_rows(pa.table(QueryBuilder().register("t", table).execute("select * from t")))


def sorted_rows(table: pa.Table) -> Rows:
    columns = [column.to_pylist() for column in table.columns]
    rows = (tuple(map(_plain, row)) for row in zip(*columns, strict=True))
    return sorted(rows, key=repr)


def _plain(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value

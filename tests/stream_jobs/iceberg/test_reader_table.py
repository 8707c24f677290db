"""The table of readers in docs/tables.md is what these readers do."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import polars as pl
import pytest
from deltalake import DeltaTable as DeltaRs

from tests.stream_jobs.iceberg.reader_table import Case, Reader, line, made, require, title_lines
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    delta_rs_rows,
    polars_rows,
    pyiceberg_rows,
    sorted_rows,
)

if TYPE_CHECKING:
    from tests.stream_jobs.iceberg.readers import Rows


def _name(shown: str, package: str) -> str:
    return f"{shown} {'.'.join(version(package).split('.')[:2])}"


def _polars_delta(case: Case) -> Rows:
    return sorted_rows(pl.read_delta(str(case.delta), version=case.version).to_arrow())


def _arrow(case: Case) -> Rows:
    return sorted_rows(DeltaRs(str(case.delta), version=case.version).to_pyarrow_table())


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return made(tmp_path_factory.mktemp("readers"))


def test_the_page_says_what_readers_do(cases: dict[str, Case]) -> None:
    duckdb = DuckDB()
    static = "StaticTable.from_metadata(PATH)"
    readers = [
        Reader(
            _name("delta-rs", "deltalake"),
            "Delta",
            'QueryBuilder().register("t", DeltaTable(PATH)).execute("select * from t")',
            lambda case: delta_rs_rows(case.delta, case.version),
        ),
        Reader(
            _name("delta-rs", "deltalake"), "Delta", "DeltaTable(PATH).to_pyarrow_table()", _arrow
        ),
        Reader(_name("Polars", "polars"), "Delta", "polars.read_delta(PATH)", _polars_delta),
        Reader(
            _name("PyIceberg", "pyiceberg"),
            "Iceberg",
            f"{static}.scan().to_arrow()",
            lambda case: pyiceberg_rows(case.iceberg, case.version),
        ),
        Reader(
            _name("DuckDB", "duckdb"),
            "Iceberg",
            "SELECT * FROM iceberg_scan(PATH)",
            lambda case: duckdb.rows(case.iceberg, case.version),
        ),
        Reader(
            _name("Polars", "polars"),
            "Iceberg",
            f"polars.scan_iceberg({static})",
            lambda case: polars_rows(case.iceberg, case.version),
        ),
    ]
    require(*title_lines(), *(line(reader, cases) for reader in readers))

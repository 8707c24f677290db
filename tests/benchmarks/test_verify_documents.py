"""What the three documents say of the figures of `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.mirror_documents import put_block
from benchmarks.targets import targets
from benchmarks.verify_documents import (
    AFTER,
    BEGIN,
    END,
    README,
    verify_line,
    verify_summary,
    verify_text,
)

if TYPE_CHECKING:
    from pathlib import Path


def figures(rows: int, rows_per_s: int, source_mb: float = 0.5) -> dict[str, Any]:
    return {
        "rows": rows,
        "rows_per_s": rows_per_s,
        "cpu_s": 7.25,
        "peak_mb": 260,
        "source_cpu_s": 3.5,
        "source_mb": source_mb,
    }


# pt-table-checksum could not be installed.
VERIFY: dict[str, Any] = {
    "at": "2026-11-28T10:00:00",
    "cpu": "AMD EPYC",
    "cores": 2,
    "memory_gib": 24,
    "kernel": "6.1",
    "python": "CPython 3.11",
    "compiled": True,
    "rows": 5_000_000,
    "injected": 15,
    "bytes_a_row": 200.0,
    "sums": figures(5_000_000, 700_000),
    "sums_full": figures(5_000_000, 590_000),
    "row_by_row": figures(1_000_000, 79_000, 250.0),
    "damaged": figures(5_000_000, 500_000),
    "foreign_debezium": {**figures(5_000_000, 120_000), "wall_s": 41.7},
    "foreign_typed": {**figures(5_000_000, 80_000), "wall_s": 62.5},
    "reladiff": figures(5_000_000, 70_000),
    "table_checksum": None,
}


def test_the_table_has_each_program_that_was_measured() -> None:
    text = verify_text(VERIFY)
    assert text.startswith(BEGIN)
    assert text.endswith(END)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert "| equal, by checksum | 5,000,000 | 700,000 | 504 | 7.2 | 3.5 | 0.5 | 260 |" in lines
    assert any(line.startswith("| 15 differences, under changes | 5,000,000 |") for line in lines)
    assert any(line.startswith("| reladiff, with a copy | 5,000,000 | 70,000 |") for line in lines)
    assert "pt-table-checksum, one side" not in text
    assert "of the source's own format, in which a row of `orders` has 200 bytes" in text


def test_the_bounds_are_those_of_a_large_table() -> None:
    met = {target.what: target.met for target in targets({"verify": VERIFY})}
    assert met == {
        "verify, by checksum, thousand rows/s": True,
        "verify, by checksum at full pace, thousand rows/s": False,
        "verify, row by row, thousand rows/s": False,
        "verify, 5,000,000 rows of another program, Debezium's forms in Delta": True,
        "verify, 5,000,000 rows of another program, Parquet files": False,
    }


def test_the_page_says_what_the_source_has_to_send_and_the_readme_one_sentence(
    tmp_path: Path,
) -> None:
    page = verify_summary(VERIFY)
    assert "| reladiff, with a copy | 70,000 | 0.1 | 10 x as fast |" in page.splitlines()
    assert "| **binlog-connector**, row by row | 79,000 | 250.0 |  |" in page.splitlines()
    readme = tmp_path / "README.md"
    whole = README.read_text()
    assert whole.count(AFTER) == 1
    readme.write_text(whole)
    for _ in range(2):
        put_block(readme, verify_line(VERIFY), AFTER)
    text = readme.read_text()
    assert text.count(BEGIN) == 1
    assert "compares 700,000 rows a second by checksum (504 GB an hour), and 79,000 row" in text

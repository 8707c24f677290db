"""The log that the tools read, and what the documents say of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from benchmarks.targets import tools_targets
from benchmarks.tools import FILTERED, FLASHBACK, PLAIN, PLAIN_TO_NULL, PMR, STAT
from benchmarks.tools_documents import tools_summary, tools_text
from benchmarks.tools_log import with_other_table
from connector.binlog.files.byte_source import FileOptions
from connector.binlog.files.file_log import FileLog
from tests.binlog.log_bytes import event as framed
from tests.binlog.log_bytes import format_description

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: dict[str, Any] = {
    "at": "2026-01-02T03:04:05+00:00",
    "cpu": "a CPU",
    "cores": 2,
    "memory_gib": 24,
    "kernel": "6.1",
    "python": "CPython 3.11",
    "compiled": True,
    "mb": 250.0,
    "changes": 340_000,
    "commands": {
        name: {
            "cpu_s": seconds,
            "median_cpu_s": seconds,
            "wall_s": seconds,
            "peak_mb": 60.0,
            "output_mb": 100.0,
            "mb": megabytes,
        }
        for name, seconds, megabytes in (
            ("events", 1.0, 250.0),
            (FILTERED.format("events"), 0.25, 250.0),
            (STAT, 0.5, 250.0),
            (FLASHBACK, 2.0, 250.0),
            (PLAIN, 4.0, 250.0),
            (PLAIN_TO_NULL, 1.0, 250.0),
            (PMR, 16.0, 40.0),
        )
    },
}


def test_targets_compare_seconds_for_a_megabyte() -> None:
    found = [(target.what, target.measured, target.met) for target in tools_targets(TOOLS)]
    assert found == [
        ("events, time to that of mysqlbinlog", 0.25, True),
        ("stat, time to that of mysqlbinlog > /dev/null", 0.5, False),
        ("flashback, speed to that of python-mysql-replication, decoding alone", 50.0, True),
        ("events with 1 % of the rows, speed to that of all", 4.0, True),
    ]


def test_documents_have_what_was_measured() -> None:
    text, summary = tools_text(TOOLS), tools_summary(TOOLS)
    assert "| stat, time to that of mysqlbinlog > /dev/null | ≤ 0.3 x | 0.5 x | no |" in text
    assert "| events | 1.00 (1.00) | 250 | 100 | 60 |" in text
    assert "| `dump --format events` | mysqlbinlog | 1.0 | 4.0 x as fast | 0.2 |" in summary


def test_some_rows_of_the_copied_log_are_of_another_table(tmp_path: Path) -> None:
    table_map = bytes(8) + b"\4shop\0\6orders\0\1\x08\0\0"
    log, copy = tmp_path / "log", tmp_path / "copy"
    maps = [framed(19, table_map) for _ in range(4)]
    log.write_bytes(b"\xfebin" + b"".join([format_description(b"8.0.31"), *maps]))
    with_other_table(log, copy, one_of=2)
    names = []
    with closing(FileLog(copy, FileOptions())) as file:
        while (event := file.next_event()) is not None:
            names.append(getattr(event.body, "table", ""))
    assert names == ["", "orders", "orderz", "orders", "orderz"]

"""What the report makes of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.decode import FILTERED, UNFILTERED
from benchmarks.performance_page import BEGIN, END, summary, update_page
from benchmarks.process import Usage
from benchmarks.targets import MIMALLOC, RUST_JSON, Target, targets
from benchmarks.watch import Phase, Sample

if TYPE_CHECKING:
    from pathlib import Path

MEMORY = {"rows": 10_000_000, "rss_mb_at_a_tenth": 100.0, "rss_mb_at_the_end": 109.0}


def look(at: float, count: int, cpu: float) -> Sample:
    return Sample(at, count, Usage(cpu, 50.0, 60.0))


def test_a_phase_begins_at_the_last_look_at_its_start() -> None:
    samples = [look(0, 0, 0.0), look(1, 0, 0.5), look(2, 60, 1.0), look(3, 100, 1.5)]

    assert Phase.of(samples, 0, 100) == Phase(100, 2, 1.0)
    assert Phase.of(samples, 60, 100) == Phase(40, 1, 0.5)


def test_a_bound_may_be_a_least_or_a_most() -> None:
    assert Target("rate", 2, 2.0).met
    assert not Target("rate", 2, 1.99).met
    assert Target("memory", 200, 199.0, "MB", at_most=True).met
    assert not Target("memory", 200, 201.0, "MB", at_most=True).met


def test_only_what_was_measured_has_a_bound() -> None:
    (memory,) = targets({"decode": None, "memory": MEMORY})

    assert memory.row() == [
        "RSS at 10,000,000 rows, to that at a tenth",
        "≤ 1.1 x",
        "1.09 x",
        "yes",
    ]


def test_rust_has_a_bound_with_each_allocator() -> None:
    rates = {"binlog-connector envelope": 30.0, RUST_JSON: 15.0, MIMALLOC: 20.0}
    file = {"decoders": {name: {"rows_per_s": rate} for name, rate in rates.items()}}
    fleet = {"decoders": {name: {"mb_per_s": 1.0} for name in (FILTERED, UNFILTERED)}}
    decode = {"files": {"oltp": file, "bulk": file, "fleet": fleet}}

    found = {target.what: target.measured for target in targets({"decode": decode})}

    assert found[f"oltp: envelope to {RUST_JSON}"] == 2.0
    assert found[f"oltp: envelope to {MIMALLOC}"] == 1.5
    assert found["bulk: envelope to the best of Rust, Go, Java"] == 1.5


def test_the_page_changes_between_the_marks_alone(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    update_page("new", page)

    assert page.read_text() == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_the_page_compares_what_was_measured_with_ours() -> None:
    rates = {
        "binlog-connector parse": 900.0,
        "binlog-connector envelope": 300_000.0,
        "go-mysql json": 120_000.0,
        "go-mysql encoding/json": 20_000.0,
        "python-mysql-replication json": 3_000.0,
    }
    file = {"decoders": {name: {"rows_per_s": rate} for name, rate in rates.items()}}
    decode = {
        "at": "2026-01-31T08:15:00+00:00",
        "cpu": "a processor",
        "cores": 2,
        "files": {"oltp": file, "bulk": file},
    }

    lines = summary({"decode": decode, "replay": None}).splitlines()

    assert lines[2:7] == [
        "|  | one-row transactions | binlog-connector is | bulk | binlog-connector is |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| **binlog-connector** | 300,000 |  | 300,000 |  |",
        "| go-mysql (Go) | 120,000 | 2.5 x as fast | 120,000 | 2.5 x as fast |",
        "| python-mysql-replication | 3,000 | 100 x as fast | 3,000 | 100 x as fast |",
    ]
    assert lines[-1].startswith("a processor, 2 cores, 2026-01-31. [BENCHMARKS.md]")


def test_the_page_says_nothing_where_nothing_was_measured() -> None:
    assert summary({"decode": None}) == ""

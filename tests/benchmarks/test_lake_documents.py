"""The blocks of `up` in the documents."""

from __future__ import annotations

from typing import Any

from benchmarks.lake_documents import BEGIN, END, lake_summary, lake_text

MACHINE: dict[str, Any] = {
    "at": "2026-01-31T08:15:00+00:00",
    "cpu": "a processor",
    "cores": 2,
    "memory_gib": 24,
    "kernel": "6.1",
    "python": "CPython 3.11.7",
    "compiled": True,
}


def way(p50_s: float, rss_mb: int, pss_mb: int) -> dict[str, Any]:
    latency = {"rate_per_s": 500, "p50_s": p50_s, "p95_s": 0.6, "p99_s": 0.8, "cpu_us": 240}
    idle = {"cpu_percent": 1.25, "commits": 0}
    return {
        "start_s": 5.5,
        "idle": idle,
        "latency": latency,
        "rss_mb": rss_mb,
        "pss_mb": pss_mb,
    }


LAKE: dict[str, Any] = {
    **MACHINE,
    "into_log": {
        "oltp": {"kafka": 200_000.0, "folder": 260_000.0},
        "bulk": {"kafka": 300_000.0, "folder": 345_000.0},
    },
    "folder": way(0.25, 1366, 947),
    "kafka": way(0.4, 1596, 1249),
}


def test_each_figure_stands_beside_the_one_through_kafka() -> None:
    lines = lake_text(LAKE).splitlines()
    assert (lines[0], lines[-1]) == (BEGIN, END)
    assert "| latency, p50, s | 0.25 | 0.40 |" in lines
    assert "| memory, sum of RSS, MB | 1,366 | 1,596 |" in lines
    assert "| into the log, bulk, messages/s | 345,000 | 300,000 |" in lines


def test_memory_has_a_bound_by_either_count_and_the_log_by_either_load() -> None:
    bounds = [line for line in lake_text(LAKE).splitlines() if line.endswith(("yes |", "no |"))]
    assert bounds == [
        "| up, from the commit to the row at 500/s, p50 | ≤ 0.35 s | 0.25 s | yes |",
        "| up, from the commit to the row at 500/s, p95 | ≤ 0.7 s | 0.6 s | yes |",
        "| through Kafka, from the commit to the row at 500/s, p50 | ≤ 0.5 s | 0.4 s | yes |",
        "| through Kafka, from the commit to the row at 500/s, p95 | ≤ 0.9 s | 0.6 s | yes |",
        "| up, memory, sum of RSS | ≤ 1000 MB | 1,366 MB | no |",
        "| up, memory, PSS | ≤ 1000 MB | 947 MB | yes |",
        "| up, idle, share of a core | ≤ 1.5 % | 1.25 % | yes |",
        "| up, CPU a change | ≤ 250 µs | 240 µs | yes |",
        "| oltp: into the log in a folder, to that into Kafka | ≥ 1.2 x | 1.3 x | yes |",
        "| bulk: into the log in a folder, to that into Kafka | ≥ 1.2 x | 1.15 x | no |",
    ]


def test_the_summary_says_both_counts_of_memory() -> None:
    assert lake_summary(LAKE).splitlines()[2] == (
        "**Tables by one command**, `up`: a row can be read 0.25 s after its commit at the source "
        "(median; 95 of 100 within 0.60 s), at 500 changes/s on 5 tables. All its programs need "
        "947 MB (1,366 MB if shared pages count for each process), and 1.2 % of a core when "
        "nothing changes."
    )

"""The blocks of `up` in BENCHMARKS.md and in docs/performance.md, between two marks each."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table, where
from benchmarks.targets import lake_targets

BEGIN = '<!-- up: written by make bench ARGS="lake" -->'
END = "<!-- end of up -->"

_INTRODUCTION = (
    "`up` keeps tables in a folder equal to those of a server, without a broker: the connector and "
    "the Spark job exchange the changes through a log in the same folder. *Through Kafka* is the "
    "same pipeline with the same settings, where `run` and the Spark job are two programs, beside "
    "a broker. Both get {rate} one-row transactions a second on five tables. A latency begins just "
    "before a statement is sent to MySQL, and ends when the log of the Delta table has got the "
    "commit with the row. The start ends when all five tables can be read.\n\n"
    "CPU and memory are those of all programs but MySQL; with Kafka, the broker is one of them. "
    "*RSS* adds up what each process has, so pages that processes share count several times; *PSS* "
    "divides them, and is what the machine needs. With Kafka, the RSS of broker and connector "
    "counts in both.\n\n"
    "*Into the log* is how fast the connector writes the binlog files of the two loads above into "
    "either log, in messages a second; the ways take turns, and the fastest run of each counts."
)
_SUMMARY = (
    "**Tables by one command**, `up`: a row can be read {latency[p50_s]:.2f} s after its commit at "
    "the source (median; 95 of 100 within {latency[p95_s]:.2f} s), at {latency[rate_per_s]} "
    "changes/s on 5 tables. All its programs need {pss_mb:,} MB ({rss_mb:,} MB if shared pages "
    "count for each process), and {idle[cpu_percent]:.1f} % of a core when nothing changes."
)


def lake_text(lake: dict[str, Any]) -> str:
    """Return all tables of `up`, with marks."""
    ways = lake["folder"], lake["kafka"]
    rows = [
        ["start, s", *(f"{way['start_s']:.1f}" for way in ways)],
        *(
            [f"latency, {name}, s", *(f"{way['latency'][f'{name}_s']:.2f}" for way in ways)]
            for name in ("p50", "p95", "p99")
        ),
        ["CPU a change, µs", *(f"{way['latency']['cpu_us']:,}" for way in ways)],
        ["idle, % of a core", *(f"{way['idle']['cpu_percent']:.1f}" for way in ways)],
        ["memory, sum of RSS, MB", *(f"{way['rss_mb']:,}" for way in ways)],
        ["memory, PSS, MB", *(f"{way['pss_mb']:,}" for way in ways)],
        *(
            [f"into the log, {phase}, messages/s", f"{own['folder']:,.0f}", f"{own['kafka']:,.0f}"]
            for phase, own in lake["into_log"].items()
        ),
    ]
    bounds = [each.row() for each in lake_targets(lake)]
    introduction = _INTRODUCTION.format(rate=lake["folder"]["latency"]["rate_per_s"])
    parts = [BEGIN, "## Tables by one command", introduction, f"{where(lake)}."]
    parts += [table(["", "wanted", "measured", "met"], bounds)]
    parts += [table(["", "`up`", "through Kafka"], rows), END]
    return "\n\n".join(parts)


def lake_summary(lake: dict[str, Any]) -> str:
    """Return what a newcomer wants to know of `up`, with marks."""
    return "\n\n".join([BEGIN, _SUMMARY.format(**lake["folder"]), END])

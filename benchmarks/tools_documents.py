"""The blocks of the tools in BENCHMARKS.md and in docs/performance.md, between two marks each."""

from __future__ import annotations

from typing import Any

from benchmarks.decoders import LIMIT_MB
from benchmarks.markdown import as_fast, table, where
from benchmarks.targets import tools_targets
from benchmarks.tools import (
    FILTERED,
    FLASHBACK,
    FORMATS,
    GO,
    PLAIN,
    PLAIN_TO_NULL,
    PMR,
    STAT,
    VERBOSE,
)

BEGIN = '<!-- the tools: written by make bench ARGS="tools" -->'
END = "<!-- end of the tools -->"

_INTRODUCTION = (
    "The commands read a log of one-row transactions and write into a file. Seconds are those of "
    "the processor, of the whole process with its start; the best of the runs. With `--table`, 1 % "
    "of the rows are shown. go-mysql and the record batches of `run` are dropped where the others "
    f"write. python-mysql-replication, with which binlog2sql decodes, reads the first {LIMIT_MB} "
    "MB, and makes no SQL of them."
)
_SUMMARY = "**Logs as text, JSON and counts**, processor seconds for a log of {mb:.0f} MB."
# Commands beside what they are compared with.
_RIVALS = {
    "text": VERBOSE,
    "envelope": GO,
    "json": GO,
    "events": PLAIN,
    STAT: PLAIN_TO_NULL,
    FLASHBACK: PMR,
}


def tools_text(tools: dict[str, Any]) -> str:
    """Return all tables of the tools, with marks."""
    measured = f"{where(tools)}; a log of {tools['mb']:.0f} MB, {tools['changes']:,} changed rows."
    bounds = [each.row() for each in tools_targets(tools)]
    rows = [
        [
            name,
            f"{each['cpu_s']:.2f} ({each['median_cpu_s']:.2f})",
            f"{each['mb'] / each['cpu_s']:,.0f}",
            f"{each['output_mb']:,.0f}",
            f"{each['peak_mb']:,.0f}",
        ]
        for name, each in tools["commands"].items()
    ]
    head = ["", "CPU s (median)", "MB of the log a second", "MB written", "peak RSS MB"]
    parts = [BEGIN, "## The tools", _INTRODUCTION, measured]
    parts += [table(["", "wanted", "measured", "met"], bounds), table(head, rows), END]
    return "\n\n".join(parts)


def tools_summary(tools: dict[str, Any]) -> str:
    """Return what a newcomer wants to know of the tools, with marks."""
    commands = tools["commands"]
    rows = []
    for name in (*FORMATS, STAT, FLASHBACK):
        rival = _RIVALS[name]
        if name not in commands or rival not in commands:
            continue
        ours, theirs = commands[name], commands[rival]
        ratio = ours["mb"] / ours["cpu_s"] / (theirs["mb"] / theirs["cpu_s"])
        called = f"dump --format {name}" if name in FORMATS else name
        filtered = commands.get(FILTERED.format(name))
        rows.append(
            [
                f"`{called}`",
                rival,
                f"{ours['cpu_s']:.1f}",
                as_fast(ratio),
                "" if filtered is None else f"{filtered['cpu_s']:.1f}",
            ]
        )
    head = ["", "beside", "s", "binlog-connector is", "with `--table` of 1 %, s"]
    return "\n\n".join([BEGIN, _SUMMARY.format(**tools), table(head, rows, texts=2), END])

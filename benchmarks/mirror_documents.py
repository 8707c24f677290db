"""The blocks of the mirror in BENCHMARKS.md and in docs/performance.md, between two marks each.

They are written when the mirror alone was measured, too: the figures of everything else stay. Each
part of the mirror has marks of its own in BENCHMARKS.md, and says where and when it was measured:
parts that this machine has not measured stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.markdown import as_fast, table, where
from benchmarks.mirror_report import (
    mirror_cluster,
    mirror_hot,
    mirror_live,
    mirror_many,
    mirror_updates,
)
from benchmarks.process import say
from benchmarks.targets import mirror_targets

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = '<!-- the mirror: written by make bench ARGS="mirror" -->'
END = "<!-- end of the mirror -->"

_TABLES = {
    "hot": mirror_hot,
    "many": mirror_many,
    "live": mirror_live,
    "updates": mirror_updates,
    "cluster": mirror_cluster,
}
_NAMES = {
    "ours": "**binlog-connector**",
    "tuned": "the recipe, settings for small merges",
    "recipe": "the recipe, defaults",
}
_INTRODUCTION = (
    "Delta tables follow topics that hold everything already. The recipe is that of Delta's "
    "documentation: foreachBatch, from_json, row_number and MERGE for each table; once with the "
    "defaults of Spark and Delta, once with settings that make small merges cheap. Seconds are "
    "those of batches, without the start of Spark; CPU and memory are those of the JVM and of all "
    "Python processes. CPU a change includes the start for the hot table, and leaves out the start "
    "and the first batch for many tables.\n\n"
    "*The job while it runs* has its default settings. MySQL, Kafka and the connector are on the "
    "same machine. The latency begins just before a one-row transaction is sent to MySQL, and ends "
    "when the log of the Delta table has got the commit with the row. The start ends with the "
    "first commit of rows that are in Kafka already; the best of three.\n\n"
    "The large table of the *random updates* is written as the job would have left it. Written "
    "bytes are those of data, deletion vectors, log entries and compactions.\n\n"
    "The *workers* of a standalone cluster on the same machine have one core each. Seconds are "
    "those of all batches but the first, in which the executors start. One worker and two take "
    "turns; the fastest run of each counts."
)
_FOLLOWING = (
    "**From topics to Delta tables**, on two cores. The recipe is that of Delta's documentation, "
    "with MERGE, and with settings that make small merges cheap."
)
_RUNNING = (
    "A row can be read {latency[p50_s]:.1f} s after its commit at the source (median; 95 of 100 "
    "within {latency[p95_s]:.1f} s), at {latency[rate_per_s]} changes/s on 5 tables. The first one "
    "comes {start_s:.0f} s after the start of the process; idle, the job takes "
    "{idle[cpu_percent]:.1f} % of a core."
)


def mirror_text(mirror: dict[str, Any], last: str | None) -> str:
    """Return all tables of the mirror, with marks.

    A part that was not measured, and did not fail, is that of `last`, the block of the document.
    """
    parts = [BEGIN, "## The mirror", _INTRODUCTION]
    failed = mirror.get("failed", {})
    if failed:
        parts.append(f"Not measured, because the run failed: {', '.join(sorted(failed))}.")
    for part in _TABLES:
        if part in mirror:
            parts.append(_part_text(mirror, part))
        elif part not in failed and (own := _between(last or "", *_marks(part))) is not None:
            parts.append(own)
    return "\n\n".join([*parts, END])


def _part_text(mirror: dict[str, Any], part: str) -> str:
    """Return what was measured of one part, and where, with marks."""
    # Parts that were kept may be older, and then do not have this themselves.
    measured = f"{where(mirror | mirror[part])}."
    rows = [each.row() for each in mirror_targets({part: mirror[part]})]
    targets = table(["", "wanted", "measured", "met"], rows)
    begin, end = _marks(part)
    return "\n\n".join([begin, measured, targets, _TABLES[part](mirror), end])


def _marks(part: str) -> tuple[str, str]:
    return f"<!-- the mirror, {part} -->", f"<!-- end of {part} -->"


def has_summary(mirror: dict[str, Any]) -> bool:
    """Return whether all that the summary tells was measured, or failed."""
    known = {*mirror, *mirror.get("failed", {})}
    return known >= {"hot", "many", "live"}


def mirror_summary(mirror: dict[str, Any]) -> str:
    """Return what a newcomer wants to know of the mirror, with marks."""
    parts = [BEGIN]
    if {"hot", "many"} <= mirror.keys():
        parts += [_FOLLOWING, _compared(mirror["hot"], mirror["many"])]
    if "live" in mirror:
        parts.append(_RUNNING.format(**mirror["live"]))
    return "\n\n".join([*parts, END])


def block_of(document: Path, begin: str = BEGIN, end: str = END) -> str | None:
    """Return the block that a document has between two marks, with the marks."""
    return _between(document.read_text(), begin, end)


def _between(whole: str, begin: str, end: str) -> str | None:
    _, found, rest = whole.partition(begin)
    text, ended, _ = rest.partition(end)
    return f"{begin}{text}{end}" if found and ended else None


def put_block(document: Path, block: str, after: str) -> None:
    """Replace the block of a document; the first one comes behind the line `after`, or last.

    The block begins and ends with its marks, which are comments.
    """
    text = document.read_text()
    begin, end = block[: block.index("-->") + 3], block[block.rindex("<!--") :]
    old = block_of(document, begin, end)
    if old is not None:
        text = text.replace(old, block)
    elif after and after in text:
        text = text.replace(after, f"{after}\n\n{block}", 1)
    else:
        text = f"{text.rstrip()}\n\n{block}\n"
    document.write_text(text)
    say(f"{document.name} has the tables of {begin.strip('<!->')}")


def _compared(hot: dict[str, Any], many: dict[str, Any]) -> str:
    head = ["", f"one table, {hot['records']:,} changes, changes/s", "binlog-connector is"]
    head += [f"{many['tables']} tables, {many['changes']:,} changes, s", "binlog-connector is"]
    rows = []
    for key, name in _NAMES.items():
        if not (key in hot["jobs"] and key in many["jobs"]):
            continue
        large, small = hot["jobs"][key], many["jobs"][key]
        ratios = ["" if key == "ours" else as_fast(each["ratio"]) for each in (large, small)]
        figures = [f"{large['records_s']:,}", f"{small['batch_s']:,.1f}"]
        rows.append([name, figures[0], ratios[0], figures[1], ratios[1]])
    return table(head, rows)

"""The figures of the mirror as tables."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import as_fast, table

_NAMES = {
    "ours": "binlog-connector",
    "tuned": "recipe, settings for small merges",
    "recipe": "recipe, defaults",
}


def mirror_hot(mirror: dict[str, Any]) -> str:
    """Return the table of the hot table."""
    hot = mirror["hot"]
    ours = hot["jobs"]["ours"]
    head = [f"one table, {hot['records']:,} changes", "seconds", "binlog-connector is"]
    head += ["CPU µs a change", "peak RSS MB"]
    rows = [
        [
            _NAMES[name],
            f"{each['seconds']:.1f}",
            "" if name == "ours" else as_fast(each["seconds"] / ours["seconds"]),
            f"{each['cpu_us']:.0f}",
            f"{each['peak_mb']:,}",
        ]
        for name, each in hot["jobs"].items()
    ]
    return table(head, rows)


def mirror_many(mirror: dict[str, Any]) -> str:
    """Return the table of many small tables."""
    many = mirror["many"]
    ours = many["jobs"]["ours"]
    head = [f"{many['tables']} tables, about 1,000 changes a batch", "seconds a batch"]
    head += ["binlog-connector is", "slowest", "first copy, s", "peak RSS MB"]
    rows = [
        [
            _NAMES[name],
            f"{each['batch_s']:.2f}",
            "" if name == "ours" else as_fast(each["batch_s"] / ours["batch_s"]),
            f"{each['slowest_s']:.2f}",
            f"{each['first_s']:.1f}",
            f"{each['peak_mb']:,}",
        ]
        for name, each in many["jobs"].items()
    ]
    return table(head, rows)

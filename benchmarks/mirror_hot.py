"""One hot table: a million copied rows, then a fifth of them changes, five times each row.

Ours applies all of it. The recipe is ended after some minutes: its batches are compared with those
of ours that have the same records, the first ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchmarks.mirror_jobs import JOBS, MirrorJob
from benchmarks.mirror_topics import Topics, fill_hot
from benchmarks.process import RunFailed, say

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.mirror_jobs import Run

ROWS = 1_000_000
CHANGES = 1_000_000
BATCH = 100_000
# A worker of a cluster reads whole partitions: two workers get two each.
PARTITIONS = 4
# For each recipe, with its start.
LIMIT_S = 170.0
_MILLION = 1e6


class HotTopic:
    """The topic of the table, which is written when it is first needed."""

    def __init__(self, bootstrap: str, scale: float, prefix: str = "hot") -> None:
        """Write to the broker at `bootstrap`, under the topic prefix `prefix`."""
        self.bootstrap = bootstrap
        self.prefix = prefix
        self._scale = scale

    @cached_property
    def records(self) -> int:
        """The number of records."""
        say(f"mirror: topic of the {self.prefix} table")
        topics = Topics(self.bootstrap, self.prefix, ["hot"], PARTITIONS)
        rows, changes = int(ROWS * self._scale), int(CHANGES * self._scale)
        records = fill_hot(topics, rows, changes)
        topics.close()
        return records


def measure_hot(work: Path, topic: HotTopic) -> dict[str, Any]:
    """Return the figures of all jobs; raises RunFailed."""
    found: dict[str, Any] = {"records": topic.records, "limit_s": LIMIT_S, "jobs": {}}
    ours: Run | None = None
    for name in JOBS:
        job = MirrorJob(work, name, topic.bootstrap, topic.prefix)
        try:
            run = job.run(BATCH, LIMIT_S if ours else job.LIMIT_S)
        except RunFailed as error:
            if ours is None:
                raise
            say(f"mirror, hot, {name}: {error}")
            continue
        ours = ours or run
        found["jobs"][name] = _figures(run, ours)
        say(f"mirror, hot, {name}: {found['jobs'][name]}")
    return found


def _figures(run: Run, ours: Run) -> dict[str, Any]:
    seconds = sum(run.batch_s)
    same = ours.first(run.records)
    return {
        "records": run.records,
        "is_cut": run.is_cut,
        "seconds": round(seconds, 2),
        "records_s": round(run.records / seconds),
        # Of the same batches.
        "ratio": round(seconds / run.records / same, 2),
        "wall_s": round(run.wall_s, 2),
        "cpu_us": round(run.cpu_s * _MILLION / run.records, 2),
        "steady_cpu_us": round(run.steady_cpu_us, 2),
        "peak_mb": round(run.peak_mb),
        "batches": len(run.batches),
    }

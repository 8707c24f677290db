"""Delta tables that follow topics: our job, and the plain recipe with MERGE, in one run.

*Hot.* A table of a million rows is copied; then a fifth of them changes, five times each row.
*Many.* 100 tables of 500 rows; then batches of about 1,100 changes over all of them.

The recipe runs with Spark's defaults, and with settings that make small merges cheap. Seconds are
those of batches, without the start of Spark; CPU and memory are those of all processes.
"""

from __future__ import annotations

import os
import shutil
import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.mirror_jobs import MirrorJob
from benchmarks.mirror_topics import ManyTables, Topics, fill_hot, tables_of_many
from benchmarks.process import say
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS
from local_stack import KafkaBroker

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.mirror_jobs import Run

JOBS = ("ours", "tuned", "recipe")
HOT_ROWS = 1_000_000
HOT_CHANGES = 1_000_000
HOT_BATCH = 100_000
MANY_TABLES = 100
MANY_ROUNDS = 12
# About the changes of a round, with their tombstones.
MANY_BATCH = 1_150
# The recipe takes minutes for each.
RECIPE_ROUNDS = 2
_HOT_PARTITIONS = 3
_MILLION = 1e6


def measure_mirror(home: Home, compiled: Literal["require", "off"]) -> dict[str, Any]:
    """Return the figures of all jobs; raises RunFailed."""
    folder = home.folder("broker")
    shutil.rmtree(folder)
    work = home.folder("mirror")
    shutil.rmtree(work)
    settings = BROKER_SETTINGS | {"message.max.bytes": str(4 * 1024 * 1024)}
    broker = KafkaBroker(folder, settings=settings, memory=BROKER_MEMORY, cache=home.cache)
    with broker:
        bootstrap = broker.endpoint.bootstrap
        os.environ["CONNECTOR_COMPILED"] = compiled
        hot = _hot(work, bootstrap, home.scale)
        many = _many(work, bootstrap, max(2, int(MANY_TABLES * min(1.0, home.scale * 10))))
    shutil.rmtree(folder)
    shutil.rmtree(work)
    return {"hot": hot, "many": many, "compiled": compiled == "require"}


def _hot(work: Path, bootstrap: str, scale: float) -> dict[str, Any]:
    say("mirror: topics of the hot table")
    topics = Topics(bootstrap, "hot", ["hot"], _HOT_PARTITIONS)
    records = fill_hot(topics, int(HOT_ROWS * scale), int(HOT_CHANGES * scale))
    topics.close()
    found: dict[str, Any] = {"records": records, "jobs": {}}
    for name in JOBS:
        run = MirrorJob(work, name, bootstrap, "hot").run(HOT_BATCH)
        found["jobs"][name] = _hot_figures(run)
        say(f"mirror, hot, {name}: {found['jobs'][name]}")
    return found


def _hot_figures(run: Run) -> dict[str, Any]:
    return {
        "seconds": round(sum(run.batch_s), 2),
        "wall_s": round(run.wall_s, 2),
        "cpu_us": round(run.cpu_s * _MILLION / run.records, 2),
        "peak_mb": round(run.peak_mb),
        "batches": len(run.batches),
    }


def _many(work: Path, bootstrap: str, tables: int) -> dict[str, Any]:
    say(f"mirror: topics of {tables} tables")
    topics = Topics(bootstrap, "many", tables_of_many(tables), 1)
    source = ManyTables(topics, tables)
    jobs = [MirrorJob(work, name, bootstrap, "many") for name in JOBS]
    found: dict[str, Any] = {"tables": tables, "jobs": {}}
    first: dict[str, Run] = {}
    for job in jobs:
        first[job.name] = job.run(1_000_000)
        say(f"mirror, first copy, {job.name}: {sum(first[job.name].batch_s):.1f} s")
    for rounds, own in ((RECIPE_ROUNDS, jobs), (MANY_ROUNDS - RECIPE_ROUNDS, jobs[:1])):
        changes = sum(source.change() for _ in range(rounds))
        for job in own:
            run = job.run(max(1, changes * 11 // 10 // rounds))
            found["jobs"][job.name] = {
                "first_s": round(sum(first[job.name].batch_s), 2),
                "batch_s": round(statistics.median(run.batch_s), 3),
                "slowest_s": max(run.batch_s),
                "changes": changes,
                "batches": len(run.batches),
                "cpu_s": round(run.cpu_s, 2),
                "peak_mb": round(run.peak_mb),
            }
            say(f"mirror, many, {job.name}: {found['jobs'][job.name]}")
    topics.close()
    return found

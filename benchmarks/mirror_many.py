"""100 tables of 500 rows, then rounds of about 1,100 changes over all of them, one in a batch.

The recipe takes minutes for such a batch. So its tables are written before, without Spark, and one
batch of it is measured, after a batch of three other tables that warms it up. If it is not done
after some minutes, it is ended: its tables so far give the seconds of all. Ours makes its tables
itself, and applies 24 rounds.
"""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa

from benchmarks.mirror_jobs import JOBS, MirrorJob
from benchmarks.mirror_topics import (
    DATABASE,
    MANY_ROWS,
    ManyTables,
    Topics,
    row_values,
    tables_of_many,
)
from benchmarks.process import RunFailed, say
from connector.foundation.contract import row_topic

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.mirror_jobs import Run

TABLES = 100
ROUNDS = 24
WARM_TABLES = 3
# For each recipe, with its start.
LIMIT_S = 300.0
_ALL = 1_000_000
_MILLION = 1e6


def measure_many(work: Path, bootstrap: str, tables: int) -> dict[str, Any]:
    """Return the figures of all jobs; raises RunFailed."""
    say(f"mirror: topics of {tables} tables")
    topics = Topics(bootstrap, "many", tables_of_many(tables), 1)
    source = ManyTables(topics, tables)
    warm_topics = Topics(bootstrap, "warm", tables_of_many(WARM_TABLES), 1)
    warm_source = ManyTables(warm_topics, WARM_TABLES)
    ours, *recipes = (MirrorJob(work, name, bootstrap, "many") for name in JOBS)
    for job in recipes:
        _write_tables(job, "many", tables)
        _write_tables(job, "warm", WARM_TABLES)
        job.starting = _starting(topics, tables)
        job.warm_up = "warm", _starting(warm_topics, WARM_TABLES)
    first_s = sum(ours.run(_ALL).batch_s)
    say(f"mirror, many: the first copy took {first_s:.1f} s")
    warm_source.change()
    warm_topics.close()
    begun = sum(topics.ends(tables_of_many(tables)).values())
    changes = [source.change()]
    rivals = {}
    for job in recipes:
        try:
            rivals[job.name] = _recipe_figures(job.run(_ALL, LIMIT_S), tables)
        except RunFailed as error:
            say(f"mirror, many, {job.name}: {error}")
            continue
        say(f"mirror, many, {job.name}: {rivals[job.name]}")
    changes += [source.change() for _ in range(ROUNDS - 1)]
    # With the tombstones, and the markers of transactions.
    offsets = sum(topics.ends(tables_of_many(tables)).values()) - begun
    topics.close()
    run = ours.run(-(-offsets // ROUNDS))
    figures = {"first_s": round(first_s, 2), **_figures(run, statistics.median(run.batch_s))}
    figures["cpu_us"] = round(_cpu_us(run))
    say(f"mirror, many, ours: {figures}")
    for rival in rivals.values():
        rival["ratio"] = round(rival["batch_s"] / figures["batch_s"], 2)
    found = {"tables": tables, "changes": round(statistics.mean(changes)), "limit_s": LIMIT_S}
    return {**found, "warm_tables": WARM_TABLES, "jobs": {"ours": figures, **rivals}}


def _starting(topics: Topics, tables: int) -> str:
    """Return where the changes begin, for Spark's Kafka source."""
    ends = topics.ends(tables_of_many(tables))
    starts = {row_topic(topics.prefix, DATABASE, name): {"0": end} for name, end in ends.items()}
    return json.dumps(starts)


def _cpu_us(run: Run) -> float:
    """Return the CPU time of a change, without tombstones, the start and the first batch."""
    # The line of a batch names only some of many tables, but counts the changes of all.
    changes: int = sum(batch["totals"]["changes"] for batch in run.batches[1:])
    return (run.cpu_after_s[-1] - run.cpu_after_s[0]) * _MILLION / changes


def _figures(run: Run, batch_s: float) -> dict[str, Any]:
    return {
        "batch_s": round(batch_s, 3),
        "slowest_s": max(run.batch_s, default=batch_s),
        "batches": len(run.batches),
        "records": run.records,
        "cpu_s": round(run.cpu_s, 2),
        "peak_mb": round(run.peak_mb),
    }


def _recipe_figures(run: Run, tables: int) -> dict[str, Any]:
    """Return the figures of one batch; of one that was ended, by the tables that were done."""
    if run.batches:
        return {**_figures(run, run.batch_s[0]), "merged_tables": tables}
    assert run.merged is not None
    done = run.merged["tables"]
    seconds = run.merged["seconds"] * tables / done
    return {**_figures(run, seconds), "merged_tables": done}


def _write_tables(job: MirrorJob, prefix: str, count: int) -> None:
    """Write the copied rows for a recipe, with its column types."""
    values = pa.table(row_values(MANY_ROWS))
    kinds = {"id": pa.int64(), "customer_id": pa.int32(), "amount": pa.decimal128(12, 2)}
    kinds |= {"created_at": pa.timestamp("us"), "updated_at": pa.timestamp("us", "UTC")}
    schema = pa.schema([(field.name, kinds.get(field.name, field.type)) for field in values.schema])
    for name in tables_of_many(count):
        path = job.mirror / row_topic(prefix, DATABASE, name)
        deltalake.write_deltalake(path, values.cast(schema))

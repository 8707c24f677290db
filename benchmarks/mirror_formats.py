"""What the format `iceberg` costs a mirror: its throughput with both formats, to Delta alone.

*Hot* and *many* are the topics of `mirror_hot` and `mirror_many`. Each run has an empty mirror, and
both variants take turns, the other one first each time. Tables are published every second: ten
times as often as by default. A throughput counts from the end of the first batch, for which Spark
starts, to that of the last one, with all that is between batches.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.mirror_hot import BATCH, HotTopic
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.mirror_many import ROUNDS, TABLES
from benchmarks.mirror_topics import ManyTables, Topics, tables_of_many
from benchmarks.process import RunFailed, say
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS
from local_stack import KafkaBroker

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.mirror_jobs import RunningJob

WANTED: Final = 0.9
_LEAST_BATCHES: Final = 3
_MILLION: Final = 1e6
_VARIANTS: Final = {
    "delta": "",
    "both": 'formats = ["delta", "iceberg"]\n[iceberg]\nevery_seconds = 1.0\n',
}


def measure_mirror_formats(
    home: Home, runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the ratios of `runs` pairs of runs, and print their medians; raises RunFailed."""
    folder, work = home.folder("broker"), home.folder("mirror-formats")
    for own in (folder, work):
        shutil.rmtree(own)
    os.environ["CONNECTOR_COMPILED"] = compiled
    settings = BROKER_SETTINGS | {"message.max.bytes": str(4 * 1024 * 1024)}
    broker = KafkaBroker(folder, settings=settings, memory=BROKER_MEMORY, cache=home.cache)
    found: dict[str, Any] = {}
    with broker:
        bootstrap = broker.endpoint.bootstrap
        hot = HotTopic(bootstrap, home.scale)
        # So that there are batches to measure at each scale.
        offsets = min(BATCH, max(1, hot.records // 10))
        found["hot table"] = _pairs(work, bootstrap, "hot", offsets, runs)
        tables = max(2, int(TABLES * min(1.0, home.scale * 10)))
        found[f"{tables} tables"] = _pairs(
            work, bootstrap, "many", _fill_many(bootstrap, tables), runs
        )
    for own in (folder, work):
        shutil.rmtree(own)
    for name, each in found.items():
        say(
            f"mirror with both formats, to Delta alone, {name}: {each['ratio']:.2f} x the "
            f"throughput (wanted: {WANTED} x), {each['cpu_ratio']:.2f} x the CPU"
        )
    return found


def _fill_many(bootstrap: str, tables: int) -> int:
    """Write the topics of many tables; return the offsets of a batch."""
    topics = Topics(bootstrap, "many", tables_of_many(tables), 1)
    source = ManyTables(topics, tables)
    begun = sum(topics.ends(tables_of_many(tables)).values())
    for _ in range(ROUNDS):
        source.change()
    offsets = sum(topics.ends(tables_of_many(tables)).values()) - begun
    topics.close()
    # The copied rows come in several batches, too.
    return -(-offsets // ROUNDS) * 4


def _pairs(work: Path, bootstrap: str, prefix: str, offsets: int, runs: int) -> dict[str, Any]:
    """Return the figures of all pairs, and their medians; the first pair is a warm-up."""
    pairs = []
    for number in range(runs + 1):
        pair: dict[str, dict[str, float]] = {}
        for variant in sorted(_VARIANTS, reverse=number % 2 == 1):
            folder = work / f"{number}-{variant}"
            job = MirrorJob(folder, "ours", bootstrap, prefix, mirror_keys=_VARIANTS[variant])
            pair[variant] = _run(job, offsets)
            shutil.rmtree(folder)
            say(f"mirror formats, {prefix}, pair {number}, {variant}: {pair[variant]}")
        if number:
            pairs.append(pair)
    speeds = [pair["both"]["records_s"] / pair["delta"]["records_s"] for pair in pairs]
    cpu = [pair["both"]["cpu_us"] / pair["delta"]["cpu_us"] for pair in pairs]
    return {
        "ratio": round(statistics.median(speeds), 3),
        "cpu_ratio": round(statistics.median(cpu), 3),
        "pairs": pairs,
    }


def _run(job: MirrorJob, offsets: int) -> dict[str, float]:
    """Return the throughput of one run; raises RunFailed."""
    ends: list[float] = []

    def after_batch(_: RunningJob) -> None:
        ends.append(time.monotonic())

    run = job.run(offsets, after_batch=after_batch)
    if len(ends) < _LEAST_BATCHES:
        reason = f"{len(ends)} batches are too few to measure: use a larger --scale"
        raise RunFailed(reason)
    records = sum(batch["records"] for batch in run.batches[1:])
    return {
        "records_s": round(records / (ends[-1] - ends[0])),
        # With the last publication, and the end of the job.
        "cpu_us": round((run.cpu_s - run.cpu_after_s[0]) * _MILLION / records, 1),
        "batches": len(run.batches),
    }

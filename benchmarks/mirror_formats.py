"""What the format `iceberg` costs a mirror: its throughput with both formats, to Delta alone.

*Hot* and *many* are the topics of `mirror_hot` and `mirror_many`. Each run has an empty mirror, and
the variants take turns, in the other order each time. Tables are published as often as by default,
and ten times as often. A throughput counts from the end of the first batch, for which Spark starts,
to that of the last one, with all that is between batches.

*Lag.* For each version of a Delta table: from its commit to the file of the first Iceberg snapshot
that has it, all while the job has more to do than it can.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks.mirror_hot import BATCH, HotTopic
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.mirror_many import ROUNDS, TABLES
from benchmarks.mirror_topics import ManyTables, Topics, tables_of_many
from benchmarks.process import RunFailed, say
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS
from local_stack import KafkaBroker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.mirror_jobs import RunningJob

WANTED: Final = 0.9
_LEAST_BATCHES: Final = 3
_MILLION: Final = 1e6
_DELTA: Final = "delta"
_FORMATS: Final = 'formats = ["delta", "iceberg"]\n'
_VARIANTS: Final = {
    _DELTA: "",
    "both": _FORMATS,
    "both, every second": f"{_FORMATS}[iceberg]\nevery_seconds = 1.0\n",
}
# Seconds that Iceberg may be behind in 95 of 100 cases.
_LAG_WANTED: Final = {"both": 10, "both, every second": 2}


class _Figures(NamedTuple):
    """What one run has shown."""

    records_s: int
    cpu_us: float  # of a record
    batches: int
    # Of each version; none without Iceberg.
    lags_s: tuple[float, ...]


def measure_mirror_formats(
    home: Home, runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of `runs` rounds of all variants, and print them; raises RunFailed."""
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
        found["hot table"] = _rounds(work, bootstrap, "hot", offsets, runs)
        tables = max(2, int(TABLES * min(1.0, home.scale * 10)))
        found[f"{tables} tables"] = _rounds(
            work, bootstrap, "many", _fill_many(bootstrap, tables), runs
        )
    for own in (folder, work):
        shutil.rmtree(own)
    for name, variants in found.items():
        for variant, own in variants.items():
            say(
                f"mirror with both formats, to Delta alone, {name}, {variant}: "
                f"{own['ratio']:.2f} x the throughput (wanted: {WANTED} x), "
                f"{own['cpu_ratio']:.2f} x the CPU; 95 of 100 versions are in Iceberg after "
                f"{own['lag_p95_s']:.1f} s (wanted: {_LAG_WANTED[variant]} s)"
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


def _rounds(work: Path, bootstrap: str, prefix: str, offsets: int, runs: int) -> dict[str, Any]:
    """Return the figures of each variant with both formats; the first round is a warm-up."""
    rounds = []
    for number in range(runs + 1):
        found: dict[str, _Figures] = {}
        for place, variant in enumerate(_VARIANTS if number % 2 else reversed(_VARIANTS)):
            folder = work / f"{number}-{place}"
            job = MirrorJob(folder, "ours", bootstrap, prefix, mirror_keys=_VARIANTS[variant])
            found[variant] = _run(job, offsets)
            shutil.rmtree(folder)
            told = found[variant]._replace(lags_s=())
            say(f"mirror formats, {prefix}, round {number}, {variant}: {told}")
        if number:
            rounds.append(found)
    return {
        variant: _compared([(own[variant], own[_DELTA]) for own in rounds])
        for variant in _VARIANTS
        if variant != _DELTA
    }


def _compared(pairs: list[tuple[_Figures, _Figures]]) -> dict[str, Any]:
    """Return the figures of runs with both formats, each with one to Delta alone."""
    lags = sorted(lag for both, _ in pairs for lag in both.lags_s)
    return {
        "ratio": _median(both.records_s / delta.records_s for both, delta in pairs),
        "cpu_ratio": _median(both.cpu_us / delta.cpu_us for both, delta in pairs),
        "lag_p50_s": round(lags[len(lags) // 2], 2),
        "lag_p95_s": round(lags[int(len(lags) * 0.95)], 2),
        "lag_max_s": round(lags[-1], 2),
        "versions": len(lags),
        "pairs": [[own._asdict() | {"lags_s": None} for own in pair] for pair in pairs],
    }


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 3)


def _run(job: MirrorJob, offsets: int) -> _Figures:
    """Return the figures of one run; raises RunFailed."""
    ends: list[float] = []

    def after_batch(_: RunningJob) -> None:
        ends.append(time.monotonic())

    run = job.run(offsets, after_batch=after_batch)
    if len(ends) < _LEAST_BATCHES:
        reason = f"{len(ends)} batches are too few to measure: use a larger --scale"
        raise RunFailed(reason)
    records = sum(batch["records"] for batch in run.batches[1:])
    return _Figures(
        round(records / (ends[-1] - ends[0])),
        # With the last publication, and the end of the job.
        round((run.cpu_s - run.cpu_after_s[0]) * _MILLION / records, 1),
        len(run.batches),
        tuple(_lags(job.mirror)),
    )


def _lags(mirror: Path) -> Iterator[float]:
    """Yield for each version of a Delta table how many seconds it waited for a snapshot."""
    for log in mirror.glob("*/*/_delta_log"):
        metadata = mirror / "_iceberg" / log.parent.relative_to(mirror) / "metadata"
        # `snap-VERSION-TOKEN.avro`; a version that was tried again has several.
        snapshots = sorted(
            (int(file.name.split("-")[1]), file.stat().st_mtime)
            for file in metadata.glob("snap-*.avro")
        )
        versions = [version for version, _ in snapshots]
        for file in log.glob("*.json"):
            place = bisect_left(versions, int(file.stem)) if file.stem.isdigit() else len(versions)
            if place < len(versions):
                yield max(0.0, snapshots[place][1] - file.stat().st_mtime)

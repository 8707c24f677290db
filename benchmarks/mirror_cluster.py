"""What a second worker gives: our job over the hot table, on a standalone cluster of Spark.

Seconds are those of batches but the first, in which the executors start their Python. Runs with one
worker and with two take turns, and the fastest of each are compared: a machine that is slow for a
minute would make the other look good. The driver, with its commits, and the broker are beside the
workers on the same machine. Two workers of one core
then have less than two cores. So the CPU seconds of all of them are told, and also what the second
worker would give if each had a core of its own: the seconds outside of tasks stay, and those of
tasks fall to the CPU of the busiest worker, compared with that of one that does everything.

Two cores that share caches, or that are two threads of one core, do less than twice the work of
one, and then each second of CPU does less. A second worker pays for that, a single one does not. So
two processes that only compute are measured, too, and one worker beside such a process: its CPU
seconds are those of a worker whose neighbour is busy, as both of two workers are.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.mirror_jobs import MirrorJob
from benchmarks.process import TICKS, RunFailed, say
from local_stack.spark import SparkCluster

if TYPE_CHECKING:
    from benchmarks.mirror_hot import HotTopic
    from benchmarks.mirror_jobs import Run, RunningJob

# Of the hot table: eight batches of copied rows and eight of changes, so that both clusters compact
# all rows. A second worker doubles the files of a batch, so in few batches it alone would compact.
CLUSTER_SCALE = 2.0
_BATCH = 250_000
_BATCHES_MIN = 3
_RUNS = 3
# What workers do in a batch: changes, and compaction.
_TASKS = ("tasks", "upkeep")
# Fields of /proc/PID/stat after the name: parent, then the times of the process and of its children
# that have ended.
_PARENT, _TIMES = 1, slice(11, 15)
# Prints how often it could do some work in the given number of seconds.
_COMPUTE = """
import sys, time, zlib
data = bytes(range(256)) * 1024
count, end = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    zlib.compress(data, 6)
    count += 1
print(count)
"""
_COMPUTE_SECONDS = 5
# Longer than any run.
_BUSY_SECONDS = 3600


def measure_cluster(work: Path, topic: HotTopic, broker: int) -> dict[str, Any]:
    """Return the figures with one worker and with two; raises RunFailed.

    `broker` is the process id of the broker.
    """
    records = topic.records
    batch = min(_BATCH, records // (_BATCHES_MIN + 1))
    runs: dict[tuple[int, bool], list[dict[str, Any]]] = {
        (1, False): [],
        (1, True): [],
        (2, False): [],
    }
    for number, (count, is_beside) in itertools.product(range(_RUNS), runs):
        with ExitStack() as stack:
            if is_beside:
                stack.callback(_end, _computing(_BUSY_SECONDS))
            folder = work / f"cluster-{number}-{count}-{is_beside}"
            figures = _run(folder, topic, broker, count, batch)
        where = ", beside a process that computes" if is_beside else ""
        say(f"mirror, cluster, {count} workers{where}: {figures}")
        runs[count, is_beside].append(figures)
    one, beside, two = (min(own, key=lambda each: each["seconds"]) for own in runs.values())
    return {
        "records": records,
        "batch": batch,
        "workers": {"1": one, "2": two},
        "beside": beside,
        "seconds": {
            str(count): [each["seconds"] for each in own]
            for (count, is_beside), own in runs.items()
            if not is_beside
        },
        "ratio": round(two["records_s"] / one["records_s"], 2),
        "tasks_ratio": round(one["tasks_s"] / two["tasks_s"], 2),
        "ratio_of_cpu": round(_of_own_cores(one, one, two), 2),
        "ratio_beside": round(_of_own_cores(one, beside, two), 2),
        "ratio_of_cores": round(_computed(2) / _computed(1), 2),
    }


def _of_own_cores(one: dict[str, Any], compared: dict[str, Any], two: dict[str, Any]) -> float:
    """Return how fast two workers are if tasks take the CPU of the busiest, to that of another."""
    share = max(two["executors_cpu_s"]) / sum(compared["executors_cpu_s"])
    return float(one["seconds"] / (one["seconds"] - one["tasks_s"] + one["tasks_s"] * share))


def _run(folder: Path, topic: HotTopic, broker: int, workers: int, batch: int) -> dict[str, Any]:
    looks: list[dict[str, Any]] = []
    with SparkCluster(folder / "spark", workers=workers) as cluster:

        def look(running: RunningJob) -> None:
            executors = [cluster.executors(number) for number in range(workers)]
            looks.append(
                {
                    "executors": [sum(map(_cpu_s, own)) for own in executors],
                    "driver": running.costs.look(),
                    "broker": _cpu_s(broker),
                }
            )

        job = MirrorJob(folder / "job", "ours", topic.bootstrap, topic.prefix, cluster.url)
        run = job.run(batch, after_batch=look)
    shutil.rmtree(folder)
    return _figures(run, looks)


def _computed(processes: int) -> int:
    """Return how much work so many processes do that only compute."""
    running = [_computing(_COMPUTE_SECONDS) for _ in range(processes)]
    return sum(int(each.communicate()[0]) for each in running)


def _computing(seconds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _COMPUTE, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _figures(run: Run, looks: list[dict[str, Any]]) -> dict[str, Any]:
    if len(run.batches) < _BATCHES_MIN:
        reason = f"{len(run.batches)} batches are too few: choose a larger --scale"
        raise RunFailed(reason)
    batches = run.batches[1:]
    seconds = sum(run.batch_s[1:])
    first, last = looks[0], looks[-1]
    # At the last look, processes may have ended already.
    ends = [max(own) for own in zip(*(look["executors"] for look in looks), strict=True)]
    return {
        "seconds": round(seconds, 2),
        "records_s": round(sum(batch["records"] for batch in batches) / seconds),
        "tasks_s": round(sum(batch["phases"][name] for batch in batches for name in _TASKS), 2),
        "upkeep_s": round(sum(batch["phases"]["upkeep"] for batch in batches), 2),
        "executors_cpu_s": [
            round(after - before, 2) for before, after in zip(first["executors"], ends, strict=True)
        ],
        "driver_cpu_s": round(last["driver"] - first["driver"], 2),
        "broker_cpu_s": round(last["broker"] - first["broker"], 2),
    }


def _cpu_s(root: int) -> float:
    """Return the CPU seconds of a process and of all below it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[_PARENT])
        ticks[pid] = sum(map(int, fields[_TIMES]))
    found = {root}
    # A child may have a lower number than its parent.
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(ticks.get(pid, 0) for pid in found) / TICKS

"""The jobs that keep Delta tables equal to topics: ours, and the recipe; and what a run costs.

Ours has its default settings, apart from the cores.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from benchmarks.mirror_topics import DATABASE
from benchmarks.process import TICKS, RunFailed
from connector.foundation.ecs import facts_of
from local_stack import java_runtime, spark_jars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

JOBS = ("ours", "tuned", "recipe")
CORES = 2
HEAP = "2g"
_LOOK_SECONDS = 0.1
_MILLION = 1e6
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat after the name: parent, session, utime, stime, vsize, rss.
_PARENT, _SESSION, _USER, _SYSTEM, _SIZE, _RSS = 1, 3, 11, 12, 20, 21

DELTA: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.master": f"local[{CORES}]",
    "spark.driver.memory": HEAP,
}
# What makes a MERGE of a small batch cheap.
TUNED: Mapping[str, str] = {
    **DELTA,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.codegen.cache.maxEntries": "2000",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one run has done and cost, with all of its processes."""

    batches: list[dict[str, Any]]  # the status lines
    wall_s: float
    cpu_s: float
    peak_mb: float
    cpu_after_s: list[float]  # the CPU seconds so far, after each batch
    # Whether it took too long, and was ended; then, what its last batch had done.
    is_cut: bool = False
    merged: dict[str, Any] | None = None

    @property
    def steady_cpu_us(self) -> float:
        """The CPU time of a record, without the start and the first batch."""
        records = sum(batch["records"] for batch in self.batches[1:])
        seconds = self.cpu_after_s[-1] - self.cpu_after_s[0]
        return seconds * _MILLION / records if records else 0.0

    def first(self, records: int) -> float:
        """Return the seconds of a record in the first batches, which have about `records`."""
        count = seconds = 0.0
        for batch in self.batches:
            count += batch["records"]
            seconds += batch["seconds"]
            if count >= records:
                break
        return seconds / count

    @property
    def records(self) -> int:
        """The number of records of all batches."""
        return sum(batch["records"] for batch in self.batches)

    @property
    def batch_s(self) -> list[float]:
        """The seconds of each batch."""
        return [batch["seconds"] for batch in self.batches]


class MirrorJob:
    """A job in a folder of its own, which can be run again when there is more."""

    # One that takes longer is ended.
    LIMIT_S: ClassVar[float] = 600.0

    def __init__(
        self,
        folder: Path,
        name: str,
        bootstrap: str,
        prefix: str,
        master: str = f"local[{CORES}]",
        mirror_keys: str = "",
        interval_seconds: float = 1.0,
    ) -> None:
        """Mirror the topics of `prefix`; `name` is ours, recipe or tuned.

        Ours runs on the Spark that `master` names; `mirror_keys` are lines of its configuration,
        which begin in `[mirror]`.
        """
        self._master = master
        self._mirror_keys = mirror_keys
        self._interval_seconds = interval_seconds
        # Where the recipe begins: JSON that Spark's Kafka source knows.
        self.starting = "earliest"
        # A prefix of topics that the recipe applies first, and where these begin.
        self.warm_up: tuple[str, str] | None = None
        self.name = name
        self._folder = folder / f"{prefix}-{name}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._bootstrap = bootstrap
        self._prefix = prefix

    @property
    def mirror(self) -> Path:
        """The folder of the tables."""
        return self._folder / "mirror"

    @property
    def indexes(self) -> Path:
        """The folder of the key indexes."""
        return self._folder / "indexes"

    def run(
        self,
        max_offsets: int,
        limit_s: float = LIMIT_S,
        after_batch: Callable[[RunningJob], None] | None = None,
    ) -> Run:
        """Apply what is there, and call `after_batch` after each batch.

        After `limit_s`, the job is ended: what it has done counts for the recipe. Raises RunFailed
        if the job fails, if it has done nothing until then, or if ours takes so long.
        """
        began = time.monotonic()
        batches, cpu_s, merged = [], [], None
        with self.start(max_offsets) as running:
            watch = threading.Timer(limit_s, running.cut)
            watch.start()
            try:
                for line in running.lines():
                    if line["event"] == "table_merged":
                        merged = line
                    if line["event"] == "batch_applied" and line["records"]:
                        batches.append(line)
                        cpu_s.append(running.costs.look())
                        merged = None
                        if after_batch is not None:
                            after_batch(running)
            finally:
                watch.cancel()
            running.check_end()
        costs, wall_s = running.costs, time.monotonic() - began
        if running.is_cut and (self.name == "ours" or not (batches or merged)):
            reason = f"{self.name} was not done after {limit_s:g} s: see {self._folder / 'log'}"
            raise RunFailed(reason)
        return Run(batches, wall_s, costs.cpu_s, costs.peak_mb, cpu_s, running.is_cut, merged)

    def start(self, max_offsets: int, trigger: str = "availableNow") -> RunningJob:
        """Start the job; with `processingTime` it runs until it is stopped."""
        config = self._folder / "config"
        if self.name == "ours":
            config.write_text(self._own_config(max_offsets, trigger), encoding="utf-8")
            command = [sys.executable, "-m", "stream_jobs", str(config)]
        else:
            config.write_text(self._recipe_config(max_offsets), encoding="utf-8")
            script = Path(__file__).with_name("mirror_recipe.py")
            command = [sys.executable, str(script), str(config)]
        return RunningJob(self.name, command, self._folder / "log")

    def _own_config(self, max_offsets: int, trigger: str) -> str:
        return f"""
name = "bench"
[log]
format = "json"
[kafka]
bootstrap_servers = ["{self._bootstrap}"]
topic_prefix = "{self._prefix}"
max_offsets_per_trigger = {max_offsets}
[mirror]
path = "{self.mirror}"
checkpoint = "{self._folder}/checkpoint"
index_folder = "{self._folder}/indexes"
{self._mirror_keys}
[trigger]
kind = "{trigger}"
interval_seconds = {self._interval_seconds}
[spark.settings]
"spark.master" = "{self._master}"
"spark.driver.host" = "127.0.0.1"
"""

    def _recipe_config(self, max_offsets: int) -> str:
        settings = dict(TUNED if self.name == "tuned" else DELTA)
        settings["spark.jars"] = ",".join(str(jar) for jar in spark_jars())
        queries = [(self._prefix, self.starting)]
        if self.warm_up is not None:
            queries.insert(0, self.warm_up)
        return json.dumps(
            {
                "settings": settings,
                "bootstrap": self._bootstrap,
                "queries": [
                    {
                        "pattern": rf"{prefix}\.{DATABASE}\..*",
                        "starting": starting,
                        "checkpoint": f"{self._folder}/checkpoint-{prefix}",
                        "is_told": prefix == self._prefix,
                    }
                    for prefix, starting in queries
                ],
                "max_offsets": max_offsets,
                "mirror": str(self.mirror),
            }
        )


class RunningJob:
    """The processes of a job, from their start to their end."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Start `command`; what it says on standard error is appended to `log`."""
        self._name = name
        self._log = log
        self.is_cut = False
        self.started_at = time.time()
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ
                | {"JAVA_HOME": str(java_runtime().parents[1]), "PYSPARK_PYTHON": sys.executable},
                start_new_session=True,
                text=True,
            )
        self.costs = Costs(self.process.pid)

    def __enter__(self) -> Self:
        self.costs.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.process.terminate()
        self.process.__exit__(None, None, None)
        self.costs.end()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the status lines until the job has ended."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            if text.startswith("{"):
                yield facts_of(json.loads(text))

    def cut(self) -> None:
        """End all processes of the job at once."""
        self.is_cut = True
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def check_end(self) -> None:
        """Wait for the end; raises RunFailed if it was a failure, and was not cut."""
        if self.process.wait() and not self.is_cut:
            reason = f"{self._name} ended with {self.process.returncode}: see {self._log}"
            raise RunFailed(reason)


class Costs:
    """Adds up the processes of a session, and of those that they begin, while they run."""

    def __init__(self, session: int) -> None:
        """Look at the processes of `session`."""
        self._sessions = {str(session)}
        self._cpu: dict[str, float] = {}
        self._stop = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_mb = 0.0

    @property
    def cpu_s(self) -> float:
        """Seconds of all processes, when they were last looked at."""
        return sum(self._cpu.values())

    @property
    def by_process(self) -> Mapping[str, float]:
        """The same, by the number of the process."""
        return self._cpu

    def begin(self) -> None:
        """Look often from now on."""
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def look(self) -> float:
        """Return the CPU seconds of all processes so far."""
        with self._turn:
            every = dict(_processes())
            while new := {
                own[_SESSION]
                for own in every.values()
                if own[_SESSION] not in self._sessions
                and (parent := every.get(own[_PARENT])) is not None
                and parent[_SESSION] in self._sessions
            }:
                self._sessions |= new
            found = {n: own for n, own in every.items() if own[_SESSION] in self._sessions}
            for number, own in found.items():
                self._cpu[number] = (int(own[_USER]) + int(own[_SYSTEM])) / TICKS
            pages = sum(int(own[_RSS]) for own in found.values() if not _is_starting(own, found))
            self.peak_mb = max(self.peak_mb, pages * _PAGE_BYTES / 2**20)
            return self.cpu_s

    def memory_mb(self) -> dict[str, int]:
        """Return the memory of all processes now: resident, and with shared pages counted once."""
        self.look()
        rss = pss = 0
        for number, own in _processes():
            if own[_SESSION] in self._sessions:
                rss += int(own[_RSS]) * _PAGE_BYTES
                with suppress(FileNotFoundError, ProcessLookupError):
                    text = Path(f"/proc/{number}/smaps_rollup").read_text()
                    pss += int(text.partition("\nPss:")[2].split()[0]) * 1024
        return {"rss_mb": round(rss / 2**20), "pss_mb": round(pss / 2**20)}

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            self.look()


def _processes() -> Iterator[tuple[str, list[str]]]:
    """Yield the number of each process, and the fields of its `stat` after the name."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield path.parent.name, path.read_text().rpartition(")")[2].split()


def _is_starting(own: Sequence[str], others: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a process has the memory of its parent: between vfork and exec, it is that."""
    parent = others.get(own[_PARENT])
    return parent is not None and parent[_SIZE] == own[_SIZE]

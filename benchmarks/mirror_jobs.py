"""The jobs that keep Delta tables equal to topics: ours, and the recipe; and what a run costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.mirror_topics import DATABASE
from benchmarks.process import TICKS, RunFailed
from local_stack import java_runtime, spark_jars

if TYPE_CHECKING:
    from collections.abc import Mapping

CORES = 2
HEAP = "2g"
_LOOK_SECONDS = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat behind the name: session, utime, stime, rss.
_SESSION, _USER, _SYSTEM, _RSS = 3, 11, 12, 21

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

    def __init__(self, folder: Path, name: str, bootstrap: str, prefix: str) -> None:
        """Mirror the topics of `prefix`; `name` is ours, recipe or tuned."""
        self.name = name
        self._folder = folder / f"{prefix}-{name}"
        self._folder.mkdir(parents=True)
        self._bootstrap = bootstrap
        self._prefix = prefix

    @property
    def mirror(self) -> Path:
        """The folder of the tables."""
        return self._folder / "mirror"

    def run(self, max_offsets: int) -> Run:
        """Apply what is there; raises RunFailed if the job fails."""
        config = self._folder / "config"
        if self.name == "ours":
            config.write_text(self._own_config(max_offsets), encoding="utf-8")
            command = [sys.executable, "-m", "stream_jobs", str(config)]
        else:
            config.write_text(self._recipe_config(max_offsets), encoding="utf-8")
            script = Path(__file__).with_name("mirror_recipe.py")
            command = [sys.executable, str(script), str(config)]
        began = time.monotonic()
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ
                | {"JAVA_HOME": str(java_runtime().parents[1]), "PYSPARK_PYTHON": sys.executable},
                start_new_session=True,
                text=True,
            )
        with process, _Costs(process.pid) as costs:
            assert process.stdout is not None
            lines = [json.loads(text) for text in process.stdout if text.startswith("{")]
        if process.returncode:
            reason = f"{self.name} ended with {process.returncode}: see {self._folder / 'log'}"
            raise RunFailed(reason)
        batches = [line for line in lines if line["event"] == "batch_applied" and line["records"]]
        return Run(batches, time.monotonic() - began, costs.cpu_s, costs.peak_mb)

    def _own_config(self, max_offsets: int) -> str:
        return f"""
name = "bench"
[kafka]
bootstrap_servers = ["{self._bootstrap}"]
topic_prefix = "{self._prefix}"
max_offsets_per_trigger = {max_offsets}
[mirror]
path = "{self.mirror}"
checkpoint = "{self._folder}/checkpoint"
index_folder = "{self._folder}/indexes"
[trigger]
kind = "availableNow"
[spark.settings]
"spark.master" = "local[{CORES}]"
"spark.driver.memory" = "{HEAP}"
"""

    def _recipe_config(self, max_offsets: int) -> str:
        settings = dict(TUNED if self.name == "tuned" else DELTA)
        settings["spark.jars"] = ",".join(str(jar) for jar in spark_jars())
        return json.dumps(
            {
                "settings": settings,
                "bootstrap": self._bootstrap,
                "pattern": rf"{self._prefix}\.{DATABASE}\..*",
                "max_offsets": max_offsets,
                "mirror": str(self.mirror),
                "checkpoint": f"{self._folder}/checkpoint",
            }
        )


class _Costs:
    """Adds up the processes of a session while they run."""

    def __init__(self, session: int) -> None:
        self._session = str(session)
        self._cpu: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_mb = 0.0

    @property
    def cpu_s(self) -> float:
        """Seconds of all processes."""
        return sum(self._cpu.values())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            pages = 0
            for path in Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = path.read_text().rpartition(")")[2].split()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if fields[_SESSION] == self._session:
                    self._cpu[path.parent.name] = (
                        int(fields[_USER]) + int(fields[_SYSTEM])
                    ) / TICKS
                    pages += int(fields[_RSS])
            self.peak_mb = max(self.peak_mb, pages * _PAGE_BYTES / 2**20)

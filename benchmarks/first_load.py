"""A table that is there already: its rows into the mirror, through Kafka, and by the Spark job.

Each way starts without progress, while Spark is up, and ends when the mirror has all rows. Both run
at full pace. The job has two cores, and one to see how much a second one brings.

Where other programs run on the machine, wall times say little. So the CPU seconds are told, too:
of everything, and of the process that has most of them: on a cluster with enough cores, nothing is
faster than that one.
"""

from __future__ import annotations

import shutil
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks.connectors import OurConnector
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.pace import DATABASE, TABLE, fill_orders
from benchmarks.process import RunFailed, say, usage_of
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS, PASSWORD, USER, Stack
from benchmarks.workload.session import session
from local_stack import KafkaBroker, MysqlServer
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.mirror_jobs import RunningJob

    Way = Literal["topics", "mirror"]

ROWS: Final = 20_000_000
_LIMIT_S: Final = 7200.0
_SOURCE: Final = {"innodb_buffer_pool_size": "1G"}
# In this order: both ways with the same cores, and the new one with fewer.
_RUNS: Final[tuple[tuple[Way, int], ...]] = (("topics", 2), ("mirror", 2), ("mirror", 1))
_MILLION: Final = 1e6


class _Figures(NamedTuple):
    """What one way has taken."""

    wall_s: float
    cpu_s: dict[str, float]  # by program
    busiest_s: float  # the CPU seconds of one process

    def document(self, rows: int) -> dict[str, Any]:
        """Return the figures of the report, most of them for a row."""
        return {
            "rows_per_s": round(rows / self.wall_s),
            "cpu_us": {name: round(own / rows * _MILLION, 2) for name, own in self.cpu_s.items()},
            "cpu_us_in_all": round(sum(self.cpu_s.values()) / rows * _MILLION, 2),
            "busiest_us": round(self.busiest_s / rows * _MILLION, 2),
        }


def measure_first_load(
    home: Home, rows: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of each way, and print them and their ratios; raises RunFailed."""
    mysql = MysqlServer(home.folder("first-load-source"), settings=_SOURCE, cache=home.cache)
    figures: dict[tuple[Way, int], _Figures] = {}
    with mysql:
        _fill(mysql, rows)
        for way, workers in _RUNS:
            folder = home.folder("first-load")
            shutil.rmtree(folder)
            broker = KafkaBroker(
                folder / "broker", settings=BROKER_SETTINGS, memory=BROKER_MEMORY, cache=home.cache
            )
            with broker:
                stack = Stack(home, mysql, broker)
                run = _Way(stack, folder, way, workers, compiled)
                figures[way, workers] = own = run.measure(rows)
            say(f"first load, {way}, {workers} workers: {own.document(rows)}")
    return {"rows": rows, **_compared(figures, rows)}


def _fill(mysql: MysqlServer, rows: int) -> None:
    with session(mysql.endpoint) as connection:
        if connection.rows(f"SHOW DATABASES LIKE '{DATABASE}'"):
            ((count,),) = connection.rows(f"SELECT COUNT(*) FROM {TABLE}")
            if count == rows:
                return
        say(f"first load: a table of {rows:,} rows")
        fill_orders(connection, rows)
        connection.rows(f"ANALYZE TABLE {TABLE}")


def _compared(figures: dict[tuple[Way, int], _Figures], rows: int) -> dict[str, Any]:
    through, two, one = (figures[run] for run in _RUNS)
    ratios = {
        "by_wall": through.wall_s / two.wall_s,
        "by_cpu": sum(through.cpu_s.values()) / sum(two.cpu_s.values()),
        "by_busiest": through.busiest_s / two.busiest_s,
        "second_worker_by_busiest": one.busiest_s / two.busiest_s,
        "second_worker_by_wall": one.wall_s / two.wall_s,
    }
    for name, ratio in ratios.items():
        say(f"first load, times as fast {name.replace('_', ' ')}: {ratio:.2f}")
    ways = {f"{way} {n}": own.document(rows) for (way, n), own in figures.items()}
    return {"ways": ways, **{name: round(ratio, 2) for name, ratio in ratios.items()}}


class _Way:
    """One way of the rows into the mirror: a connector, and a job."""

    def __init__(
        self,
        stack: Stack,
        folder: Path,
        way: Way,
        workers: int,
        compiled: Literal["require", "off"],
    ) -> None:
        prefix, source = f"load{way}{workers}", stack.source
        self._stack = stack
        self._storage = LocalStorage(str(folder))
        settings = f'[snapshot]\npace = "full"\nto = "{way}"\n'
        self._connector = OurConnector(stack, prefix, DATABASE, compiled, settings)
        address = f"mysql://{USER}:{PASSWORD}@{source.host}:{source.port}/"
        options = "?ssl-mode=disabled&get-server-public-key=true"
        keys = (
            f'[first_load]\nurl = "{address}{options}"\nconnections = {workers}\npace = "full"\n'
            if way == "mirror"
            else ""
        )
        self._job = MirrorJob(
            folder, "ours", stack.bootstrap, prefix, f"local[{workers}]", mirror_keys=keys
        )
        self._path = f"{self._job.mirror.relative_to(folder)}/{TABLE.replace('.', '/')}"

    def measure(self, rows: int) -> _Figures:
        """Return what it takes until the mirror has so many rows."""
        with self._job.start(rows, "processingTime") as running:
            watch = threading.Timer(_LIMIT_S, running.cut)
            watch.start()
            try:
                found = self._run(running, rows)
            finally:
                watch.cancel()
                self._connector.stop()
                running.cut()
        if found is None:
            reason = f"the mirror does not have {rows:,} rows: see {self._connector.log}"
            raise RunFailed(reason)
        return found

    def _run(self, running: RunningJob, rows: int) -> _Figures | None:
        lines = running.lines()
        if not any(line["event"] == "started" for line in lines):
            return None
        running.costs.look()
        job, servers = dict(running.costs.by_process), self._servers()
        began = time.monotonic()
        self._connector.copy(TABLE)
        for line in lines:
            if line["event"] not in ("batch_applied", "loaded") or self._mirrored() < rows:
                continue
            wall_s = time.monotonic() - began
            running.costs.look()
            of_job = {pid: cpu - job.get(pid, 0.0) for pid, cpu in running.costs.by_process.items()}
            cpu = {name: now - servers[name] for name, now in self._servers().items()}
            cpu |= {"connector": usage_of(self._connector.pid).cpu_s, "job": sum(of_job.values())}
            busiest_s = max(*of_job.values(), cpu["connector"])
            return _Figures(wall_s, cpu, busiest_s)
        return None

    def _mirrored(self) -> int:
        table = DeltaTable.open(self._storage, self._path)
        return 0 if table is None else table.snapshot.live_rows

    def _servers(self) -> dict[str, float]:
        servers = {"source": self._stack.mysql.pid, "broker": self._stack.kafka.pid}
        return {name: usage_of(pid).cpu_s for name, pid in servers.items()}

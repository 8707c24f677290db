"""The same pipeline without a broker and with one: `up`, and `run` and the Spark job with Kafka.

Both have the settings that `up` writes, and get 500 one-row transactions a second over five tables
(`mirror_live`). What Kafka costs is in the figures of its way. MySQL is in none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.connectors import OurConnector
from benchmarks.mirror_commits import versions
from benchmarks.mirror_jobs import Costs, MirrorJob
from benchmarks.mirror_live import (
    RATE_PER_S,
    create_tables,
    idle_costs,
    latency,
    mirror_runs,
    write_rows,
)
from benchmarks.process import RunFailed, say, usage_of
from benchmarks.replay import DATABASE as REPLAYED
from benchmarks.replay import TABLES as REPLAYED_TABLES
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS, PASSWORD, USER, Stack, stack
from benchmarks.watch import Phase, Topics, watch
from benchmarks.workload.stamps import DATABASE, TABLES
from connector.kafka.folder.door import SOCKET
from connector.lake.lake_folder import COMMIT_PAUSE_MS, INTERVAL_SECONDS
from local_stack import KafkaBroker, MysqlServer
from stream_jobs.delta.storages import LocalStorage

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from local_stack import Endpoint

    Compiled = Literal["require", "off"]

_DELIVERY: Final = f"[delivery]\ncommit_pause_ms = {COMMIT_PAUSE_MS}\n"

_WAIT_S: Final = 300.0
_LOOK_S: Final = 0.05
_SEED_S: Final = 1.0
_SETTLE_S: Final = 10.0


def measure_lake(
    home: Home, data: dict[str, DataFile], runs: int, seconds: float, compiled: Compiled
) -> dict[str, Any]:
    """Return the figures of both ways, and print them; each state is held for `seconds`."""
    figures: dict[str, Any] = {
        "into_log": _into_logs(home, data, runs, compiled),
        "compiled": compiled == "require",
    }
    for way, measure in (("folder", _without_broker), ("kafka", _with_broker)):
        folder = home.folder("lake")
        shutil.rmtree(folder)
        folder.mkdir()
        with MysqlServer(folder / "source", cache=home.cache) as mysql:
            create_tables(mysql.endpoint)
            write_rows(mysql.endpoint, RATE_PER_S, _SEED_S)
            figures[way] = measure(home, mysql, folder, seconds, compiled)
        say(f"lake, {way}: {figures[way]}")
    return figures


@dataclass(frozen=True, slots=True)
class _Pipeline:
    """The running programs of one way."""

    source: Endpoint
    mirror: Path
    costs: Costs  # the Spark job, and with `up` the connector
    others: tuple[int, ...] = ()  # the connector and the broker, each one process

    def cpu_seconds(self) -> float:
        """Return what all programs have taken so far."""
        return self.costs.look() + sum(usage_of(pid).cpu_s for pid in self.others)

    def figures(self, seconds: float) -> dict[str, Any]:
        """Return memory and CPU of a time without changes, then the delay under load."""
        storage = LocalStorage(str(self.mirror / DATABASE))
        time.sleep(_SETTLE_S)
        idle = idle_costs(storage, self.cpu_seconds, seconds)
        under_load = latency(self.source, storage, self.cpu_seconds, seconds)
        memory = self.costs.memory_mb()
        others = sum(usage_of(pid).rss_mb for pid in self.others)
        return {
            "idle": idle,
            "latency": under_load,
            "rss_mb": round(memory["rss_mb"] + others),
            "pss_mb": round(memory["pss_mb"] + others),
        }


def _into_logs(
    home: Home, data: dict[str, DataFile], runs: int, compiled: Compiled
) -> dict[str, Any]:
    """Return how fast the connector writes two binlog files into each log, one after the other."""
    found: dict[str, list[dict[str, Any]]] = {"kafka": [], "folder": []}
    with stack(home) as servers:
        for number in range(runs):
            for way, done in found.items():
                folder = home.folder("lake") / f"log{number}"
                log = folder if way == "folder" else None
                connector = OurConnector(servers, f"{way}{number}", REPLAYED, compiled, log=log)
                done.append(_into_log(connector, data, log))
                say(f"into the log, {way}: {done[-1]}")
                shutil.rmtree(folder, ignore_errors=True)
    fastest = {
        phase: {
            way: max(run[phase]["messages_per_s"] for run in done) for way, done in found.items()
        }
        for phase in ("oltp", "bulk")
    }
    for phase, rates in fastest.items():
        say(f"into the log, {phase}: {rates['folder'] / rates['kafka']:.2f} x Kafka")
    return fastest


def _into_log(
    connector: OurConnector, data: dict[str, DataFile], log: Path | None
) -> dict[str, Any]:
    oltp, bulk = data["oltp"].counts, data["bulk"].counts
    first = oltp.changes + oltp.deletes  # a record without a value follows each delete
    try:
        connector.start(data["oltp"].path.name)
        # The first process that connects serves the log: not this one.
        while log is not None and not (log / SOCKET).exists():
            connector.check()
            time.sleep(_LOOK_S)
        topics = Topics(connector.bootstrap, connector.topics(REPLAYED_TABLES))
        try:
            samples = watch(connector, topics, first + bulk.changes, _WAIT_S)
        finally:
            topics.close()
    finally:
        connector.stop()
    return {
        "oltp": Phase.of(samples, 0, first).document(),
        "bulk": Phase.of(samples, first, samples[-1].count).document(),
    }


def _without_broker(
    home: Home, mysql: MysqlServer, folder: Path, seconds: float, compiled: Compiled
) -> dict[str, Any]:
    del home
    source, mirror = mysql.endpoint, folder / "tables"
    url = f"mysql://{USER}:{PASSWORD}@{source.host}:{source.port}/{DATABASE}"
    command = [sys.executable, "-m", "connector", "up", url, "--to", str(mirror)]
    began = time.monotonic()
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"CONNECTOR_COMPILED": compiled},
            start_new_session=True,
        )
    costs = Costs(process.pid)
    costs.begin()
    try:
        start_s = _await_tables(mirror, process, began)
        return {"start_s": start_s} | _Pipeline(source, mirror, costs).figures(seconds)
    finally:
        process.terminate()
        process.wait()
        costs.end()


def _with_broker(
    home: Home, mysql: MysqlServer, folder: Path, seconds: float, compiled: Compiled
) -> dict[str, Any]:
    began = time.monotonic()
    broker = KafkaBroker(
        folder / "broker", settings=BROKER_SETTINGS, memory=BROKER_MEMORY, cache=home.cache
    )
    with broker:
        servers = Stack(home, mysql, broker)
        connector = OurConnector(servers, "lake", DATABASE, compiled, _DELIVERY)
        connector.copy(f"{DATABASE}.*")
        job = MirrorJob(
            folder, "ours", servers.bootstrap, "lake", interval_seconds=INTERVAL_SECONDS
        )
        try:
            with mirror_runs(job) as running:
                start_s = _await_tables(job.mirror, running.process, began)
                others = connector.pid, broker.pid
                pipeline = _Pipeline(mysql.endpoint, job.mirror, running.costs, others)
                return {"start_s": start_s} | pipeline.figures(seconds)
        finally:
            connector.stop()


def _await_tables(mirror: Path, process: subprocess.Popen[Any], began: float) -> float:
    """Wait until all tables can be read; return the seconds since `began`, or raise RunFailed."""
    storage = LocalStorage(str(mirror / DATABASE))
    while time.monotonic() < began + _WAIT_S:
        if versions(storage).keys() >= set(TABLES):
            return round(time.monotonic() - began, 1)
        if process.poll() is not None:
            break
        time.sleep(_LOOK_S)
    reason = f"there are not all tables in {mirror}"
    raise RunFailed(reason)

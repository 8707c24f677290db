"""A running job, with a source and the connector before it: start, idle, latency.

*Start.* From the start of the process until the first commit with rows: the changes are in Kafka.
*Idle.* Nothing is written for a while: CPU time of the JVM and of Python, and commits.
*Latency.* 500 one-row transactions a second over five tables. It begins just before a statement is
sent to MySQL, and ends when the log of the Delta table has got the commit with the row.

The job has its default settings. MySQL, Kafka and the connector share the machine with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.connectors import OurConnector
from benchmarks.mirror_commits import committed_rows, versions
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.process import RunFailed, say
from benchmarks.stack import ACCOUNT, Stack
from benchmarks.workload.session import session
from benchmarks.workload.stamps import DATABASE, TABLES
from local_stack import MysqlServer
from stream_jobs.delta.storages import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.mirror_jobs import RunningJob
    from local_stack import Endpoint, KafkaBroker

RATE_PER_S = 500
STARTS = 3
# Before a state is measured.
SETTLE_S = 10.0
PREFIX = "stamps"
_MAX_OFFSETS = 100_000
_WAIT_S = 300.0
_LOOK_S = 0.05
_SEED_S = 2.0
_MICROSECONDS = 1e6


def measure_mirror_live(
    home: Home, work: Path, broker: KafkaBroker, seconds: float, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures; each state is held for `seconds`."""
    folder = work / "source"
    mysql = MysqlServer(folder, cache=home.cache)
    with mysql:
        servers = Stack(home, mysql, broker)
        create_tables(servers.source)
        connector = OurConnector(servers, PREFIX, DATABASE, compiled)
        connector.start(servers.newest_file())
        try:
            return _measure(servers, MirrorJob(work, "ours", servers.bootstrap, PREFIX), seconds)
        finally:
            connector.stop()


def create_tables(source: Endpoint) -> None:
    """Create the empty tables of the load, and the account of connectors."""
    row = "(id BIGINT PRIMARY KEY, sent_at BIGINT NOT NULL, amount DECIMAL(10,2), note TEXT)"
    with session(source) as connection:
        connection.execute(
            f"CREATE DATABASE {DATABASE}",
            *(f"CREATE TABLE {DATABASE}.{table} {row}" for table in TABLES),
            *ACCOUNT,
        )


def _measure(servers: Stack, job: MirrorJob, seconds: float) -> dict[str, Any]:
    storage = LocalStorage(str(job.mirror / DATABASE))
    starts: list[float] = []
    start_cpu_s: list[float] = []
    found: dict[str, Any] = {}
    while len(starts) < STARTS:
        write_rows(servers.source, RATE_PER_S, _SEED_S)
        # The connector has written them all when the job starts.
        time.sleep(_SEED_S)
        known = versions(storage)
        with mirror_runs(job) as running:
            _await_commits(storage, known, running)
            start_cpu_s.append(running.costs.look())
            starts.append(_first_commit(storage, known) - running.started_at)
            say(f"mirror: the first row after {starts[-1]:.1f} s, {start_cpu_s[-1]:.1f} s of CPU")
            if len(starts) < STARTS:
                continue
            time.sleep(SETTLE_S)
            found["idle"] = idle_costs(storage, running.costs.look, seconds)
            say(f"mirror, idle: {found['idle']}")
            found["latency"] = latency(servers.source, storage, running.costs.look, seconds)
            say(f"mirror, latency: {found['latency']}")
            found["peak_mb"] = round(running.costs.peak_mb)
    return found | {
        "start_s": round(min(starts), 2),
        "starts_s": [round(each, 2) for each in starts],
        "start_cpu_s": round(min(start_cpu_s), 2),
    }


@contextmanager
def mirror_runs(job: MirrorJob) -> Iterator[RunningJob]:
    """Run the job for the length of a block."""
    with job.start(_MAX_OFFSETS, "processingTime") as running:
        # Somebody has to read the status lines, or the job waits.
        reader = threading.Thread(target=lambda: deque(running.lines(), 0), daemon=True)
        reader.start()
        yield running
        running.process.terminate()
        reader.join()
        running.check_end()


def _await_commits(storage: LocalStorage, known: dict[str, int], running: RunningJob) -> None:
    """Wait until all tables have a newer version than `known`; raises RunFailed if none comes."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        found = versions(storage)
        if all(found.get(table, 0) > known.get(table, 0) for table in TABLES):
            return
        if running.process.poll() is not None or time.monotonic() > deadline:
            reason = "the mirror did not get the rows of all tables"
            raise RunFailed(reason)
        time.sleep(_LOOK_S)


def _first_commit(storage: LocalStorage, known: dict[str, int]) -> float:
    return min(
        rows.seen_at
        for table in TABLES
        for rows in committed_rows(storage, table, "sent_at", known.get(table, 0))
    )


def idle_costs(
    storage: LocalStorage, cpu_seconds: Callable[[], float], seconds: float
) -> dict[str, Any]:
    """Return the CPU of a time without changes, in percent of a core, and the commits in it."""
    before, cpu_s = versions(storage), cpu_seconds()
    time.sleep(seconds)
    cpu_s = cpu_seconds() - cpu_s
    after = versions(storage)
    return {
        "cpu_percent": round(cpu_s / seconds * 100, 2),
        "commits": sum(after[table] - before[table] for table in before),
    }


def latency(
    source: Endpoint, storage: LocalStorage, cpu_seconds: Callable[[], float], seconds: float
) -> dict[str, Any]:
    """Return how far the tables are behind a load, and the CPU of one change."""
    known = versions(storage)
    write_rows(source, RATE_PER_S, SETTLE_S)
    begun, cpu_s = time.time() * _MICROSECONDS, cpu_seconds()
    sent = write_rows(source, RATE_PER_S, seconds)
    cpu_s = cpu_seconds() - cpu_s
    time.sleep(SETTLE_S)
    waited = []
    commits = 0
    for table in TABLES:
        for rows in committed_rows(storage, table, "sent_at", known[table]):
            own = rows.values[rows.values >= begun]
            commits += bool(len(own))
            waited.append(rows.seen_at - own / _MICROSECONDS)
    p50, p95, p99 = np.percentile(np.concatenate(waited), [50, 95, 99]).tolist()
    return {
        "rate_per_s": round(sent / seconds),
        "rows": sum(map(len, waited)),
        "commits": commits,
        "p50_s": round(p50, 3),
        "p95_s": round(p95, 3),
        "p99_s": round(p99, 3),
        "cpu_us": round(cpu_s * _MICROSECONDS / sent),
    }


def write_rows(source: Endpoint, rate: float, seconds: float) -> int:
    """Write rows for some seconds, and return how many."""
    command = [sys.executable, "-m", "benchmarks.workload.stamps", str(source.port), source.user]
    command += [source.password, str(rate), str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        reason = "the program that writes rows has failed"
        raise RunFailed(reason)
    return int(json.loads(done.stdout)["sent"])

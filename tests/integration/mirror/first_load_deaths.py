"""`python -m tests.integration.mirror.first_load_deaths`: kills while tables are loaded.

The first rows of two tables are read from the source, while a client changes them, their keys and
their columns all the time. Job, connector, source and broker are killed until the load is complete:
half of the times at any moment, the other half when a table has all rows and its topic is applied.
Then the client stops, and the mirror must have the rows that a SELECT shows, and `verify` must find
no difference. Then another pipeline loads the same tables, and so on.

The job is the real one without Spark, whose start takes longer than such a load. With `--spark`, it
is the whole job on a cluster of two workers, whose executors are killed, too.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pymysql

from local_stack import KafkaBroker, MysqlServer, connect
from local_stack.spark import SparkCluster
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_table import MirrorTable
from tests import forked_command
from tests.integration.harness import ConnectorProcess, toml_value, write_config
from tests.integration.mirror.conftest import Job
from tests.integration.mirror.first_load_jobs import ClusterJob, ForkedJob

if TYPE_CHECKING:
    from local_stack import Endpoint

DATABASE: Final = "shop"
TABLES: Final = ("orders", "names")
_COLUMNS: Final = {
    "orders": "id BIGINT PRIMARY KEY, name VARCHAR(60), amount DECIMAL(12,2)",
    "names": "id BIGINT, name VARCHAR(60), amount DECIMAL(12,2), PRIMARY KEY (name, id)",
}
_SELECTED: Final = ("id", "name", "amount")
_PAUSE_SECONDS: Final = (0.05, 1.0)
# A table applies its topic for about so long; and so long the next one that does is waited for.
_CATCHING_UP_SECONDS: Final = 0.3
_PATIENCE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.005
# Of the kills before a load has begun: without, few loads would begin.
_SPARED: Final = 0.9
_EQUAL_SECONDS: Final = 300.0
_RANGE_ROWS: Final = 200
_KILLS_OF_A_LOAD: Final = 20
# With a cluster, so many of the kills are of executors.
_OF_EXECUTORS: Final = 0.4


class Client(threading.Thread):
    """Changes rows, keys and columns until it is stopped."""

    def __init__(self, endpoint: Endpoint, rows: int, seed: int) -> None:
        """Change tables of so many rows."""
        super().__init__(daemon=True)
        self._endpoint = endpoint
        self._rows = rows
        self._dice = random.Random(seed)
        self._stopped = threading.Event()
        self._columns = 0
        self.changes = 0

    def run(self) -> None:
        """Change something a hundred times a second; the server may be away."""
        while not self._stopped.is_set():
            with (
                contextlib.suppress(pymysql.err.Error, OSError),
                connect(self._endpoint, DATABASE) as connection,
                connection.cursor() as cursor,
            ):
                while not self._stopped.wait(0.01):
                    cursor.execute(self._statement())
                    self.changes += 1
            self._stopped.wait(0.1)

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        self.join()

    def _statement(self) -> str:
        dice = self._dice
        table, key, number = dice.choice(TABLES), dice.randint(1, self._rows), dice.getrandbits(40)
        span = f"id BETWEEN {key} AND {key + 3}"
        chance = dice.random()
        if chance < 0.002:
            return f"DELETE FROM {table} WHERE id % 3 = {number % 3}"
        if chance < 0.004:
            self._columns += 1
            return f"ALTER TABLE {table} ADD COLUMN c{self._columns} INT DEFAULT {self._columns}"
        if chance < 0.3:
            return f"UPDATE {table} SET amount = {number % 10**6} WHERE {span}"
        if chance < 0.5:
            return f"DELETE FROM {table} WHERE {span}"
        if chance < 0.7:
            # The key of the second table; in the first one, a value.
            return f"UPDATE {table} SET name = 'n{number}' WHERE {span}"
        if chance < 0.8:
            return f"UPDATE IGNORE {table} SET id = id + {self._rows // 2} WHERE {span}"
        return f"REPLACE INTO {table} (id, name, amount) VALUES ({key}, 'n{number}', 1)"


def _fill(endpoint: Endpoint, rows: int) -> None:
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        for table, columns in _COLUMNS.items():
            cursor.execute(f"CREATE TABLE {DATABASE}.{table} ({columns})")
            values = ", ".join(f"({n}, 'n{n}', {n})" for n in range(1, rows + 1))
            cursor.execute(f"INSERT INTO {DATABASE}.{table} VALUES {values}")


def _refill(endpoint: Endpoint, rows: int) -> None:
    with connect(endpoint, DATABASE) as connection, connection.cursor() as cursor:
        for table in TABLES:
            values = ", ".join(f"({n}, 'n{n}', {n})" for n in range(1, rows + 1))
            cursor.execute(f"REPLACE INTO {table} (id, name, amount) VALUES {values}")


@dataclass
class Stack:
    """The servers that are killed."""

    source: MysqlServer
    broker: KafkaBroker
    cluster: SparkCluster | None

    def kill_executor(self, dice: random.Random) -> bool:
        """End an executor as the kernel would; return whether there was one."""
        assert self.cluster is not None
        found = [pid for worker in (0, 1) for pid in self.cluster.executors(worker)]
        for pid in dice.sample(found, min(1, len(found))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)


class Pipeline:
    """A connector and a job, which load the tables."""

    def __init__(self, folder: Path, stack: Stack, prefix: str) -> None:
        """Start both; the job on the cluster, if there is one."""
        source, broker, cluster = stack.source.endpoint, stack.broker.endpoint, stack.cluster
        self._folder = folder / prefix
        self._folder.mkdir()
        self._prefix = prefix
        self._broker = broker
        url = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
        self._source = {"url": url, "range_rows": _RANGE_ROWS, "pace": "full", "connections": 2}
        self._config = write_config(
            self._folder,
            source,
            broker,
            prefix,
            DATABASE,
            source__start="snapshot",
            snapshot__to="mirror",
        )
        self._job_config = self._folder / "job.toml"
        self._write_job_config(cluster)
        self.connector = ConnectorProcess(self._config).start()
        self.job: ForkedJob | ClusterJob
        if cluster is None:
            self.job = ForkedJob(broker.bootstrap, prefix, self._folder, self._source)
        else:
            self.job = ClusterJob(self._job_config)

    def _write_job_config(self, cluster: SparkCluster | None) -> None:
        self._job_config.touch(mode=0o600)
        spark = "" if cluster is None else f'[spark.settings]\n"spark.master" = "{cluster.url}"\n'
        load = "".join(f"{key} = {toml_value(value)}\n" for key, value in self._source.items())
        self._job_config.write_text(
            f'name = "job"\nlog = {{format = "json"}}\n'
            f'[kafka]\nbootstrap_servers = ["{self._broker.bootstrap}"]\n'
            f"topic_prefix = {toml_value(self._prefix)}\n"
            f"[mirror]\npath = {toml_value(str(self._folder / 'mirror'))}\n"
            f"checkpoint = {toml_value(str(self._folder / 'checkpoint'))}\n"
            f"[first_load]\n{load}{spark}"
        )

    def phase(self, table: str) -> str:
        """Return how far the load of a table is."""
        try:
            name = f"{DATABASE}.{table}"
            mirror = MirrorTable.open(self._storage, f"{DATABASE}/{table}", name, "")
        except MirrorError:
            return "unknown"
        load = None if mirror is None else mirror.progress.load
        return "not begun" if load is None else load.phase

    @property
    def phases(self) -> list[str]:
        """Return how far the loads are."""
        return [self.phase(table) for table in TABLES]

    @property
    def _storage(self) -> LocalStorage:
        return LocalStorage(str(self._folder / "mirror"))

    def kill_connector(self) -> None:
        """End the connector as the kernel would, and start another one."""
        self.connector.kill()
        self.connector.start()

    def watch(self) -> None:
        """Start again what has ended by itself, because the source was away."""
        self.job.watch()
        process = self.connector.process
        if process is not None and process.poll() is not None:
            self.connector.start()

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a mirror, in order."""
        job = Job.__new__(Job)
        job.folder = self._folder
        return job.rows(table, *_SELECTED, database=DATABASE)

    def verified(self) -> str:
        """Return what `verify` says if it finds a difference."""
        done = forked_command.run("verify", str(self._config), "--mirror", str(self._job_config))
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def end(self) -> None:
        """Kill both."""
        self.job.end()
        self.connector.kill()


def _await_moment(pipeline: Pipeline, dice: random.Random) -> None:
    """Wait until the next kill: any time, or until a table has all rows, and some moments more."""
    if dice.random() < 0.5:
        time.sleep(dice.uniform(*_PAUSE_SECONDS))
        return
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends_at:
        phases = pipeline.phases
        if "catching up" in phases or set(phases) == {"complete"}:
            break
        pipeline.watch()
        time.sleep(_LOOK_SECONDS)
    time.sleep(dice.uniform(0, _CATCHING_UP_SECONDS))


def _kill_one(pipeline: Pipeline, stack: Stack, dice: random.Random) -> str:
    """Kill something, and return its name."""
    chance = dice.random()
    if stack.cluster is not None and chance < _OF_EXECUTORS and stack.kill_executor(dice):
        return "executor"
    if chance < 0.5:
        pipeline.job.replace()
        return "job" if stack.cluster is None else "driver"
    if chance < 0.8:
        pipeline.kill_connector()
        return "connector"
    server: MysqlServer | KafkaBroker = stack.source if chance < 0.9 else stack.broker
    server.kill()
    server.start()
    return "source" if server is stack.source else "broker"


def _strike(pipeline: Pipeline, stack: Stack, faults: int, dice: random.Random) -> Counter[str]:
    """Kill again and again until the load is complete; return how often what, and when."""
    struck: Counter[str] = Counter()
    while struck.total() < faults and pipeline.phases != ["complete"] * len(TABLES):
        _await_moment(pipeline, dice)
        pipeline.watch()
        phases = ", ".join(sorted(pipeline.phases))
        if set(pipeline.phases) == {"not begun"} and dice.random() < _SPARED:
            continue
        struck[f"{_kill_one(pipeline, stack, dice)} ({phases})"] += 1
    return struck


def _differences(pipeline: Pipeline, source: Endpoint) -> list[str]:
    """Wait until the mirror has the rows of the source; return what differs after minutes."""
    wanted = {}
    with connect(source, DATABASE) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT {', '.join(_SELECTED)} FROM {table}")
            wanted[table] = sorted(cursor.fetchall())
    ends_at = time.monotonic() + _EQUAL_SECONDS
    while True:
        pipeline.watch()
        wrong = [
            f"{table}: {pipeline.phase(table)}, or other rows"
            for table, rows in wanted.items()
            if pipeline.phase(table) != "complete" or pipeline.rows(table) != rows
        ]
        if not wrong:
            told = pipeline.verified()
            return [told] if told else []
        if time.monotonic() > ends_at:
            return wrong
        time.sleep(0.5)


def run(directory: Path, options: argparse.Namespace) -> list[str]:
    """Return what was wrong, and print what was done."""
    rows, seed = options.rows, options.seed
    dice, struck, loads, changes = random.Random(seed), Counter[str](), 0, 0
    wrong: list[str] = []
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(MysqlServer(directory / "mysql"))
        broker = opened.enter_context(KafkaBroker(directory / "kafka"))
        stack = Stack(server, broker, None)
        if options.spark:
            stack.cluster = opened.enter_context(SparkCluster(directory / "cluster", workers=2))
        _fill(server.endpoint, rows)
        while struck.total() < options.kills and not wrong:
            loads += 1
            client = Client(server.endpoint, rows, seed + loads)
            client.start()
            pipeline = Pipeline(directory, stack, f"load{loads}")
            try:
                left = min(_KILLS_OF_A_LOAD, options.kills - struck.total())
                own = _strike(pipeline, stack, left, dice)
                client.stop()
                wrong += _differences(pipeline, server.endpoint)
                struck += own
                print(f"load {loads}: {own.total()} kills, {wrong or 'equal'}", flush=True)
            finally:
                pipeline.end()
            changes += client.changes
            _refill(server.endpoint, rows)
    for what, count in sorted(struck.items()):
        print(f"{count:4} kills of the {what}")
    print(f"{struck.total()} kills in {loads} loads, with {changes:,} statements beside them")
    return wrong


def main() -> int:
    """Run, and return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", action="store_true", help="with the whole job, on a cluster")
    arguments = parser.parse_args()
    multiprocessing.set_forkserver_preload(["tests.ready_command", Job.__module__])
    with tempfile.TemporaryDirectory(prefix="first-load-deaths-") as name:
        wrong = run(Path(name), arguments)
    print("\n".join(wrong) or "all mirrors have the rows of the source")
    # What was forked must not wait for the threads of the others.
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

"""`verify` of many small tables: tables a second, with and without changes.

The connector copies N tables of 50 rows, and the Spark job mirrors them. The servers' folders and
the mirror stay in the cache, so the next run begins with the comparison. It runs once while nothing
changes, and once while connector and job carry 200 changes a second, of rows of 20 tables: on two
cores, the job cannot follow when each batch has changes of thousands of tables.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import threading
import time
from collections import Counter, deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pymysql

from benchmarks.connectors import OurConnector
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.process import RunFailed, beside, run_to_end, say, usage_of
from benchmarks.stack import ACCOUNT, BROKER_MEMORY, BROKER_SETTINGS, Stack
from benchmarks.workload.session import session
from local_stack import KafkaBroker, MysqlServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home

ROWS: Final = 50
DATABASE: Final = "many"
_PREFIX: Final = "many"
_MAX_OFFSETS: Final = 1_000_000
_WAIT_S: Final = 3600.0
# After the first changes: so long until connector and job are at their pace.
_SETTLE_S: Final = 20.0
# A version of a Delta table: the one before makes the table.
_FIRST_ROWS: Final = f"{1:020}.json"
SOURCE_SETTINGS: Final = {"innodb_buffer_pool_size": "512M", "table_open_cache": "4000"}
# A log segment of each topic is allocated at once.
SMALL_SEGMENTS: Final = {"log.index.size.max.bytes": "65536"}
ONE_PARTITION: Final = "partitions = 1\n"
_COLUMNS: Final = (
    "id INT PRIMARY KEY AUTO_INCREMENT, customer BIGINT NOT NULL, price DECIMAL(12,2), "
    "name VARCHAR(60), ordered DATETIME, state ENUM('new','paid','sent')"
)
_NAMES: Final = "customer, price, name, ordered, state"
_VALUES: Final = (
    "FLOOR(RAND()*1e9), RAND()*10000, CONCAT('name ', FLOOR(RAND()*1e6)), "
    "'2026-01-01' + INTERVAL RAND()*3e7 SECOND, 1 + FLOOR(RAND()*3)"
)


class Load(NamedTuple):
    """What changes while tables are compared."""

    changes_per_s: int = 200
    tables: int = 20


def measure_many(
    home: Home, counts: Sequence[int], load: Load, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures by the number of tables; raises RunFailed if one is not equal."""
    os.environ["CONNECTOR_COMPILED"] = compiled
    found = {str(count): _ManyTables(home, count, load, compiled).run() for count in counts}
    return {
        "rows": ROWS,
        "changes_per_s": load.changes_per_s,
        "changed": load.tables,
        "compiled": compiled == "require",
        **found,
    }


class _ManyTables:
    """One number of tables, with the servers that keep them."""

    def __init__(
        self, home: Home, count: int, load: Load, compiled: Literal["require", "off"]
    ) -> None:
        self._home = home
        self._load = load
        self._count = count
        self._compiled: Literal["require", "off"] = compiled
        self._folder = home.folder("verify-many") / str(count)
        self._made = self._folder / "made"

    def run(self) -> dict[str, Any]:
        """Return the figures of both comparisons."""
        if not self._made.exists():
            shutil.rmtree(self._folder, ignore_errors=True)
        cache = self._home.cache
        broker = KafkaBroker(
            self._folder / "broker",
            settings=BROKER_SETTINGS | SMALL_SEGMENTS,
            memory=BROKER_MEMORY,
            cache=cache,
        )
        mysql = MysqlServer(self._folder / "source", settings=SOURCE_SETTINGS, cache=cache)
        with broker, mysql:
            stack = Stack(self._home, mysql, broker)
            connector = OurConnector(stack, _PREFIX, DATABASE, self._compiled, ONE_PARTITION)
            job = MirrorJob(self._folder, "ours", stack.bootstrap, _PREFIX)
            if not self._made.exists():
                fill_small_tables(stack, self._count)
            connector.copy(f"{DATABASE}.*")
            try:
                self._mirror_all(job)
                self._made.touch()
                found = {"quiet": self._verified(stack, connector, job)}
                with self._running(job), beside(partial(self._write, stack)):
                    time.sleep(_SETTLE_S)
                    found["under_load"] = self._verified(stack, connector, job)
            finally:
                connector.stop()
        return found

    def _mirror_all(self, job: MirrorJob) -> None:
        """Run the job until each table has a mirror, which has all changes of earlier runs."""
        deadline = time.monotonic() + _WAIT_S
        mirrored = -1
        while mirrored < self._count:
            if time.monotonic() > deadline:
                reason = f"{mirrored} of {self._count} tables had a mirror after {_WAIT_S:g} s"
                raise RunFailed(reason)
            try:
                job.run(_MAX_OFFSETS, _WAIT_S)
            except RunFailed:
                # Before the first topic is there.
                time.sleep(1)
            mirrored = sum(1 for _ in job.mirror.glob(f"{DATABASE}/*/_delta_log/{_FIRST_ROWS}"))
            say(f"verify: {mirrored} of {self._count} tables have a mirror")

    @contextmanager
    def _running(self, job: MirrorJob) -> Iterator[None]:
        with job.start(_MAX_OFFSETS, "processingTime") as running:
            reading = threading.Thread(target=lambda: deque(running.lines(), 0))
            reading.start()
            try:
                yield
            finally:
                running.process.terminate()
                reading.join()

    def _verified(self, stack: Stack, connector: OurConnector, job: MirrorJob) -> dict[str, Any]:
        config = connector.folder / f"{_PREFIX}.toml"
        job_file = self._job_file(job)
        config.chmod(0o600)
        command = [sys.executable, "-m", "connector", "verify", str(config)]
        command += ["--mirror", str(job_file), "--json"]
        source, path = stack.mysql.pid, self._folder / "report.json"
        before = usage_of(source).cpu_s
        try:
            run = run_to_end(command, output=path, on_one_core=False)
        finally:
            report = json.loads(path.read_text() or '{"tables": []}')
            verdicts = Counter(table["verdict"] for table in report["tables"])
            say(f"verify: {dict(verdicts)}")
        if verdicts != {"equal": self._count}:
            reason = f"verify found {dict(verdicts)}"
            raise RunFailed(reason)
        found = {
            "tables_per_s": round(self._count / run.wall_s, 1),
            "wall_s": round(run.wall_s, 2),
            "cpu_s": round(run.cpu_s, 2),
            "source_cpu_s": round(usage_of(source).cpu_s - before, 2),
            "peak_mb": round(run.peak_mb),
        }
        say(f"verify {self._count} tables: {found}")
        return found

    def _job_file(self, job: MirrorJob) -> Path:
        path = self._folder / "job.toml"
        shutil.copy(job.mirror.parent / "config", path)
        path.chmod(0o600)
        return path

    def _write(self, stack: Stack, ended: threading.Event) -> None:
        """Change rows until the end."""
        source = stack.source
        connection = pymysql.connect(
            host=source.host, port=source.port, user=source.user, password=source.password,
            database=DATABASE, autocommit=True,
        )  # fmt: skip
        dice = random.Random(5)
        began, count = time.monotonic(), 0
        with connection, connection.cursor() as cursor:
            while not ended.is_set():
                changed = dice.randrange(self._load.tables) * self._count // self._load.tables
                name, key = _name(changed), dice.randrange(ROWS) + 1
                cursor.execute(f"UPDATE {name} SET price = RAND()*1000 WHERE id = {key}")
                count += 1
                ended.wait(max(0.0, began + count / self._load.changes_per_s - time.monotonic()))
        say(f"verify: {count / (time.monotonic() - began):.0f} changes a second")


def fill_small_tables(stack: Stack, count: int) -> None:
    """Make the account of connectors, and tables, without a record in the log."""
    say(f"{count} tables of {ROWS} rows")
    with session(stack.source) as connection:
        connection.execute(
            "SET sql_log_bin = 0",
            *ACCOUNT,
            f"CREATE DATABASE {DATABASE}",
            f"USE {DATABASE}",
            "CREATE TABLE mysql.numbers (n INT PRIMARY KEY)",
            f"INSERT INTO mysql.numbers VALUES {', '.join(f'({n})' for n in range(ROWS))}",
        )
        for number in range(count):
            connection.execute(
                f"CREATE TABLE {_name(number)} ({_COLUMNS}) DEFAULT CHARSET utf8mb4",
                f"INSERT INTO {_name(number)} ({_NAMES}) SELECT {_VALUES} FROM mysql.numbers",
            )


def _name(number: int) -> str:
    return f"t{number:05d}"

"""`python -m tests.integration.stream.folder_deaths`: kills and losses of power, without a broker.

A client changes two tables. The connector writes the changes into a log in a folder, and a job
mirrors them into another folder. Both are killed at random moments, by themselves or together; or
the power fails: both are killed, and their files lose what was not synced (`power_loss`). Every few
faults the client pauses, and the mirror must have the rows that a SELECT shows. In the end,
`verify --topics` must find each change once. With `--delete`, the job deletes records all the while
that the tables have, and `verify --topics` proves the others. Needs `cc`.

The job is the real one without Spark, whose start takes longer than most of these pauses.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from local_stack import Endpoint, MysqlServer, connect
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.record_retention import RecordRetention
from stream_jobs.source.client import KafkaClient
from tests import forked_command
from tests.integration.folder_broker import FolderEndpoint
from tests.integration.harness import ConnectorProcess, write_config
from tests.integration.mirror.conftest import follow_topics, make_settings, run_in_process
from tests.integration.stream.power_loss import PowerLoss, preload

_DATABASE: Final = "shop"
_TABLES: Final = ("orders", "items")
_PREFIX: Final = "folder"
_PAUSE_SECONDS: Final = (0.0, 0.7)
_IDLE_SECONDS: Final = 8.0
_LOOK_SECONDS: Final = 0.005
# Of the losses of power that wait until the log has something to lose.
_AIMED: Final = 0.7
_EQUAL_SECONDS: Final = 120.0
_VERIFY_SECONDS: Final = 1800.0
_FAULTS_OF_A_ROUND: Final = 20
_KEYS: Final = 500
# Records are deleted some seconds after their commit.
_DELETE_AFTER_HOURS: Final = 5 / 3600
_TURN_SECONDS: Final = 1.0
# Rows of transactions.
_SIZES: Final = (*[1] * 20, *[2] * 20, *[30] * 10, 700)
# This takes the place of an older version. So does `_last_checkpoint`, but it must not name a
# checkpoint that was lost, and readers do without it.
_REPLACED: Final = ("newest.json",)


class Client(threading.Thread):
    """Changes rows, several in a transaction; it can pause."""

    def __init__(self, source: Endpoint, seed: int) -> None:
        """Change the tables of `source`."""
        super().__init__(daemon=True)
        self._source = source
        self._dice = random.Random(seed)
        self.turn = threading.Lock()  # held during a transaction
        self._stopped = threading.Event()
        self.transactions = 0

    def run(self) -> None:
        """Commit a transaction all the time."""
        with connect(self._source, _DATABASE) as connection, connection.cursor() as cursor:
            while not self._stopped.wait(0.004):
                with self.turn:
                    cursor.execute("BEGIN")
                    # A large one is written to the log in several steps.
                    for _ in range(self._dice.choice(_SIZES)):
                        cursor.execute(self._statement())
                    cursor.execute("COMMIT" if self._dice.random() < 0.95 else "ROLLBACK")
                    self.transactions += 1

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        self.join()

    def _statement(self) -> str:
        dice = self._dice
        table, key = dice.choice(_TABLES), dice.randrange(_KEYS)
        if dice.random() < 0.2:
            return f"DELETE FROM {table} WHERE id = {key}"
        text = "x" * dice.choice([3, 40, 900])
        return f"REPLACE INTO {table} VALUES ({key}, {dice.getrandbits(30)}, '{text}')"


def _mirror(bootstrap: str, folder: Path, delete_after_hours: float) -> None:
    """Be the job, until it is killed."""
    settings = make_settings(
        bootstrap,
        _PREFIX,
        folder,
        kafka={"delete_after_hours": delete_after_hours},
        mirror={"index_folder": str(folder / "indexes")},
    )
    client = KafkaClient(settings.kafka.facts())
    applier = batch_applier(settings, client, run_in_process, lambda: 2)
    retention = RecordRetention(settings, client, applier.sync)
    turned_at = 0.0

    def delete() -> None:
        nonlocal turned_at
        if time.monotonic() - turned_at >= _TURN_SECONDS:
            turned_at = time.monotonic()
            problem = retention.turn(applier.applied())
            if problem is not None:
                print(problem.text, flush=True)

    follow_topics(settings, applier, threading.Event(), delete)


class Pipeline:
    """The connector and the job, which are started again whenever they have ended."""

    def __init__(self, folder: Path, source: Endpoint, delete_after_hours: float) -> None:
        """Start both; the job deletes records that are so old, 0: none."""
        self._delete_after_hours = delete_after_hours
        self.folder = folder / "pipeline"
        self.folder.mkdir()
        self._source = source
        self.log_folder = self.folder / "log"
        log = FolderEndpoint(self.log_folder)
        self._bootstrap = log.bootstrap
        self.config = write_config(
            folder,
            source,
            log,
            _PREFIX,
            _DATABASE,
            source__start="snapshot",
        )
        self._log = folder / "job.log"
        self.connector = ConnectorProcess(self.config).start()
        self._job = self._started()
        self.ended_by_themselves: list[str] = []

    def _started(self) -> subprocess.Popen[bytes]:
        given = json.dumps([self._bootstrap, str(self.folder), self._delete_after_hours])
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", __spec__.name, "--job", given]
            return subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def log_bytes(self) -> int:
        """The size of the log."""
        return sum(path.stat().st_size for path in self.log_folder.glob("*.log"))

    def kill(self, *names: str) -> None:
        """End processes as the kernel would: all, before one of them can do anything more."""
        processes = {"connector": self.connector.process, "job": self._job}
        for name in names:
            process = processes[name]
            assert process is not None
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, 9)
        for name in names:
            process = processes[name]
            assert process is not None
            process.wait()

    def start(self) -> None:
        """Start what does not run."""
        connector = self.connector.process
        if connector is None or connector.poll() is not None:
            self.connector.start()
        if self._job.poll() is not None:
            self._job = self._started()

    def watch(self) -> None:
        """Start again what has ended by itself, which is counted."""
        connector = self.connector.process
        if connector is not None and connector.poll() is not None:
            self.ended_by_themselves.append(f"connector: {self.connector.output()[-600:]}")
        if self._job.poll() is not None:
            self.ended_by_themselves.append(f"job: {self._log.read_text()[-600:]}")
        self.start()

    def await_equal(self) -> list[str]:
        """Wait until the mirror has the rows of the source; return what differs after minutes."""
        with connect(self._source, _DATABASE) as connection, connection.cursor() as cursor:
            wanted = {}
            for table in _TABLES:
                cursor.execute(f"SELECT * FROM {table} ORDER BY id")
                wanted[table] = list(cursor.fetchall())
        ends_at = time.monotonic() + _EQUAL_SECONDS
        while True:
            self.watch()
            wrong = [name for name, rows in wanted.items() if self._rows(name) != rows]
            if not wrong:
                return []
            if time.monotonic() > ends_at:
                return [f"{name} has other rows" for name in wrong]
            time.sleep(0.3)

    def _rows(self, table: str) -> list[tuple[Any, ...]] | None:
        path = self.folder / "mirror" / _DATABASE / table
        if not DeltaTable.is_deltatable(str(path)):
            return None
        query = QueryBuilder().register("t", DeltaTable(path))
        found = pa.table(query.execute("SELECT id, n, text FROM t")).to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def verified(self) -> list[str]:
        """Compare the topics with the log of the source; return what differs."""
        done = forked_command.run("verify", str(self.config), "--topics", seconds=_VERIFY_SECONDS)
        print(done.stdout)
        return [] if done.returncode == 0 else [done.stdout + done.stderr]


def _await_moment(pipeline: Pipeline, dice: random.Random) -> None:
    """Wait until the connector writes, or has not for some seconds, and some moments more."""
    before, ends_at = pipeline.log_bytes, time.monotonic() + _IDLE_SECONDS
    while pipeline.log_bytes == before and time.monotonic() < ends_at:
        time.sleep(_LOOK_SECONDS)
    time.sleep(dice.uniform(*_PAUSE_SECONDS))


def _await_unsynced(pipeline: Pipeline, loss: PowerLoss) -> None:
    """Wait until the log has something to lose, at most a second."""
    ends_at = time.monotonic() + 1.0
    while not loss.unsynced_bytes(pipeline.log_folder) and time.monotonic() < ends_at:
        time.sleep(_LOOK_SECONDS / 5)


def _strike(
    pipeline: Pipeline, loss: PowerLoss, dice: random.Random, losses: int, kills: int
) -> str:
    """Do one of so many faults that are left; return which."""
    if dice.randrange(losses + kills) < losses:
        if dice.random() < _AIMED:
            _await_unsynced(pipeline, loss)
        pipeline.kill("connector", "job")
        loss.strike(pipeline.folder, _REPLACED)
        pipeline.start()
        return "power"
    names = dice.choice([("connector",), ("connector",), ("job",), ("connector", "job")])
    pipeline.kill(*names)
    pipeline.start()
    return f"kill of {' and '.join(names)}"


def run(directory: Path, kills: int, losses: int, seed: int, *, delete: bool) -> list[str]:
    """Return what was wrong, and print what was done."""
    delete_after_hours = _DELETE_AFTER_HOURS if delete else 0
    dice = random.Random(seed)
    struck: Counter[str] = Counter()
    with MysqlServer(directory / "source") as server:
        source = server.endpoint
        with connect(source) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {_DATABASE}")
            for table in _TABLES:
                columns = "id INT PRIMARY KEY, n BIGINT, text VARCHAR(1000)"
                cursor.execute(f"CREATE TABLE {_DATABASE}.{table} ({columns})")
                cursor.execute(f"INSERT INTO {_DATABASE}.{table} VALUES (-1, 0, '')")
        # Not for the server itself.
        environment = preload(directory)
        os.environ |= environment
        loss = PowerLoss(environment, dice)
        pipeline, client = Pipeline(directory, source, delete_after_hours), Client(source, seed)
        client.start()
        try:
            wrong: list[str] = []
            while struck.total() < kills + losses and not wrong:
                for _ in range(_FAULTS_OF_A_ROUND):
                    _await_moment(pipeline, dice)
                    pipeline.watch()
                    lost = struck["power"]
                    left = losses - lost, kills - (struck.total() - lost)
                    if sum(left) == 0:
                        break
                    struck[_strike(pipeline, loss, dice, *left)] += 1
                with client.turn:
                    wrong = pipeline.await_equal()
                print(f"{dict(struck)}: {'; '.join(wrong) or 'equal'}", flush=True)
            client.stop()
            wrong = wrong or pipeline.await_equal() or pipeline.verified()
        finally:
            pipeline.kill("connector", "job")
            client.stop()
    print(f"{client.transactions:,} transactions; {loss.file_bytes:,} bytes of {loss.files} files")
    print(f"were not synced, and {loss.names} names were lost")
    return [*wrong, *pipeline.ended_by_themselves]


def main() -> int:
    """Run, and return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--losses", type=int, default=100, help="of power")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("--delete", action="store_true", help="records that the tables have")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job is not None:
        bootstrap, folder, hours = json.loads(arguments.job)
        _mirror(bootstrap, Path(folder), hours)
    with contextlib.ExitStack() as stack:
        name = arguments.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="folder-"))
        wrong = run(
            Path(name),
            arguments.kills,
            arguments.losses,
            arguments.seed,
            delete=arguments.delete,
        )
    print("\n".join(wrong) or "each change came once, and the mirror has the rows of the source")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.integration.mirror.shared_deaths`: pipelines of two servers with one mirror.

Both servers have tables with the same names, which are shards of the same tables: one for each mode
of the mirror. Writers change rows. The jobs are killed in turn, each while it commits, a release
reaches one server after the other, with a column, a wider type and a dropped column, and tables of
one server are emptied. One job stands still between its tasks and its commit while another process
of its pipeline takes over: it must commit nothing. In the end, `verify` compares each pipeline.

With `--iceberg`, both jobs publish all tables, too, which readers open all the while.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_stack import KafkaBroker, MysqlServer, connect
from stream_jobs.delta.log import Log
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.publication_thread import publishing
from stream_jobs.settings import load_settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.quarantine_files import QuarantineFiles
from tests.chaos.mirror import job as processes
from tests.integration.harness import toml_value, wait_until, write_config
from tests.integration.mirror.conftest import follow_topics, run_in_process
from tests.integration.mirror.shared_iceberg import Looker, differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from local_stack import Endpoint
    from stream_jobs.apply.task_messages import PartResult, Task

_PREFIXES: Final = ("eu", "us")
# By the names of tables, how they are mirrored.
MODES: Final = {
    "t0": "current",
    "t1": "history",
    "t2": "soft_delete",
    "t3": "journal",
    "t4": "rows",
}
_RELEASE: Final = (
    "ALTER TABLE {table} ADD COLUMN stock INT NOT NULL DEFAULT 5",
    "ALTER TABLE {table} MODIFY COLUMN n BIGINT",
    "ALTER TABLE {table} DROP COLUMN gone",
)
_KEYS: Final = 300
_FIRST_KEYS: Final = range(0, _KEYS, 2)
_SPAN: Final = 10
_MEMORY: Final = "256M"
_VERIFY_SECONDS: Final = 600.0
_TAKEOVER_SECONDS: Final = 120.0
_PUBLISH_SECONDS: Final = 0.3


def _created(table: str) -> str:
    key = "" if MODES[table] == "rows" else " PRIMARY KEY"
    return f"CREATE TABLE shop.{table} (id INT{key}, n INT, gone INT DEFAULT 3, note VARCHAR(40))"


class Writer(threading.Thread):
    """Changes the tables of a server until it is stopped."""

    def __init__(self, source: Endpoint, pause_seconds: float, seed: int) -> None:
        """Pause so long between two statements."""
        super().__init__(daemon=True)
        self._source = source
        self._pause_seconds = pause_seconds
        self._dice = random.Random(seed)
        self._stopped = threading.Event()
        self._turn = threading.Lock()
        self.changes = 0

    def run(self) -> None:
        """Write."""
        with connect(self._source) as connection, connection.cursor() as cursor:
            while not self._stopped.wait(self._pause_seconds):
                with self._turn:
                    self.changes += cursor.execute(self._statement())

    def _statement(self) -> str:
        dice = self._dice
        table, key = f"shop.{dice.choice(list(MODES))}", dice.randrange(_KEYS)
        span, chance = f"id BETWEEN {key} AND {key + _SPAN}", dice.random()
        number = dice.getrandbits(30)
        if chance < 0.25:
            return f"DELETE FROM {table} WHERE {span}"
        if chance < 0.6:
            return f"UPDATE {table} SET n = {number} WHERE {span}"
        rows = ", ".join(f"({each}, {number}, 'n{number}')" for each in range(key, key + _SPAN))
        return f"REPLACE INTO {table} (id, n, note) VALUES {rows}"

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Let it wait."""
        with self._turn:
            yield

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        self.join()


class Pipeline:
    """A server, its connector, and a job that shares the mirror."""

    def __init__(
        self, folder: Path, prefix: str, source: Endpoint, broker: Endpoint, formats: list[str]
    ) -> None:
        """Create the tables, and start both."""
        self.prefix = prefix
        self._formats = formats
        self.source = source
        self._folder = folder
        values = ", ".join(f"({key}, {key}, 'old')" for key in _FIRST_KEYS)
        self.execute("CREATE DATABASE shop")
        for table in MODES:
            self.execute(_created(table), f"INSERT INTO shop.{table} (id, n, note) VALUES {values}")
        self._config = write_config(
            folder,
            source,
            broker,
            prefix,
            "shop",
            source__start="snapshot",
            delivery__commit_interval_ms=100,
        )
        self.job_config = folder / f"{prefix}_job.toml"
        self.job_config.write_text(self._job_keys(broker))
        python = Path(sys.executable)
        self.connector = processes.connector(python, self._config, folder / f"{prefix}.log")
        self.job = self.another_job()
        self.connector.start()
        self.job.start()

    def another_job(self, *options: str) -> processes.Supervised:
        """Return a process of the job."""
        log = self._folder / f"{self.prefix}_job{len(options) or ''}.log"
        return processes.module(__spec__.name, ["--job", str(self.job_config), *options], log)

    def _job_keys(self, broker: Endpoint) -> str:
        shard = {"column": "region", "value": self.prefix}
        tables = "".join(
            f'[[tables]]\nmatch = ["shop.{table}"]\nname = "lake.{{table}}"\nmode = "{mode}"\n'
            f"shard = {toml_value(shard)}\n"
            for table, mode in MODES.items()
        )
        return f"""
name = "{self.prefix}"
[kafka]
bootstrap_servers = ["{broker.bootstrap}"]
topic_prefix = "{self.prefix}"
[mirror]
shared = true
path = {toml_value(str(self._folder / "mirror"))}
index_folder = {toml_value(str(self._folder / "indexes"))}
formats = {toml_value(self._formats)}
[iceberg]
every_seconds = {_PUBLISH_SECONDS}
{tables}"""

    def execute(self, *statements: str) -> None:
        """Execute statements on the server."""
        with connect(self.source) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def release(self) -> None:
        """Give all tables other columns, one after the other."""
        for table in MODES:
            self.execute(*(each.format(table=f"shop.{table}") for each in _RELEASE))
            self.execute(f"UPDATE shop.{table} SET n = n + 3000000000 LIMIT 3")

    @property
    def set_aside(self) -> list[str]:
        """The tables that the job cannot go on with, and why."""
        records = QuarantineFiles(*folder_of(load_settings(self.job_config))).records()
        return [f"{own.table}: [{own.code}] {own.reason}" for own in records.values()]

    def report(self) -> tuple[int, dict[str, Any]]:
        """Return the exit code of `verify`, and its report."""
        command = [sys.executable, "-m", "connector", "verify", str(self._config), "--json"]
        command += ["--mirror", str(self.job_config), "--patience", "60"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_VERIFY_SECONDS
        )
        report = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
        return done.returncode, report

    def wrong(self) -> list[str]:
        """Return what is not as it must be."""
        aside = self.set_aside
        code, report = self.report()
        verdicts = {each["table"]: each["verdict"] for each in report.get("tables", ())}
        wanted = {f"shop.{table}": "equal" for table in MODES}
        # The shards of the other pipeline.
        wanted |= {f"lake.{table}": "not compared" for table in MODES}
        if code or verdicts != wanted:
            aside.append(f"{self.prefix}: verify ended with {code}: {json.dumps(report, indent=1)}")
        return aside

    def end(self) -> None:
        """Kill both."""
        self.job.kill()
        self.connector.kill()


def _versions(folder: Path) -> dict[str, int | None]:
    storage = LocalStorage(str(folder / "mirror"))
    return {table: Log(storage, f"lake/{table}").list().newest_version for table in MODES}


def _copied(folder: Path, table: str) -> bool:
    """Return whether a table has the first rows of all shards."""
    delta = DeltaTable.open(LocalStorage(str(folder / "mirror")), f"lake/{table}")
    return delta is not None and delta.snapshot.live_rows == len(_PREFIXES) * len(_FIRST_KEYS)


def take_over(folder: Path, pipeline: Pipeline, writer: Writer) -> list[str]:
    """Let a job stand still before its commit while another one takes over; return what is wrong.

    The tables have the changes before the old process goes on.
    """
    pipeline.job.kill()
    mark = folder / "stopped"
    late = pipeline.another_job("--stop", str(mark))
    late.start()
    try:
        wait_until(
            mark.exists, lambda: f"no task has ended: {late.last_words()}", _TAKEOVER_SECONDS
        )
        pipeline.job.start()
        with writer.pause():
            # It has everything, and so what the other one was about to commit.
            wrong = pipeline.wrong()
            _await_idle(folder)
            before = _versions(folder)
            late.send(signal.SIGCONT)
            ended = _ended(mark)
            wait_until(ended.exists, lambda: f"it waits: {late.last_words()}", _TAKEOVER_SECONDS)
            after = _versions(folder)
        # At its next batch, it ends.
        wait_until(
            lambda: "M603" in late.last_words(),
            lambda: f"the late process goes on: {late.last_words()}",
            _TAKEOVER_SECONDS,
        )
    finally:
        late.kill()
    if before != after:
        wrong.append(f"the late process has committed: {before}, {after}")
    return wrong


def _ended(mark: Path) -> Path:
    """Return the file that says that the batch in which a process stood still is over."""
    return mark.with_suffix(".ended")


def _await_idle(folder: Path) -> None:
    """Wait until nobody commits any more."""
    known, since = _versions(folder), time.monotonic()
    while time.monotonic() - since < 3:
        time.sleep(0.2)
        if (now := _versions(folder)) != known:
            known, since = now, time.monotonic()


def run(directory: Path, options: argparse.Namespace) -> list[str]:
    """Return what was wrong, and print what was done."""
    settings = {"innodb_buffer_pool_size": _MEMORY}
    dice = random.Random(options.seed)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(KafkaBroker(directory / "kafka", memory=("-Xmx512M",)))
        servers = [
            stack.enter_context(MysqlServer(directory / f"mysql_{prefix}", settings=settings))
            for prefix in _PREFIXES
        ]
        pipelines = []
        formats = ["delta", "iceberg"] if options.iceberg else ["delta"]
        for prefix, server in zip(_PREFIXES, servers, strict=True):
            own = Pipeline(directory, prefix, server.endpoint, broker.endpoint, formats)
            stack.callback(own.end)
            pipelines.append(own)
        writers = [
            Writer(own.source, options.pause_seconds, options.seed + number)
            for number, own in enumerate(pipelines)
        ]
        # A table without a key has no row to change before it was copied.
        wait_until(
            lambda: all(_copied(directory, table) for table in MODES),
            lambda: "the tables are not there",
            _VERIFY_SECONDS,
        )
        looker = Looker(directory / "mirror", MODES)
        for thread in (*writers, looker):
            thread.start()
        eu, us = pipelines

        def strike() -> None:
            for _ in range(options.kills):
                time.sleep(dice.uniform(0.2, 2))
                victim = dice.choice(pipelines).job
                victim.kill()
                victim.start()

        strike()
        eu.release()
        strike()
        us.execute("TRUNCATE TABLE shop.t0", "TRUNCATE TABLE shop.t1", "TRUNCATE TABLE shop.t4")
        strike()
        us.release()
        strike()
        for writer in writers[1:]:
            writer.stop()
        wrong = take_over(directory, eu, writers[0])
        writers[0].stop()
        for own in pipelines:
            wrong += own.wrong()
        wrong += looker.stop()
        if options.iceberg:
            wrong += differences(directory / "mirror", MODES, _PREFIXES)
            print(f"tables opened as Iceberg: {looker.looks}")
        changes = [writer.changes for writer in writers]
        print(f"{changes} changes, {4 * options.kills} kills, versions: {_versions(directory)}")
    return wrong


def _apply(config: Path, mark: Path | None) -> None:
    """Be the job, until it is killed; stand still after the first tasks if there is a `mark`."""
    settings = load_settings(config)
    client = KafkaClient(settings.kafka.facts())

    def run_tasks(tasks: Sequence[Task]) -> list[PartResult]:
        results = run_in_process(tasks)
        if mark is not None and not mark.exists() and any(result.files for result in results):
            mark.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return results

    def note() -> None:
        if mark is not None and mark.exists():
            _ended(mark).touch()

    applier = batch_applier(settings, client, run_tasks, lambda: 2)
    try:
        with contextlib.ExitStack() as stack:
            if applier.iceberg is not None:
                every, tell = settings.iceberg.every_seconds, traceback.print_exception
                stack.enter_context(publishing(applier.iceberg, every, lambda: None, tell))
            follow_topics(settings, applier, threading.Event(), note)
    except MirrorError as error:
        print(error, file=sys.stderr, flush=True)
        raise


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="in each of four phases")
    parser.add_argument("--pause-seconds", type=float, default=0.02, help="between statements")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--iceberg", action="store_true", help="in both formats")
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> int:
    """Run, and return 1 if anything was wrong."""
    options = options_of()
    if options.job is not None:
        _apply(options.job, options.stop)
    with contextlib.ExitStack() as stack:
        name = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="shared-"))
        wrong = run(Path(name), options)
    print("\n".join(wrong) or "each shard has the rows of its source")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

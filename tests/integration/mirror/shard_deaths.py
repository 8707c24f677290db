"""`python -m tests.integration.mirror.shard_deaths`: kills, and shards in one mirror.

Many databases of a server have the same tables, and the mirror has one table for those of one name.
A writer changes rows and moves tenants between databases, and releases roll over the databases one
by one, with ALTERs that add, widen, rename and drop columns. Job, connector, source and broker are
killed in turn. After every few kills all clients pause: the mirror must have the rows that a SELECT
from all databases shows, and `verify` must find no difference. Then the load goes on for a while
without kills, and the time from a change until it can be read is measured.

With `--load`, the job reads the first rows from the source, while everything but ALTERs goes on.
The job is the real one without Spark, unless `--spark` is given.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from deltalake.exceptions import TableNotFoundError

from benchmarks.mirror_commits import committed_rows, versions
from connector.lake.demo.stack import read_mirror
from local_stack import KafkaBroker, MysqlServer
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.load.range_task import load_range
from stream_jobs.run.assembly import batch_applier, table_loader
from stream_jobs.settings import load_settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.quarantine_files import QuarantineFiles
from tests.chaos.mirror import job as processes
from tests.integration.harness import toml_value, write_config
from tests.integration.mirror.conftest import follow_topics, run_in_process
from tests.integration.mirror.shard_load import Fleet, Releases, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from local_stack import Endpoint
    from stream_jobs.load.range_task import RangeJob, RangeResult

_PREFIX: Final = "shards"
_MIRROR: Final = "shop"
_PATTERN: Final = r"shop_(?P<shard>\d+)\..+"
_KILLED: Final = ("job", "connector", "job", "source", "connector", "job", "broker")
_KILLS_OF_A_ROUND: Final = 10
_LOOK_SECONDS: Final = 0.5
# Before the time is measured: a JVM that was just started compiles what it runs.
_SETTLE_SECONDS: Final = 30.0
_VERIFY_SECONDS: Final = 1200.0
_MICROSECONDS: Final = 1e6
# Of the source and of the broker, each.
_MEMORY: Final = "512M"


class Pipeline:
    """A connector and a job."""

    def __init__(
        self, folder: Path, source: Endpoint, broker: Endpoint, options: argparse.Namespace
    ) -> None:
        """Start both."""
        self._folder = folder
        self._config = write_config(
            folder,
            source,
            broker,
            _PREFIX,
            "shop_*",
            source__start="snapshot",
            snapshot__to="mirror" if options.load else "topics",
            delivery__commit_interval_ms=100,
            kafka__partitions=options.partitions,
        )
        self._job_config = folder / "job.toml"
        url = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
        load = f'[first_load]\nurl = "{url}"\n' if options.load else ""
        self._job_config.touch(mode=0o600)
        self._job_config.write_text(self._job_keys(broker) + load)
        python = Path(sys.executable)
        self.connector = processes.connector(python, self._config, folder / "connector.log")
        log = folder / "job.log"
        if options.spark:
            self.job = processes.job(python, self._job_config, log, None)
        else:
            arguments = ["--job", str(self._job_config)]
            self.job = processes.module(__spec__.name, arguments, log)
        self.connector.start()
        self.job.start()

    def _job_keys(self, broker: Endpoint) -> str:
        shard = {"column": "shard", "pattern": _PATTERN}
        return f"""
name = "job"
log = {{format = "json"}}
[kafka]
bootstrap_servers = ["{broker.bootstrap}"]
topic_prefix = "{_PREFIX}"
[mirror]
path = {toml_value(str(self._folder / "mirror"))}
checkpoint = {toml_value(str(self._folder / "checkpoint"))}
index_folder = {toml_value(str(self._folder / "indexes"))}
[spark.settings]
"spark.master" = "local[2]"
"spark.driver.host" = "127.0.0.1"
[[tables]]
match = ["shop_*.*"]
name = "{_MIRROR}.{{table}}"
shard = {toml_value(shard)}
"""

    @property
    def storage(self) -> LocalStorage:
        """The folder of the tables."""
        return LocalStorage(str(self._folder / "mirror" / _MIRROR))

    def watch(self) -> None:
        """Start again what has ended by itself, because a server was away."""
        self.connector.watch()
        self.job.watch()

    @property
    def set_aside(self) -> list[str]:
        """The tables that the job cannot go on with, and why."""
        root = str(self._folder / "mirror")
        records = QuarantineFiles(LocalStorage(root), root).records()
        return [f"{own.table}: [{own.code}] {own.reason}" for own in records.values()]

    def difference(self, fleet: Fleet, table: str) -> str:
        """Return how a table differs from those of the shards; empty if it does not."""
        try:
            mirrored = read_mirror(Path(self.storage.root) / table)
        except TableNotFoundError:
            return f"{table} does not exist"
        found: dict[str, dict[Any, dict[str, Any]]] = {}
        for row in mirrored.to_pylist():
            own = found.setdefault(row.pop("shard"), {})
            if row["id"] in own:
                return f"{table}: two rows with the key {row['id']}"
            own[row["id"]] = row
        for shard, wanted in fleet.rows_of(table).items():
            own = found.pop(shard, {})
            if len(wanted) != len(own):
                return f"{table}, shard {shard}: {len(own)} rows instead of {len(wanted)}"
            for row in wanted:
                # A column of other shards alone is NULL.
                every = {name: None for name in own.get(row["id"], {}) if name[:5] != "_cdc_"}
                mine = {name: own.get(row["id"], {}).get(name) for name in every | row}
                if mine != every | row:
                    return f"{table}, shard {shard}: {mine} instead of {row}"
        return f"{table}: rows of the shards {found.keys()}" if found else ""

    def await_equal(self, fleet: Fleet, seconds: float) -> list[str]:
        """Wait until the mirror has the rows of all shards; return what differs after `seconds`."""
        ends_at, left, wrong = time.monotonic() + seconds, list(fleet.tables), list[str]()
        while left:
            self.watch()
            wrong = self.set_aside
            while left and not wrong:
                told = self.difference(fleet, left[0])
                if told:
                    wrong = [told]
                else:
                    left.pop(0)
            if left and time.monotonic() > ends_at:
                return wrong
            time.sleep(_LOOK_SECONDS if left else 0)
        return self.set_aside

    def verified(self) -> str:
        """Return what `verify` says if it finds a difference."""
        command = [sys.executable, "-m", "connector", "verify", str(self._config)]
        command += ["--mirror", str(self._job_config)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_VERIFY_SECONDS
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def end(self) -> None:
        """Kill both."""
        self.job.kill()
        self.connector.kill()


class Campaign:
    """The pipeline, its servers and the clients of the source."""

    def __init__(
        self,
        pipeline: Pipeline,
        servers: tuple[MysqlServer, KafkaBroker],
        clients: tuple[Writer, Releases],
        options: argparse.Namespace,
    ) -> None:
        """Strike as `options` say."""
        self._pipeline = pipeline
        self._source, self._broker = servers
        self._writer, self._releases = clients
        self._options = options
        self._dice = random.Random(options.seed)
        self._victims = itertools.cycle(_KILLED)
        self.struck: Counter[str] = Counter()

    @contextlib.contextmanager
    def _pause(self) -> Iterator[None]:
        """Let all clients wait."""
        with self._writer.turn, self._releases.turn:
            yield

    def strike(self, kills: int) -> None:
        """Kill something so many times, at any moment."""
        for _ in range(kills):
            time.sleep(self._dice.uniform(0, self._options.pause_seconds))
            self._pipeline.watch()
            victim = next(self._victims)
            self.struck[victim] += 1
            if victim in ("job", "connector"):
                process = self._pipeline.job if victim == "job" else self._pipeline.connector
                process.kill()
                process.start()
            else:
                server = self._source if victim == "source" else self._broker
                server.kill()
                server.start()

    def compare(self, *, verify: bool = True) -> list[str]:
        """Wait until the mirror is equal; return what was wrong."""
        with self._pause():
            began = time.monotonic()
            wrong = self._pipeline.await_equal(self._writer.fleet, self._options.equal_seconds)
            seconds = time.monotonic() - began
            told = self._pipeline.verified() if verify and not wrong else ""
            verified = f", verified in {time.monotonic() - began - seconds:.0f} s" * verify
        done = f"{self._writer.changes:,} changes, {self._writer.moves} moves"
        rolled = f"{self._releases.shards_passed:.1f} shards released"
        print(f"{self.struck.total()} kills, {done}, {rolled}: ", end="")
        print(wrong or told or f"equal after {seconds:.0f} s{verified}", flush=True)
        return wrong or ([told] if told else [])

    def measure(self) -> list[str]:
        """Go on without kills, and print the time until changes can be read."""
        storage = self._pipeline.storage
        time.sleep(_SETTLE_SECONDS)
        known, changes = versions(storage), self._writer.changes
        shards, began = self._releases.shards_passed, time.time()
        time.sleep(self._options.quiet_seconds)
        seconds = time.time() - began
        rate = (self._writer.changes - changes) / seconds
        shards = self._releases.shards_passed - shards
        wrong = self.compare(verify=False)
        delays, commits = _delays(storage, known, began)
        if len(delays):
            p50, p95, worst = np.percentile(delays, [50, 95, 100])
            print(
                f"  {seconds:.0f} s without kills: {rate:,.0f} changes/s, {shards:.1f} shards "
                f"released, {commits / seconds:.0f} commits/s; {len(delays):,} rows readable after "
                f"p50 {p50:.2f} s, p95 {p95:.2f} s, at most {worst:.2f} s",
                flush=True,
            )
        return wrong


def _delays(storage: LocalStorage, known: dict[str, int], since: float) -> tuple[Any, int]:
    """Return how long each row that was changed after `since` waited, and how many commits."""
    found, commits = [np.empty(0)], 0
    for table, version in known.items():
        seen = np.empty(0, np.int64)
        for rows in committed_rows(storage, table, "at", version):
            # Compaction and copies write rows again.
            own = rows.values[(rows.values >= since * _MICROSECONDS) & ~np.isin(rows.values, seen)]
            seen = np.union1d(seen, own)
            commits += bool(len(own))
            found.append(rows.seen_at - own / _MICROSECONDS)
    return np.concatenate(found), commits


def run(directory: Path, options: argparse.Namespace) -> list[str]:
    """Return what was wrong, and print what was done."""
    settings = {"innodb_buffer_pool_size": _MEMORY}
    server = MysqlServer(directory / "mysql", settings=settings)
    with server, KafkaBroker(directory / "kafka", memory=(f"-Xmx{_MEMORY}",)) as broker:
        fleet = Fleet(server.endpoint, options.shards, options.tables, options.rows)
        began = time.monotonic()
        fleet.create()
        print(f"{options.shards * options.tables} tables in {time.monotonic() - began:.0f} s")
        writer = Writer(fleet, options.changes, options.seed)
        releases = Releases(fleet, options.roll_seconds)
        pipeline = Pipeline(directory, server.endpoint, broker.endpoint, options)
        campaign = Campaign(pipeline, (server, broker), (writer, releases), options)
        try:
            if options.load:
                writer.start()
                campaign.strike(min(options.kills, _KILLS_OF_A_ROUND))
            wrong = campaign.compare()
            if not options.load:
                writer.start()
            releases.start()
            while not wrong:
                wrong = campaign.measure()
                left = options.kills - campaign.struck.total()
                if wrong or not left:
                    break
                campaign.strike(min(left, _KILLS_OF_A_ROUND))
                wrong = campaign.compare()
            writer.stop()
            releases.stop()
        finally:
            pipeline.end()
    print(f"kills: {dict(campaign.struck)}; {releases.alters} ALTERs")
    for process in (pipeline.job, pipeline.connector):
        print(f"{process.name}: {process.starts} starts; ended by itself: {dict(process.ends)}")
    return wrong


def _apply(config: Path) -> None:
    """Be the job, until it is killed."""
    settings = load_settings(config)
    client = KafkaClient(settings.kafka.facts())
    applier = batch_applier(settings, client, run_in_process, lambda: 2)
    turn = threading.Lock()

    def load(job: RangeJob) -> RangeResult:
        # A worker has one thread.
        with turn:
            return load_range(job)

    def catch_up() -> None:
        if applier.loading:
            applier.catch_up()

    loader = table_loader(settings, applier, load, lambda *_, **__: None)
    with loader or contextlib.nullcontext():
        follow_topics(settings, applier, threading.Event(), catch_up)


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200, help="keys of a table")
    parser.add_argument("--partitions", type=int, default=3, help="of a topic")
    parser.add_argument("--changes", type=int, default=2_000, help="of rows, in a second")
    parser.add_argument("--roll-seconds", type=float, default=600.0, help="of a release")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--pause-seconds", type=float, default=6.0, help="between kills, at most")
    parser.add_argument("--quiet-seconds", type=float, default=30.0, help="without kills")
    parser.add_argument("--equal-seconds", type=float, default=300.0, help="the mirror may lag")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", action="store_true", help="the first rows from the source")
    parser.add_argument("--spark", action="store_true", help="with the whole job")
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> int:
    """Run, and return 1 if anything was wrong."""
    options = options_of()
    if options.job is not None:
        _apply(options.job)
    with contextlib.ExitStack() as stack:
        name = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="shards-"))
        wrong = run(Path(name), options)
    print("\n".join(wrong) or "the mirror has the rows of all shards")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

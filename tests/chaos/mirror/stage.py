"""A source, a broker, the connector and the job, with the tables that change."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from deltalake.exceptions import TableNotFoundError

from local_stack import KafkaBroker, java_runtime, spark_java_options
from stream_jobs.settings import load_settings
from stream_jobs.tables.quarantine_files import resume
from tests.chaos.failure import ChaosFailure
from tests.chaos.gate import Gate
from tests.chaos.mirror import job as processes
from tests.chaos.mirror.source_log import SourceLog
from tests.chaos.mirror.tables import touch_all
from tests.chaos.mirror.watch import Watch
from tests.chaos.mirror.writer import Writer
from tests.integration.harness import write_config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from local_stack import Server
    from tests.chaos.mirror.tables import Changing

PREFIX: Final = "mirror"
# Its build is tested.
PYTHON: Final = Path(sys.executable)
_WRITERS: Final = 2
_LOOK_SECONDS: Final = 1.0
_EQUAL_SECONDS: Final = 300.0
_RESUME_SECONDS: Final = 20.0
# The connector gives up an attempt by itself; `run` retries, so any end is an error.
_KAFKA_SECONDS: Final = 10


class Stage:
    """Everything that a run needs."""

    def __init__(
        self,
        server: Server,
        directory: Path,
        seed: int,
        tables: Sequence[Changing],
        *,
        has_bug: bool = False,
        verifies: bool = True,
        python: Path = PYTHON,
        set_aside: frozenset[str] = frozenset(),
        equal_seconds: float = _EQUAL_SECONDS,
    ) -> None:
        """Let `verify --forever` run with `verifies`; `set_aside` are codes that are expected.

        The processes are of the build that `python` imports.
        """
        self.directory = directory
        # The file in which the planted bug counts.
        self.bug = directory / "bug" if has_bug else None
        self.watch = Watch(has_bug=has_bug)
        self.chance = Random(seed)
        self.server = server
        self.broker = KafkaBroker(directory / "kafka")
        self.gate = Gate()
        self.tables = tables
        self._verifies = verifies
        self._python = python
        self._set_aside = set_aside
        self._equal_seconds = equal_seconds
        self.log = SourceLog(directory / "source" / "data")
        self.mirrors = directory / "job" / "mirror"
        self.figures: Counter[str] = Counter()
        # The codes with which the job has failed.
        self.failures: Counter[str] = Counter()
        self.processes: list[processes.Supervised] = []
        self._writers: list[Writer] = []

    def start(self) -> None:
        """Start everything."""
        for folder in ("job", "connector"):
            (self.directory / folder).mkdir()
        self.server.start()
        self.broker.start()
        log = self.directory / "connector" / "connector.log"
        self.connector_config = self._connector_config()
        self.connector = processes.connector(self._python, self.connector_config, log)
        self.job_config = self._job_config()
        self.job = processes.job(
            self._python, self.job_config, self.directory / "job" / "job.log", self.bug
        )
        self.verification = processes.verification(
            self._python,
            self.connector_config,
            self.job_config,
            self.directory / "connector" / "verify.log",
        )
        self.processes = [self.connector, self.job]
        if self._verifies:
            self.processes.append(self.verification)
        for process in self.processes:
            process.start()
        for number in range(_WRITERS):
            own = list(self.tables[number::_WRITERS])
            self._writers.append(Writer(self.server, own, Random(number), self.gate))
        for writer in self._writers:
            writer.start()

    def upgrade(self) -> None:
        """Go on with the build that is tested, at any moment."""
        for process in self.processes:
            process.replace(PYTHON)

    def stop(self) -> None:
        """End everything."""
        for writer in self._writers:
            writer.stop()
        for process in self.processes:
            process.kill()
        self.broker.kill()
        self.server.kill()

    def look(self) -> None:
        """Start again what has ended, and count; raises ChaosFailure if the connector gave up."""
        code = self.connector.watch()
        if code is not None:
            reason = f"the connector ended with {code}:\n{self.connector.last_words()}"
            raise ChaosFailure(reason)
        self.job.watch()
        code = self.verification.watch() if self._verifies else None
        if code is not None:
            reason = f"verify ended with {code}:\n{self.verification.last_words()}"
            raise ChaosFailure(reason)
        if self._verifies:
            self.watch.take(self.verification.lines())
        for line in self.job.lines():
            self._count(line)
        for writer in self._writers:
            if writer.error is not None:
                reason = f"a writer ended: {writer.error!r}"
                raise ChaosFailure(reason) from writer.error

    def rest(self, seconds: float) -> None:
        """Let everything work for some seconds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.look()
            time.sleep(min(_LOOK_SECONDS, max(0.0, deadline - time.monotonic())))

    def compare(self, tell: Callable[[str], None]) -> float:
        """Wait until all mirrors are equal while nothing changes; return the seconds.

        Raises ChaosFailure if they are not, after some minutes.
        """
        with self.gate.held():
            touch_all(self.server, self.tables)
            began, seconds, resumed = time.monotonic(), 0.0, 0.0
            left = {table: ["not compared yet"] for table in self.tables}
            while left:
                self.rest(_LOOK_SECONDS)
                left = {table: found for table in left if (found := self.differences(table))}
                seconds = time.monotonic() - began
                if left and self._set_aside and seconds > resumed + _RESUME_SECONDS:
                    # As people do: by now a table may be what its mirror needs again.
                    resume(load_settings(self.job_config), self.job_config, (), every=True)
                    resumed = seconds
                if left and seconds > self._equal_seconds:
                    lines = [f"{len(left)} mirrors differ:"]
                    for table, found in left.items():
                        lines.append(table.told(found))
                    reason = "\n".join([*lines, self.job.last_words()])
                    raise ChaosFailure(reason)
        tell(f"     {len(self.tables)} tables are equal, after {seconds:.1f} s")
        return seconds

    def differences(self, table: Changing) -> list[str]:
        """Return how mirrors differ from what changes at the source, which is idle."""
        try:
            return table.differences(self.server.endpoint, self.log, self.mirrors)
        except TableNotFoundError:
            return ["there is no mirror"]

    def verify(self, tell: Callable[[str], None]) -> None:
        """Wait until the verification has compared all tables while nothing changes.

        Raises ChaosFailure if it finds a difference, or does not come to an end.
        """
        with self.gate.held():
            began, wanted = time.monotonic(), self.watch.rounds + 2
            while self.watch.rounds < wanted or self.watch.unfinished:
                if time.monotonic() - began > _EQUAL_SECONDS:
                    reason = f"verify did not finish:\n{self.verification.last_words()}"
                    raise ChaosFailure(reason)
                self.rest(_LOOK_SECONDS)
        tell(f"     verify finds all tables equal, after {time.monotonic() - began:.1f} s")

    def prove_topics(self, tell: Callable[[str], None]) -> None:
        """Compare the topics with the source's log while nothing changes.

        Raises ChaosFailure if a record is missing, surplus or wrong.
        """
        command = [sys.executable, "-m", "connector", "verify", str(self.connector_config)]
        with self.gate.held():
            began = time.monotonic()
            done = subprocess.run(
                [*command, "--topics"], capture_output=True, text=True, check=False
            )
        said = f"verify --topics ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        if done.returncode != 0:
            raise ChaosFailure(said)
        tell(f"     the topics have all changes, after {time.monotonic() - began:.1f} s\n{said}")

    def pause(self, process: processes.Supervised, seconds: float) -> None:
        """Stop a process for a while."""
        process.send(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            process.send(signal.SIGCONT)

    def _count(self, line: dict[str, object]) -> None:
        match line["event"]:
            case "batch_applied":
                self.figures["batches"] += 1
                records = line["records"]
                assert isinstance(records, int)
                self.figures["records"] += records
            case "table_quarantined" if line["code"] in self._set_aside:
                self.figures[f"tables set aside: {line['code']}"] += 1
            case "table_quarantined":
                reason = f"a table was set aside: [{line['code']}] {line['error']}"
                raise ChaosFailure(reason)
            case "failed":
                self.failures[str(line.get("code"))] += 1

    def _connector_config(self) -> Path:
        return write_config(
            self.directory / "connector",
            self.server.endpoint,
            self.broker.endpoint,
            PREFIX,
            "c[0-9][0-9]",
            kafka__partitions=2,
            kafka__request_timeout_seconds=_KAFKA_SECONDS,
            kafka__transaction_timeout_seconds=20,
            verify__rows_per_second=2000,
            verify__pause_seconds=2,
            verify__full_every_hours=0,
            retry__max_seconds=5,
        )

    def _job_config(self) -> Path:
        folder = self.directory / "job"
        options = spark_java_options(java_runtime(), writes_classes=True)
        modes = "".join(
            mode.settings([table.database for table in self.tables if table.mode == mode])
            for mode in dict.fromkeys(table.mode for table in self.tables)
        )
        config = folder / "job.toml"
        config.write_text(
            f"""
name = "chaos"
[log]
format = "json"
[kafka]
bootstrap_servers = ["{self.broker.endpoint.bootstrap}"]
topic_prefix = "{PREFIX}"
request_timeout_seconds = {_KAFKA_SECONDS}
[mirror]
path = "{self.mirrors}"
checkpoint = "{folder}/checkpoint"
index_folder = "{folder}/indexes"
target_file_bytes = 1048576
[trigger]
interval_seconds = 0.5
[spark.settings]
"spark.master" = "local[2]"
"spark.driver.extraJavaOptions" = {json.dumps(options)}
{modes}""",
            encoding="utf-8",
        )
        return config

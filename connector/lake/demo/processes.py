"""The connector, the Spark job and `verify` as processes, started as a user starts them.

Their logs are growing files of JSON lines.
"""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connector.foundation.ecs import facts_of
from connector.foundation.settings.sections import Settings
from connector.lake.demo import demo_errors
from connector.lake.demo.configuration import DemoDirectory
from connector.lake.demo.topics import Offsets
from local_stack import stack_errors
from local_stack.process import GuardedProcess, log_tail
from local_stack.stack_errors import LocalStackError
from stream_jobs.settings import Settings as JobSettings


class JsonLines:
    """Reads the objects of a file that another process appends to."""

    def __init__(self, path: Path) -> None:
        """Begin at the start of `path`, which need not exist yet."""
        self._path = path
        self._offset = 0

    def skip(self) -> None:
        """Skip the lines that exist now."""
        self.read()

    def read(self) -> list[dict[str, Any]]:
        """Return the objects of the new whole lines; lines that are not JSON are skipped."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        # A log may also have lines of libraries.
        lines = (line for line in whole.splitlines() if line[:1] + line[-1:] == b"{}")
        return [json.loads(line) for line in lines]


ERROR_LINES_MAX = 3


class DemoProcess:
    """A process of the product; its output goes to a log of the demo."""

    def __init__(self, name: str, log: Path) -> None:
        """Name it `name`; append its output to `log`."""
        self.name = name
        self._log = log
        self._process: GuardedProcess | None = None

    @property
    def pid(self) -> int:
        """The process id; 0 if it does not run."""
        return self._process.pid if self._process is not None else 0

    def check(self) -> None:
        """Raise LocalStackError, with the end of the log, if the process ended by itself."""
        if self._process is not None and self._process.wait(0):
            raise LocalStackError(
                stack_errors.ENDED, process=self.name, log=self._log, tail=log_tail(self._log)
            )

    def kill(self) -> None:
        """End the process with SIGKILL: it has no time to clean up."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def stop(self) -> None:
        """End the process with SIGTERM and wait until it has ended."""
        if self._process is not None:
            self._process.terminate()
            self._process = None

    def _start(self, command: Sequence[str], environment: dict[str, str]) -> None:
        own = {name: os.environ[name] for name in os.environ.keys() - _variables_of_keys()}
        self._process = GuardedProcess(command, self._log, own | environment)


def _variables_of_keys() -> set[str]:
    """Return the variables that would change the configurations of the demo."""
    return {*Settings.variables(), *JobSettings.variables()}


class Connector(DemoProcess):
    """`binlog-connector run`."""

    def __init__(self, directory: DemoDirectory) -> None:
        """Run with the configuration of `directory`."""
        super().__init__("connector", directory.connector_log)
        self._config = directory.connector_config
        self._lines = JsonLines(directory.connector_log)

    def start(self) -> None:
        """Start it, for the first time or after a kill."""
        self._lines.skip()
        self._start([sys.executable, "-m", "connector", "run", str(self._config)], {})

    def resumed_after(self) -> str | None:
        """Return the GTIDs after which it has streamed since this start; None until it streams.

        The value is returned once, so ask until there is one.
        """
        for line in self._lines.read():
            if line.get("message") == "streaming":
                return str(line.get("cdc.gtid_set", ""))
        return None


@dataclass(slots=True)
class JobStatus:
    """The content of all status lines of the Spark job so far."""

    started: bool = False
    batches: int = 0
    last_batch_seconds: float = 0.0
    last_batch_changes: int = 0
    # Of each batch with changes: how long after the source's commit they were in the table that
    # got them last.
    lags: list[float] = field(default_factory=list)
    # A line names the topics that have moved.
    end_offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    # By `database.table`: when the source committed the latest applied change.
    applied_ms: dict[str, int] = field(default_factory=dict)
    without_mirror: list[str] = field(default_factory=list)

    def take(self, line: dict[str, Any]) -> None:
        """Add one status line."""
        match line["event"]:
            case "started":
                self.started = True
            case "batch_applied":
                self.batches += 1
                self.last_batch_seconds = line["seconds"]
                self.end_offsets |= line["end_offsets"]
                reports = line["tables"].values()
                self.last_batch_changes = sum(report["changes"] for report in reports)
                lags = [
                    report["lag_seconds"] for report in reports if report["lag_seconds"] is not None
                ]
                self.lags += [max(lags)] if lags else []
                for table, report in line["tables"].items():
                    if report["source_ts_ms"] is not None:
                        latest = max(report["source_ts_ms"], self.applied_ms.get(table, 0))
                        self.applied_ms[table] = latest
            case "idle":
                self.end_offsets |= line["end_offsets"]
            case "no_mirror":
                self.without_mirror.append(line["topic"])
            case "failed":
                # The later lines are a stack trace, which is in the log.
                said = "\n".join(line["error"].splitlines()[:ERROR_LINES_MAX])
                raise LocalStackError(demo_errors.JOB_FAILED, said=said)

    def reaches(self, ends: Offsets) -> bool:
        """Return whether everything before `ends` is in the tables."""
        return all(
            self.end_offsets.get(topic, {}).get(str(partition), 0) >= end
            for topic, partitions in ends.items()
            for partition, end in partitions.items()
        )


class StreamJob(DemoProcess):
    """The Spark job."""

    def __init__(self, directory: DemoDirectory, java: Path) -> None:
        """Run with the configuration of `directory`, and the runtime of `java`."""
        super().__init__("Spark job", directory.stream_job_log)
        self._directory = directory
        self._java_home = java.parent.parent
        self._lines = JsonLines(directory.stream_job_status)
        self._status = JobStatus()

    def start(self) -> None:
        """Start the job; its status and its log go to two files."""
        job = [sys.executable, "-m", "stream_jobs", str(self._directory.stream_job_config)]
        status = shlex.quote(str(self._directory.stream_job_status))
        # Status lines and Spark's log are two file descriptors, and go to two files.
        command = ["sh", "-c", f"exec {shlex.join(job)} > {status}"]
        self._start(command, {"JAVA_HOME": str(self._java_home)})

    def status(self) -> JobStatus:
        """Return the status so far.

        Raises LocalStackError if the job has reported a failure.
        """
        for line in self._lines.read():
            self._status.take(facts_of(line))
        return self._status


_WAIT_SECONDS = 300.0


class VerifyCommand(DemoProcess):
    """One call of the command, with the configurations of the demo."""

    def __init__(self, directory: DemoDirectory, number: int) -> None:
        """Write the report number `number` of `directory`."""
        super().__init__("verify", directory.verify_log)
        self._report = directory.path / f"verify.{number}.json"
        self._config = str(directory.connector_config)

    def start(self, *arguments: str) -> None:
        """Start it with `arguments`."""
        program = [sys.executable, "-m", "connector", "verify", self._config, "--json", *arguments]
        report = shlex.quote(str(self._report))
        self._start(["sh", "-c", f"exec {shlex.join(program)} > {report}"], {})

    def report(self) -> dict[str, Any]:
        """Wait for its end, and return its report; raises LocalStackError if there is none."""
        assert self._process is not None
        self._process.wait(_WAIT_SECONDS)
        text = self._report.read_text(encoding="utf-8")
        if not text:
            raise LocalStackError(
                stack_errors.ENDED, process=self.name, log=self._log, tail=log_tail(self._log)
            )
        report: dict[str, Any] = json.loads(text)
        return report

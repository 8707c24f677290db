"""Spark on this machine: the jars that it needs beside pyspark's, and a standalone cluster.

The jars read Kafka and write Delta. The cluster has a master, and workers of one core each::

    DIRECTORY
    ├── master.log
    ├── worker-0.log
    ├── log.properties  how executors log
    └── work/           what executors write, and their logs

Spark's classes are those of the package pyspark; its own scripts for clusters are not in it.

https://spark.apache.org/docs/latest/spark-standalone.html
"""

import json
import os
import time
import urllib.request
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from connector.foundation.class_archive import archive_options
from local_stack import stack_errors
from local_stack.cache import Cache
from local_stack.java import java_runtime
from local_stack.package_repositories import Jar, fetch_jars
from local_stack.process import GuardedProcess, log_tail
from local_stack.server import HOST, LOOK_SECONDS, START_SECONDS, free_port
from local_stack.stack_errors import LocalStackError

_NAME = "Spark's cluster"
# Small, and fast to start.
_DAEMON_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_ALIVE = "ALIVE"
_EXECUTOR = b"CoarseGrainedExecutorBackend"
# In the folder of an executor. What it writes to stderr comes there later, through its worker.
_EXECUTOR_LOG = "executor.log"
_LOG_PROPERTIES = f"""
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {_EXECUTOR_LOG}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


class SparkCluster:
    """A private cluster without users and encryption, which ends with its owner."""

    def __init__(self, directory: Path, *, workers: int, memory_mb: int = 1024) -> None:
        """Start `workers` of one core, each of which gives executors `memory_mb`."""
        self.directory = directory.absolute()
        self._count = workers
        self._memory_mb = memory_mb
        self._ports: tuple[int, int] = (0, 0)
        self._processes: list[GuardedProcess] = []

    @property
    def url(self) -> str:
        """What a job calls its `spark.master`."""
        return f"spark://{HOST}:{self._ports[0]}"

    @property
    def settings(self) -> dict[str, str]:
        """What a job sets to run here, so that `is_busy` knows of its executors."""
        log = f"-Dlog4j2.configurationFile=file:{self._log_properties}"
        return {"spark.master": self.url, "spark.executor.defaultJavaOptions": log}

    @property
    def _log_properties(self) -> Path:
        return self.directory / "log.properties"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which programs of the cluster, and its drivers, are started."""
        return os.environ | {
            "JAVA_HOME": str(java_runtime().parents[1]),
            "SPARK_HOME": str(_home()),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _DAEMON_OPTIONS,
        }

    def start(self) -> Self:
        """Return when all workers are there.

        Raises LocalStackError, with the end of its log, if a process ends or is not there within
        two minutes.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        self._log_properties.write_text(_LOG_PROPERTIES, encoding="utf-8")
        self._ports = (free_port(), free_port())
        port, page = self._ports
        own = ("--host", HOST, "--port", str(port), "--webui-port", str(page))
        self._run("master", "master.Master", *own)
        for number in range(self._count):
            self._run(
                f"worker-{number}",
                "worker.Worker",
                *("--host", HOST, "--webui-port", "0", "--cores", "1"),
                *("--memory", f"{self._memory_mb}m", "--work-dir", str(self.directory / "work")),
                self.url,
            )
        self._await_workers()
        return self

    def executors(self, number: int) -> list[int]:
        """Return the process ids of a worker's executors, the newest one last."""
        worker = self._processes[1 + number].pid
        paths = Path(f"/proc/{worker}/task").glob("*/children")
        children = sorted(int(pid) for path in paths for pid in path.read_text().split())
        return [pid for pid in children if _EXECUTOR in _command_line(pid)]

    def is_busy(self, executor: int) -> bool:
        """Return whether an executor has a task whose result it has not sent yet.

        It logs the end of a task first. Raises FileNotFoundError for a job without `settings`.
        """
        log = Path(f"/proc/{executor}/cwd/{_EXECUTOR_LOG}").read_text(encoding="utf-8")
        return log.count(" Running task ") > log.count(" Finished task ")

    def kill_worker(self, number: int) -> None:
        """End a worker with SIGKILL, like a power cut; its executors end when they notice."""
        self._processes[1 + number].kill()

    def stop(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            process.terminate()
        self._processes.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _run(self, name: str, class_name: str, *arguments: str) -> None:
        command = [str(_home() / "bin/spark-class"), f"org.apache.spark.deploy.{class_name}"]
        log = self.directory / f"{name}.log"
        self._processes.append(GuardedProcess([*command, *arguments], log, self.environment))

    def _await_workers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while len(self._workers()) < self._count:
            ended = next((process for process in self._processes if not process.is_running), None)
            if ended is not None or time.monotonic() > deadline:
                error = self._silent() if ended is None else _ended(ended.log)
                self.stop()
                raise error
            time.sleep(LOOK_SECONDS)

    def _silent(self) -> LocalStackError:
        log = self._processes[0].log
        facts = {"server": _NAME, "port": self._ports[1], "seconds": START_SECONDS}
        return LocalStackError(stack_errors.NO_ANSWER, **facts, log=log, tail=log_tail(log))

    def _workers(self) -> list[Mapping[str, Any]]:
        """Return what the master's page says of the workers that are alive."""
        try:
            with urllib.request.urlopen(  # our own address
                f"http://{HOST}:{self._ports[1]}/json/", timeout=5
            ) as answer:
                every = json.load(answer)["workers"]
        except (OSError, ValueError):
            # It is an empty page while the master starts.
            return []
        return [worker for worker in every if worker["state"] == _ALIVE]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def _ended(log: Path) -> LocalStackError:
    return LocalStackError(stack_errors.ENDED_EARLY, server=_NAME, log=log, tail=log_tail(log))


def _home() -> Path:
    """Return the folder of the package pyspark, which is a home of Spark."""
    package = find_spec("pyspark")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent


# A JVM that starts faster than it computes. With one of its two compilers it would keep 48 MB for
# their code, which Spark fills; what comes then is interpreted, or fails.
_JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")

SPARK_JARS = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        494879,
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        9220052,
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons",
        "commons-pool2",
        "2.12.1",
        152289,
        "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef",
    ),
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        "4.4.0",
        9515916,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        113863,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
    # Some mirrors lack 4.2.0; the used classes are those of 4.0.0.
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        64975,
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
)


def spark_jars(cache: Cache | None = None) -> list[Path]:
    """Return the six jars for `--jars`, downloaded if necessary.

    Raises NotPublished if the repository lacks one, LocalStackError if it cannot be downloaded.
    """
    return fetch_jars(
        "Spark's jars for Kafka and Delta", SPARK_JARS, cache or Cache.of_environment()
    )


def spark_java_options(java: Path, jars: Sequence[str] = (), *, writes_classes: bool) -> str:
    """Return options for a Spark driver with `jars` and little to do.

    It uses the archive of an earlier driver that `writes_classes`, and then starts in half the
    time. Writing takes ten seconds after the end of the Python process.
    """
    archive = archive_options(jars, Cache.of_environment().classes, java, writes=writes_classes)
    return " ".join((*_JVM_OPTIONS, archive))

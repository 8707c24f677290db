"""The processes of jobs that are killed while they load tables."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.chaos.mirror import job as processes
from tests.integration.mirror.conftest import Job
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

_CONTEXT: Final = multiprocessing.get_context("forkserver")
# A driver needs so long at most to start.
_START_SECONDS: Final = 60.0


def _apply(bootstrap: str, prefix: str, folder: Path, source: dict[str, Any]) -> None:
    """Be the job, until it is killed."""
    job = Job(Kafka(bootstrap, prefix), folder)
    while True:
        job.run(first_load=source)
        time.sleep(0.05)


class ForkedJob:
    """The job without Spark, which is started again whenever it has ended."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path, source: dict[str, Any]) -> None:
        """Start it."""
        self._given = bootstrap, prefix, folder, source
        self._process = self._started()

    def _started(self) -> ForkServerProcess:
        process = _CONTEXT.Process(target=_apply, args=self._given, daemon=True)
        process.start()
        return process

    def watch(self) -> None:
        """Start it again if it has ended by itself."""
        if self._process.exitcode is not None:
            self._process = self._started()

    def replace(self) -> None:
        """End it as the kernel would, and start another one."""
        self.end()
        self._process = self._started()

    def end(self) -> None:
        """End it for good."""
        self._process.kill()
        self._process.join()


class ClusterJob:
    """The whole job, on a cluster; the process is that of its driver."""

    def __init__(self, config: Path) -> None:
        """Start it."""
        self._process = processes.job(
            Path(sys.executable), config, config.with_name("job.log"), None
        )
        self._process.start()

    def watch(self) -> None:
        """Start it again if it has ended by itself."""
        self._process.watch()

    def replace(self) -> None:
        """End it as the kernel would, and start another one, which is there after seconds."""
        self._process.kill()
        self._process.start()
        self._process.lines()
        ends_at = time.monotonic() + _START_SECONDS
        while time.monotonic() < ends_at:
            if any(line["event"] == "started" for line in self._process.lines()):
                return
            self._process.watch()
            time.sleep(0.1)

    def end(self) -> None:
        """End it for good."""
        self._process.kill()

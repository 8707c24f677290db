"""Where the benchmarks keep what they build, generate and measure: below the cache of local_stack.

::

    CACHE/bench/
    ├── lock                  held with flock(2) by the process that measures
    ├── NAME-DIGEST/          a rival, built from its sources
    ├── scale-S/source/       the MySQL server whose binlogs are the data
    ├── scale-S/data.json     which binlog holds what
    ├── scale-S/broker/       the Kafka broker, emptied at each start
    ├── scale-S/runs/         configurations and logs of what was measured
    └── scale-S/results/      one JSON document for each subcommand
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.process import RunFailed
from local_stack.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent


class Home:
    """The folders of one scale: 1.0 is the full size, 0.1 a tenth of the rows."""

    def __init__(self, scale: float) -> None:
        """Use the cache that the environment names."""
        self.scale = scale
        self.cache = Cache.of_environment()
        self._bench = self.cache.directory / "bench"
        self._directory = self._bench / f"scale-{scale:g}"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from measuring, at any scale; raises RunFailed if one does.

        They would remove each other's servers, and slow each other down.
        """
        path = self._bench / "lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            try:
                # The kernel releases the lock when the process ends, for any reason.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                who = file.read().strip() or "a process that has just begun"
                reason = f"another benchmark runs: {who} holds {path}; wait for its end"
                raise RunFailed(reason) from error
            file.truncate(0)
            file.write(f"process {os.getpid()} ({' '.join(sys.orig_argv)})\n")
            file.flush()
            try:
                yield
            finally:
                file.truncate(0)

    def folder(self, name: str) -> Path:
        """Return the folder `name`, created where it is missing."""
        path = self._directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def manifest(self) -> Path:
        """What the data are."""
        return self.folder("") / "data.json"

    def store(self, what: str, result: dict[str, Any]) -> None:
        """Keep the result of subcommand `what`, with the machine and the time."""
        document = {**here_and_now(), **result}
        path = self.folder("results") / f"{what}.json"
        path.write_text(json.dumps(document, indent=1) + "\n")

    def load(self, what: str) -> dict[str, Any] | None:
        """Return the last result of subcommand `what`, None where there is none."""
        path = self.folder("results") / f"{what}.json"
        if not path.exists():
            return None
        document: dict[str, Any] = json.loads(path.read_text())
        return document


def here_and_now() -> dict[str, Any]:
    """Describe where and when something is measured."""
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), **machine()}


def machine() -> dict[str, Any]:
    """Describe what the benchmarks run on."""
    info = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in info.splitlines() if "model name" in line]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(pages / 2**30),
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }

"""The processes under test, which a supervisor starts again whenever they end."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from connector.foundation.ecs import facts_of
from connector.lake.demo.processes import JsonLines
from local_stack import java_runtime
from local_stack.process import GuardedProcess, log_tail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STOP_SECONDS: Final = 180.0
_ROOT: Final = Path(__file__).parents[3]


class Supervised:
    """A command that is started again."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = log
        # How often it was started, and how often it ended by itself, by exit code.
        self.starts = 0
        self.ends: Counter[int] = Counter()
        self._command = command
        # The processes import what their interpreter has installed, not what is in this folder.
        self._environment = {**environment, "PYTHONSAFEPATH": "1"}
        self._process: GuardedProcess | None = None
        self._lines = JsonLines(log)
        self._is_up = False
        self._bytes_before = 0  # of the log, when it was started

    def lines(self) -> list[dict[str, object]]:
        """Return what it has written since the last call."""
        return [facts_of(line) for line in self._lines.read()]

    def watch(self) -> int | None:
        """Start it again if it has ended by itself; return its exit code then."""
        assert self._process is not None
        code = self._process.exit_code
        if code is not None:
            self.ends[code] += 1
            self.start()
        return code

    def replace(self, python: Path) -> None:
        """End it, and start it with the build of another interpreter."""
        self.kill()
        self._command = [str(python), *self._command[1:]]
        self.start()

    def start(self) -> None:
        """Start it."""
        self.starts += 1
        self._bytes_before = self._log_bytes()
        self._process = GuardedProcess(self._command, self.log, self._environment)

    @property
    def is_silent(self) -> bool:
        """Whether it has written nothing since it was started."""
        return self._log_bytes() == self._bytes_before

    def _log_bytes(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def kill(self) -> None:
        """End it as the kernel would."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> int | None:
        """Ask it to end, and return its exit code; None if that takes minutes."""
        assert self._process is not None
        self.send(signal.SIGTERM)
        self._process.wait(_STOP_SECONDS)
        return self._process.exit_code

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        if self._process.exit_code is None:
            os.kill(self._process.pid, number)

    def last_words(self) -> str:
        """Return the end of its log."""
        return log_tail(self.log)


def connector(python: Path, config: Path, log: Path) -> Supervised:
    """`binlog-connector run`, of the build that `python` imports."""
    command = [str(python), "-m", "connector", "run", str(config)]
    return Supervised("connector", command, log, os.environ)


def job(python: Path, config: Path, log: Path, bug: Path | None) -> Supervised:
    """`python -m stream_jobs`; `bug` is the file of a planted bug."""
    command = [str(python), "-m", "stream_jobs", str(config)]
    environment = os.environ | {"JAVA_HOME": str(java_runtime().parents[1])}
    if bug is not None:
        environment |= planted(bug)
    return Supervised("job", command, log, environment)


def module(name: str, arguments: Sequence[str], log: Path) -> Supervised:
    """Return a module of the tests that is a job."""
    folders = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    return Supervised("job", [sys.executable, "-m", name, *arguments], log, environment)


def planted(bug: Path) -> dict[str, str]:
    """Return the environment of a job with a bug; it counts in the file `bug`."""
    folders = [str(Path(__file__).with_name("planted")), str(_ROOT)]
    folders += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {"PLANTED_BUG": str(bug), "PYTHONPATH": os.pathsep.join(filter(None, folders))}


def verification(python: Path, config: Path, job_config: Path, log: Path) -> Supervised:
    """`binlog-connector verify --forever`."""
    command = [str(python), "-m", "connector", "verify", str(config)]
    command += ["--mirror", str(job_config), "--forever"]
    return Supervised("verification", command, log, os.environ)

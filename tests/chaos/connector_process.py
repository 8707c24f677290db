"""The connector as a process, and what it says."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from connector.lake.demo.processes import JsonLines
from local_stack.process import GuardedProcess

if TYPE_CHECKING:
    from pathlib import Path

# The exit code of a process that does not handle the signal.
KILLED_BY_SIGTERM = 128 + signal.SIGTERM
_WORDS_MAX = 6


class Connector:
    """One instance of `binlog-connector run CONFIG`, with a log of its own."""

    def __init__(self, config: Path, log: Path) -> None:
        self.log = log
        self._lines = JsonLines(log)
        self._streaming = False
        command = [sys.executable, "-m", "connector", "run", str(config)]
        self._process = GuardedProcess(command, log, os.environ)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exit_code

    def streams(self) -> bool:
        """Return whether it has said so."""
        self._streaming |= any(line.get("message") == "streaming" for line in self._lines.read())
        return self._streaming

    def count(self, text: str) -> int:
        """Return how often it has said a text."""
        return self.log.read_text(errors="replace").count(text)

    def send(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float) -> int | None:
        """Return the exit code once it has ended, None when that takes longer."""
        self._process.wait(seconds)
        return self.exit_code

    def last_words(self) -> str:
        """Return the end of what it wrote."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_WORDS_MAX:])

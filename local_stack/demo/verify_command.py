"""`binlog-connector verify`, started as a user starts it, and its report."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from connector.errors import LocalStackError, local_stack
from local_stack.demo.processes import DemoProcess
from local_stack.process import log_tail

if TYPE_CHECKING:
    from local_stack.demo.configuration import DemoDirectory

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
                local_stack.ENDED, process=self.name, log=self._log, tail=log_tail(self._log)
            )
        report: dict[str, Any] = json.loads(text)
        return report

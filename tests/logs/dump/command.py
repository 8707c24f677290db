"""The dump command, run in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.application import invoke


@dataclass
class Dumped:
    """What a run of the command left."""

    code: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        # Not splitlines: what is escaped is a line feed, other ends of lines are text.
        return self.output.removesuffix("\n").split("\n") if self.output else []

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def types(self) -> list[str]:
        """The event types of `--format json`."""
        return [event["type"] for event in self.objects]


def dump(*arguments: object, stdin: bytes | None = None) -> Dumped:
    """Run `binlog-connector dump` with these arguments; what it does not handle is raised."""
    done = invoke(["dump", *map(str, arguments)], stdin or b"")
    return Dumped(done.exit_code, done.stdout, done.stderr)


def dumped_json(*arguments: object) -> Dumped:
    """Run it with `--format json`, to a clean end."""
    done = dump("--format", "json", *arguments)
    assert (done.code, done.errors) == (0, "")
    return done


def start_dump(*arguments: object) -> subprocess.Popen[bytes]:
    """Start `binlog-connector dump` with these arguments, to be ended by Ctrl-C.

    Its lines are not counted: what counts them takes a lock for each new function, and where Ctrl-C
    comes between taking it and letting go of it, the process waits for itself.
    """
    counting = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
    return subprocess.Popen(
        [sys.executable, "-m", "connector", "dump", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name not in counting},
    )

"""The dump command, run in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from connector.cli import app


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
    done = CliRunner().invoke(app, ["dump", *map(str, arguments)], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Dumped(done.exit_code, done.stdout, done.stderr)


def dumped_json(*arguments: object) -> Dumped:
    """Run it with `--format json`, to a clean end."""
    done = dump("--format", "json", *arguments)
    assert (done.code, done.errors) == (0, "")
    return done

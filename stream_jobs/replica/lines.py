"""What the replica says on standard output: objects for machines, or sentences for people.

    {"event": "started", "name", "mirror", "target"}
    {"event": "cut_applied", "cut", "seconds", "tables", "loaded", "deleted", "inserted",
     "source_time_ms", "lag_seconds", "left_out"}
    {"event": "waiting", "error", "code", "seconds"}
    {"event": "idle", "cut"}
    {"event": "stopped", "cut"}
    {"event": "failed", "error", "code"}

These are the names of our code; a line has those of the connector's log, as the lines of the job
(`report.status`).

`tables` is the number of tables that differed, `loaded` names those that were loaded as a whole,
`left_out` says of each table that the cut does not have, why. `lag_seconds` is the time from the
newest commit of the cut at the source to its commit at the target. `waiting` says that the target
cannot be reached for now. `idle` comes once when the target has the newest cut. Fields may be
added, but none is removed or changes its meaning.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from connector.errors import fields
from connector.errors.visible import visible_fields
from stream_jobs.report.ecs_line import EcsLine
from stream_jobs.report.moment import moment

if TYPE_CHECKING:
    from connector.errors.message import Message


class Lines:
    """Writes whole lines."""

    def __init__(self, out: TextIO, wanted: object, name: str | None = None) -> None:
        """Write to `out` in the form of `log.format`; any value but "json" is "console".

        `name` is that of the configuration.
        """
        self._out = out
        self._line = EcsLine("replica", name)
        self._is_console = wanted != "json"

    def write(self, event: str, **facts: Any) -> None:
        """Write the line of an event."""
        if self._is_console:
            text = _sentence(event, visible_fields(facts))
            line = f"{moment(time.time(), self._out.isatty())}  {text}" if text else ""
        else:
            line = self._line.text(event, facts)
        if line:
            self._out.write(f"{line}\n")
            self._out.flush()

    def wait(self, message: Message, seconds: float) -> None:
        """Write `waiting`."""
        self.write("waiting", **fields(message), seconds=seconds)

    def fail(self, message: Message) -> None:
        """Write `failed`; for people, on standard error."""
        self.write("failed", **fields(message))
        if self._is_console:
            sys.stderr.write(f"error: {message}\n")


def _sentence(event: str, facts: dict[str, Any]) -> str:
    match event:
        case "started":
            return f"started: {facts['target']} follows the mirror in {facts['mirror']}"
        case "cut_applied":
            return _cut(facts)
        case "waiting":
            return f"[{facts['code']}] {facts['error']}; next attempt in {facts['seconds']:.1f} s"
        case "idle":
            return f"idle: the target has cut {facts['cut']}, the newest one"
        case "stopped":
            return f"stopped: the target has cut {facts['cut']}"
        case _:
            return ""


def _cut(facts: dict[str, Any]) -> str:
    lag = facts["lag_seconds"]
    rate = (facts["inserted"] + facts["deleted"]) / max(facts["seconds"], 0.001)
    parts = [
        f"cut {facts['cut']}".ljust(9),
        f"{facts['inserted']:>8,} rows in {facts['deleted']:>8,} out",
        f"{facts['tables']:>3} {'table ' if facts['tables'] == 1 else 'tables'}",
        f"{facts['seconds']:>6.2f} s",
        f"{rate:>8,.0f}/s",
    ]
    parts += [f"lag {lag:.1f} s"] if lag is not None else []
    parts += [f"loaded: {', '.join(facts['loaded'])}"] if facts["loaded"] else []
    parts += [f"without: {', '.join(facts['left_out'])}"] if facts["left_out"] else []
    return "  ".join(parts)

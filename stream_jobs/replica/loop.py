"""The process of a replica: it follows the cuts of a mirror, and reports lines and metrics.

A target that cannot be reached is tried again, less and less often. Any other error ends the
process: a target that lacks one table would not be the state of any moment, so it stays at its
cut.

Standard output has JSON lines for machines, or sentences for people:

    {"event": "started", "name", "mirror", "target"}
    {"event": "cut_applied", "cut", "seconds", "tables", "loaded", "deleted", "inserted",
     "source_time_ms", "lag_seconds", "left_out"}
    {"event": "waiting", "error", "code", "seconds"}
    {"event": "idle", "cut"}
    {"event": "stopped", "cut"}
    {"event": "failed", "error", "code"}

The code uses these names; a line has the names of the connector's log, like the lines of the job
(`stream_jobs.run.status_lines`).

`tables` is the number of tables that differed, `loaded` names the tables that were loaded as a
whole, `left_out` says why the cut lacks a table. `lag_seconds` is the time from the newest commit
of the cut at the source to its commit at the target. `waiting` says that the target cannot be
reached for now. `idle` comes once when the target has the newest cut. Fields may be added, but
none is removed or changes its meaning.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from connector.foundation import http_server
from connector.foundation.errors import ConfigError, DefiniteError, TransientError, fields
from connector.foundation.errors.message import Message, visible_fields
from connector.foundation.errors.secrets_in_urls import value_without_secrets
from connector.foundation.http_server import Endpoints
from stream_jobs.cuts import cut_errors
from stream_jobs.errors import MirrorError, exit_codes
from stream_jobs.log_lines import EcsLine, line_time
from stream_jobs.replica import replica_errors
from stream_jobs.replica.replica import AppliedCut, Replica
from stream_jobs.settings import Settings


class ReplicaLines:
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
            text = _sentence(event, visible_fields(value_without_secrets(facts)))
            line = f"{line_time(time.time(), self._out.isatty())}  {text}" if text else ""
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


_PREFIX: Final = "binlog_connector_replica_"
_MS: Final = 1000


class ReplicaMetrics(Collector):
    """Counts what was applied; read at each scrape."""

    def __init__(self, name: str) -> None:
        """Count for the replica `name`."""
        self._name = name
        self._steps = 0
        self._inserted = 0
        self._deleted = 0
        self._seconds = 0.0
        self._newest: AppliedCut | None = None
        self._lag = 0.0
        # Whether the last attempt has reached the target.
        self.is_up = False

    def note(self, step: AppliedCut, lag: float | None) -> None:
        """Count a cut that was applied so many seconds after its commit at the source."""
        self._steps += 1
        self._inserted += step.inserted
        self._deleted += step.deleted
        self._seconds += step.seconds
        self._newest = step
        self._lag = lag or 0.0
        self.is_up = True

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value now."""
        yield self._gauge("up", "1 while the target can be reached", float(self.is_up))
        yield self._counter("cuts", "Cuts that were applied", self._steps)
        rows = CounterMetricFamily(
            f"{_PREFIX}rows",
            "Rows inserted or changed, and keys deleted",
            labels=["pipeline", "op"],
        )
        rows.add_metric([self._name, "insert"], self._inserted)
        rows.add_metric([self._name, "delete"], self._deleted)
        yield rows
        yield self._counter("apply_seconds", "Seconds in which cuts were applied", self._seconds)
        newest = self._newest
        if newest is None:
            return
        yield self._gauge("cut", "Number of the newest applied cut", newest.cut)
        yield self._gauge("left_out_tables", "Tables that it does not have", len(newest.left_out))
        yield self._gauge(
            "lag_seconds", "From its newest commit at the source to that at the target", self._lag
        )
        if newest.source_time_ms is not None:
            at = newest.source_time_ms / _MS
            yield self._gauge("source_time_seconds", "When its newest commit was", at)

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        gauge = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=["pipeline"])
        gauge.add_metric([self._name], value)
        return gauge

    def _counter(self, name: str, text: str, value: float) -> Metric:
        counter = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=["pipeline"])
        counter.add_metric([self._name], value)
        return counter


def lag_of(step: AppliedCut) -> float | None:
    """Return the seconds from the newest commit of a cut at the source until now."""
    if step.source_time_ms is None:
        return None
    return round(max(0.0, time.time() - step.source_time_ms / _MS), 3)


@contextmanager
def metrics_server(metrics: ReplicaMetrics, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """

    def well() -> tuple[bool, str]:
        return True, "well"

    def ready() -> tuple[bool, str]:
        return metrics.is_up, "ready" if metrics.is_up else "the target cannot be reached"

    with http_server.serving(Endpoints(metrics, well, ready), listen):
        yield


_LOOK_SECONDS: Final = 0.5
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0


class ReplicaLoop:
    """One process of a replica."""

    def __init__(self, settings: Settings, lines: ReplicaLines, stopped: threading.Event) -> None:
        """Write `lines`, and end soon after `stopped` is set. Raises ConfigError."""
        self._settings = settings
        self._lines = lines
        self._stopped = stopped
        self._replica = Replica(settings)
        self.metrics = ReplicaMetrics(settings.name)

    def run(self, *, once: bool) -> int:
        """Follow the cuts, or apply the newest one, and return the exit code.

        Raises ConfigError for files of TLS that cannot be read.
        """
        target, path = self._replica.target_name, self._settings.mirror.path
        self._lines.write("started", name=self._settings.name, mirror=path, target=target)
        try:
            if once:
                self._once()
            else:
                self._follow()
        except ConfigError:
            raise
        except (DefiniteError, TransientError) as error:
            self._lines.fail(error.message)
            is_taken = error.code == replica_errors.TAKEN_OVER
            return exit_codes.REFUSED if is_taken else exit_codes.FAILED
        finally:
            self._replica.close()
        self._lines.write("stopped", cut=self._replica.applied.cut)
        return exit_codes.OK

    def _once(self) -> None:
        step = self._replica.apply_newest()
        if step is not None:
            self._note(step)
        elif self._replica.applied.cut is None:
            path = self._settings.mirror.path
            raise MirrorError(cut_errors.NO_CUT, path=path, wanted="yet")

    def _follow(self) -> None:
        pause, is_idle = _FIRST_PAUSE_SECONDS, False
        while not self._stopped.is_set():
            try:
                step = self._replica.apply_newest()
            except TransientError as error:
                self.metrics.is_up = False
                self._lines.wait(error.message, pause)
                self._stopped.wait(pause)
                pause, is_idle = min(2 * pause, _PAUSE_SECONDS_MAX), False
                continue
            pause = _FIRST_PAUSE_SECONDS
            if step is not None:
                self._note(step)
                is_idle = False
                continue
            if not is_idle:
                self._lines.write("idle", cut=self._replica.applied.cut)
                is_idle = True
            self._stopped.wait(_LOOK_SECONDS)

    def _note(self, step: AppliedCut) -> None:
        lag = lag_of(step)
        self.metrics.note(step, lag)
        self._lines.write(
            "cut_applied",
            cut=step.cut,
            seconds=round(step.seconds, 3),
            tables=step.tables,
            loaded=step.loaded,
            deleted=step.deleted,
            inserted=step.inserted,
            source_time_ms=step.source_time_ms,
            lag_seconds=lag,
            left_out=step.left_out,
        )


def follow(settings: Settings, out: TextIO, *, once: bool) -> int:
    """Run the replica until SIGTERM or SIGINT, and return the exit code; raises ConfigError."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    loop = ReplicaLoop(settings, ReplicaLines(out, settings.log.format, settings.name), stopped)
    with metrics_server(loop.metrics, settings.replica.listen):
        return loop.run(once=once)

"""A server that is written to now: start, latency, and what an idle connector costs.

*Start.* The topics are there and the connector has run before; what is measured is the time from
the start of its process to the first message at a read_committed consumer, while 50 rows a second
are written.
*Idle.* Nothing is written for a while: CPU time and resident memory.
*Latency.* From just before a statement is sent until a read_committed consumer has its message: the
commit and the fetch are included. At 200 one-row transactions a second, and at half of what the
server commits while the connector follows. Each figure is the median of several windows, because
another program on the machine can take a part of one. The broker is warm: a Java virtual machine
compiles itself for a minute or two after such a load has begun, and each connector asks other work
of it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from benchmarks.builds import Builds
from benchmarks.debezium import LOW_LATENCY, DebeziumConnector
from benchmarks.process import RunFailed, say, usage_of
from benchmarks.replay import makers
from benchmarks.stack import stack
from benchmarks.watch import LatencyProbe

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from benchmarks.connectors import Connector
    from benchmarks.home import Home
    from benchmarks.stack import Stack

DATABASE = "live"
TOPIC_TABLE = "live.orders"
STARTS = 3
TICKS_PER_S = 50
RATE_PER_S = 200
# Behind a start, and behind a change of the rate.
SETTLE_S = 3.0
# Behind the idle state. The broker then uses a quarter of the processor time of its first seconds;
# a slow machine needs so long for that.
WARM_S = 120.0
WINDOWS = 7
# Ends with the process; nothing takes as long.
FOREVER_S = 3600.0


def measure_live(home: Home, seconds: float, compiled: Literal["require", "off"]) -> dict[str, Any]:
    """Return the figures of all connectors; each state is held for `seconds`."""
    measured = {}
    with stack(home) as servers:
        chosen = makers(servers, compiled, linger_ms=0)
        debezium = chosen.get("debezium")
        if debezium is not None:
            jars = Builds(home.cache).connect()
            chosen["debezium_low"] = lambda prefix, database: DebeziumConnector(
                servers, prefix, database, jars, LOW_LATENCY
            )
        for key, make in chosen.items():
            measured[key] = _measure(servers, f"{key}live", make, seconds)
    return {"connectors": measured, "seconds": seconds, "compiled": compiled == "require"}


def _measure(
    servers: Stack, prefix: str, make: Callable[[str, str], Connector], seconds: float
) -> dict[str, Any]:
    connector = make(prefix, DATABASE)
    python = Builds(servers.home.cache).python()
    (topic,) = connector.topics([TOPIC_TABLE])
    file = servers.newest_file()
    try:
        with LatencyProbe(python, servers.bootstrap, topic) as probe:
            with _Ticks(servers, TICKS_PER_S, FOREVER_S):
                say(f"start: {connector.name}")
                starts = [_start(connector, probe, file, again=n > 0) for n in range(STARTS + 1)]
            result: dict[str, Any] = {"name": connector.name, "start_s": min(starts[1:])}
            time.sleep(SETTLE_S)
            say(f"idle: {connector.name}")
            result["idle"] = _idle(connector, seconds)
            say(f"warm: {connector.name}")
            with _Ticks(servers, RATE_PER_S, WARM_S) as ticks:
                ticks.rate()
            say(f"latency: {connector.name}")
            result["slow"] = _latency(servers, connector, probe, RATE_PER_S, seconds)
            with _Ticks(servers, 0, seconds / 3) as ticks:
                maximum = ticks.rate()
            _drain(probe)
            result["fast"] = _latency(servers, connector, probe, maximum / 2, seconds / 2)
            result["peak_mb"] = usage_of(connector.pid).peak_mb
    finally:
        connector.stop()
    return result


def _start(connector: Connector, probe: LatencyProbe, file: str, *, again: bool) -> float:
    """Return the seconds from the start of the process to the next message; it goes on running."""
    if again:
        connector.stop()
        # What was sent before the end is not mistaken for the first message.
        time.sleep(1.0)
    probe.expect_first()
    started = time.time()
    connector.start(file, again=again)
    return probe.first() - started


def _idle(connector: Connector, seconds: float) -> dict[str, float]:
    before = usage_of(connector.pid)
    time.sleep(seconds)
    after = usage_of(connector.pid)
    share = (after.cpu_s - before.cpu_s) / seconds
    return {"cpu_percent": share * 100, "rss_mb": after.rss_mb}


def _latency(
    servers: Stack, connector: Connector, probe: LatencyProbe, rate: float, seconds: float
) -> dict[str, Any]:
    """Return the median of each figure over WINDOWS windows of `seconds`."""
    windows = [_window(servers, connector, probe, rate, seconds) for _ in range(WINDOWS)]
    return {name: statistics.median(window[name] for window in windows) for name in windows[0]}


def _window(
    servers: Stack, connector: Connector, probe: LatencyProbe, rate: float, seconds: float
) -> dict[str, Any]:
    with _Ticks(servers, rate, SETTLE_S) as ticks:
        ticks.rate()
    _drain(probe)
    probe.reset()
    before = usage_of(connector.pid).cpu_s
    with _Ticks(servers, rate, seconds) as ticks:
        sent = ticks.sent()
    _drain(probe)
    cpu = usage_of(connector.pid).cpu_s - before
    report = probe.report()
    if report["received"] != sent:
        reason = f"{connector.name}: {report['received']} of {sent} rows came"
        raise RunFailed(reason)
    return {"rate_per_s": sent / seconds, "cpu_us_per_message": cpu / sent * 1e6, **report}


def _drain(probe: LatencyProbe) -> None:
    """Wait until no more messages come."""
    seen = -1
    while (now := probe.report()["received"]) != seen:
        seen = now
        time.sleep(1.0)


class _Ticks:
    """Writes rows in a process of its own."""

    def __init__(self, servers: Stack, rate: float, seconds: float) -> None:
        source = servers.source
        command = [sys.executable, "-m", "benchmarks.workload.ticks"]
        command += [str(source.port), source.user, source.password, str(rate), str(seconds)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def sent(self) -> int:
        """Wait for the end and return the number of rows."""
        return int(self._report()["sent"])

    def rate(self) -> float:
        """Wait for the end and return the rows a second."""
        report = self._report()
        return float(report["sent"] / report["seconds"])

    def _report(self) -> dict[str, float]:
        output, _ = self._process.communicate()
        if self._process.returncode:
            reason = "the program that writes rows has failed"
            raise RunFailed(reason)
        report: dict[str, float] = json.loads(output)
        return report

"""What the open status page costs: the same stream with and without ten browsers that look at it.

*Throughput.* The connector reads the oltp and the bulk file to their end, as in `replay`. Runs with
and without browsers take turns, so that a machine that others use slows down both.
*Idle.* Nothing is written for a while: CPU time of the process.

In life, browsers run on other machines. Here, those that ask get only what the others leave of the
cores (SCHED_IDLE), so that what is measured is what the process does for them. They are programs
that ask at the rate of the page and draw nothing. They note their pages: one that was starved would
be no load.

The process loads the template engine when somebody looks for the first time. That is outside of
what is compared: each run begins with one look.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.connectors import OurConnector
from benchmarks.probes.browsers import PAUSE_S
from benchmarks.process import STOP_SECONDS, RunFailed, say, usage_of
from benchmarks.replay import DATABASE, LIMIT_S, TABLES
from benchmarks.rounds import rounds
from benchmarks.stack import stack
from benchmarks.watch import PROBES, Phase, Topics, watch
from local_stack.server import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from benchmarks.rounds import Round
    from benchmarks.stack import Stack

BROWSERS: Final = 10
# Work that follows the last record has ended.
_SETTLE_S: Final = 3.0
_START_S: Final = 30.0
_LOOK_S: Final = 0.05


@dataclass
class _Looks:
    """When each browser got its pages, in seconds."""

    pages: list[list[float]] = field(default_factory=list)

    @property
    def counts(self) -> list[int]:
        """How many pages each browser has got."""
        return [len(times) for times in self.pages]

    @property
    def period_s(self) -> float:
        """From a page to the next one, on average, for the browser that waited longest."""
        return max((times[-1] - times[0]) / (len(times) - 1) for times in self.pages)


@dataclass(frozen=True)
class _Run:
    """The figures of a run."""

    rate: float  # messages a second
    cpu_us: float  # of a message
    idle: float  # the share of a core
    looks: _Looks


def measure_page(
    home: Home,
    data: dict[str, DataFile],
    runs: int,
    seconds: float,
    compiled: Literal["require", "off"],
) -> dict[str, Any]:
    """Return rates with and without browsers, their ratio, and what the page costs in CPU time."""
    found: dict[bool, list[_Run]] = {False: [], True: []}
    with stack(home) as servers:
        for turn in rounds(runs):
            # The second of two runs finds what the first has warmed.
            for is_open in (False, True) if turn.number % 2 else (True, False):
                name = f"page{turn.number}{'open' if is_open else 'closed'}"
                run = _run(servers, name, data, compiled, seconds, is_open=is_open)
                _tell_run(turn, run)
                if turn.counts:
                    found[is_open].append(run)
    return _summary(found[False], found[True])


def _summary(closed: list[_Run], looked_at: list[_Run]) -> dict[str, Any]:
    """Tell what was found, and return it."""
    pairs = [two.rate / one.rate for one, two in zip(closed, looked_at, strict=True)]
    # The fastest and the cheapest run are those that others on the machine have disturbed least.
    fastest, fastest_open = (max(run.rate for run in runs) for runs in (closed, looked_at))
    cheapest, cheapest_open = (min(run.cpu_us for run in runs) for runs in (closed, looked_at))
    idle, idle_open = (min(run.idle for run in runs) for runs in (closed, looked_at))
    ratio, by_cpu = fastest_open / fastest, cheapest / cheapest_open
    median = statistics.median(pairs)
    period = max(run.looks.period_s for run in looked_at)
    say(
        f"messages a second: {fastest:,.0f} without browsers, {fastest_open:,.0f} with {BROWSERS}: "
        f"{ratio:.3f} times as many; median of the pairs of runs {median:.3f}; by CPU time of a "
        f"message {by_cpu:.3f}"
    )
    say(f"idle: {idle:.2%} of a core without browsers, {idle_open:.2%} with {BROWSERS}")
    say(f"each browser has got a page every {period:.2f} s; a pause between two is {PAUSE_S:g} s")
    return {
        "rates": {"closed": [one.rate for one in closed], "open": [one.rate for one in looked_at]},
        "cpu_us": {
            "closed": [one.cpu_us for one in closed],
            "open": [one.cpu_us for one in looked_at],
        },
        "ratio": ratio,
        "median_ratio": median,
        "ratio_by_cpu": by_cpu,
        "idle": {"closed": idle, "open": idle_open},
        "pages": [one.looks.counts for one in looked_at],
        "period_s": period,
    }


def _tell_run(turn: Round, run: _Run) -> None:
    counts = run.looks.counts
    who = "nobody looks"
    if counts:
        who = (
            f"{min(counts)} to {max(counts)} pages for each of {BROWSERS} browsers, one every "
            f"{run.looks.period_s:.2f} s or sooner"
        )
    say(
        f"{turn}: {run.rate:,.0f} messages/s, {run.cpu_us:.2f} µs of CPU time for each, "
        f"idle {run.idle:.2%}; {who}"
    )


def _run(
    servers: Stack,
    name: str,
    data: dict[str, DataFile],
    compiled: Literal["require", "off"],
    seconds: float,
    *,
    is_open: bool,
) -> _Run:
    listen = f"{HOST}:{free_port()}"
    connector = OurConnector(servers, name, DATABASE, compiled, f'[metrics]\nlisten = "{listen}"\n')
    counts = data["oltp"].counts
    expected = counts.changes + counts.deletes + data["bulk"].counts.changes
    topics = Topics(servers.bootstrap, connector.topics(TABLES))
    try:
        connector.start(data["oltp"].path.name)
        address = f"http://{listen}/"
        _wait_for(address)
        with _browsers(address, BROWSERS if is_open else 0) as looks:
            samples = watch(connector, topics, expected, LIMIT_S)
            time.sleep(_SETTLE_S)
            before = usage_of(connector.pid).cpu_s
            time.sleep(seconds)
            idle = (usage_of(connector.pid).cpu_s - before) / seconds
    finally:
        connector.stop()
        topics.close()
    figures = Phase.of(samples, samples[0].count, expected).document()
    return _Run(figures["messages_per_s"], figures["cpu_us_per_message"], idle, looks)


@contextmanager
def _browsers(address: str, count: int) -> Iterator[_Looks]:
    """Let so many browsers look at the page, and count how often they did.

    Raises RunFailed if one of them got no page.
    """
    looks = _Looks()
    if not count:
        yield looks
        return
    command = [sys.executable, str(PROBES / "browsers.py"), address, str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        yield looks
        process.terminate()
        printed, _ = process.communicate(timeout=STOP_SECONDS)
        if process.returncode:
            reason = "the page was not served"
            raise RunFailed(reason)
        looks.pages = json.loads(printed)
    finally:
        process.kill()
        process.wait()


def _wait_for(address: str) -> None:
    """Wait until the page is served."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            urllib.request.urlopen(address, timeout=_START_S).close()
        except OSError as error:
            if time.monotonic() > deadline:
                reason = f"{address}: {error}"
                raise RunFailed(reason) from error
            time.sleep(_LOOK_S)
        else:
            return

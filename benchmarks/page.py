"""What the open status page costs: the same stream with and without ten browsers that look at it.

*Throughput.* The connector reads the oltp file to its end, as in `replay`. Runs with and without
browsers take turns, so that a machine that others use slows down both.
*Idle.* Nothing is written for a while: CPU time of the process.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from benchmarks.connectors import OurConnector
from benchmarks.process import RunFailed, say, usage_of
from benchmarks.replay import DATABASE, LIMIT_S, TABLES
from benchmarks.stack import stack
from benchmarks.watch import PROBES, Phase, Topics, watch
from local_stack.managed_server import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from benchmarks.stack import Stack

BROWSERS: Final = 10
# The first pages are made, and the curve has points.
_SETTLE_S: Final = 3.0
_START_S: Final = 30.0
_LOOK_S: Final = 0.05


def measure_page(
    home: Home,
    data: dict[str, DataFile],
    runs: int,
    seconds: float,
    compiled: Literal["require", "off"],
) -> dict[str, Any]:
    """Return rates with and without browsers, their ratio, and what the page costs in CPU time."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    cpu: dict[bool, list[float]] = {False: [], True: []}
    idle: dict[bool, float] = {}
    with stack(home) as servers:
        for number in range(runs):
            # The second of two runs finds what the first has warmed.
            for is_open in (False, True) if number % 2 == 0 else (True, False):
                name = f"page{number}{'open' if is_open else 'closed'}"
                say(f"run {number + 1}: {f'{BROWSERS} browsers' if is_open else 'nobody looks'}")
                phase, share = _run(servers, name, data, compiled, seconds, is_open=is_open)
                rates[is_open].append(phase["messages_per_s"])
                cpu[is_open].append(phase["cpu_us_per_message"])
                idle[is_open] = min(share, idle.get(is_open, share))
    # The fastest and the cheapest run are those that others on the machine have disturbed least.
    best = {is_open: max(found) for is_open, found in rates.items()}
    cheapest = {is_open: min(found) for is_open, found in cpu.items()}
    ratio, by_cpu = best[True] / best[False], cheapest[False] / cheapest[True]
    say(
        f"messages a second: {best[False]:,.0f} without browsers, {best[True]:,.0f} with "
        f"{BROWSERS}: {ratio:.3f} times as many; by CPU time of a message {by_cpu:.3f}"
    )
    say(f"idle: {idle[False]:.2%} of a core without browsers, {idle[True]:.2%} with {BROWSERS}")
    return {"rates": rates, "cpu_us": cpu, "ratio": ratio, "ratio_by_cpu": by_cpu, "idle": idle}


def _run(
    servers: Stack,
    name: str,
    data: dict[str, DataFile],
    compiled: Literal["require", "off"],
    seconds: float,
    *,
    is_open: bool,
) -> tuple[dict[str, float], float]:
    """Return the figures of the oltp file, and the share of a core that the idle process uses."""
    listen = f"{HOST}:{free_port()}"
    connector = OurConnector(servers, name, DATABASE, compiled, f'[metrics]\nlisten = "{listen}"\n')
    counts = data["oltp"].counts
    expected = counts.changes + counts.deletes
    topics = Topics(servers.bootstrap, connector.topics(TABLES))
    try:
        connector.start(data["oltp"].path.name)
        with _browsers(listen, BROWSERS if is_open else 0):
            samples = watch(connector, topics, expected + data["bulk"].counts.changes, LIMIT_S)
            time.sleep(_SETTLE_S)
            before = usage_of(connector.pid).cpu_s
            time.sleep(seconds)
            share = (usage_of(connector.pid).cpu_s - before) / seconds
    finally:
        connector.stop()
        topics.close()
    return Phase.of(samples, 0, expected).document(), share


@contextmanager
def _browsers(listen: str, count: int) -> Iterator[None]:
    """Let so many browsers look at the page. Raises RunFailed if one of them got no page."""
    if not count:
        yield
        return
    _wait_for(f"http://{listen}/")
    command = [sys.executable, str(PROBES / "browsers.py"), f"http://{listen}/", str(count)]
    process = subprocess.Popen(command)
    try:
        yield
        if process.poll() is not None:
            reason = "the page was not served"
            raise RunFailed(reason)
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

"""Faults of a pipeline of Debezium, and the proof that none of them is taken for a difference.

    python -m tests.integration.verification.foreign_chaos --minutes 20 --changes 300

Processes of the pipeline are killed or stand still, and servers are restarted, under a load, while
`verify --table` compares the table with its copy again and again. The copy lags then, and after a
restart Debezium writes old values again for a while. A row that will be right is no difference:
the program fails at the first one. In the end, rows are damaged, and all of them must be found.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.process import beside
from local_stack.postgresql import connect_postgresql
from tests.integration.verification.damage import Load, reserved
from tests.integration.verification.debezium_sink import both_sides

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from local_stack.server import Server
    from tests.debezium.clients.sink import Sink
    from tests.integration.verification.damage import Copy
    from tests.integration.verification.debezium_sink import Sides

_ROWS: Final = 20_000
_DAMAGED: Final = 200
# A pass waits for rows that lag, and begins again where a server is away for long.
_MINUTES_OF_A_PASS: Final = 4
_PAUSE_SECONDS: Final = (2.0, 15.0)
_STILL_SECONDS: Final = (2.0, 10.0)


def _kill(process: Sink | Server) -> None:
    process.kill()
    process.start()


def _revive(sides: Sides) -> None:
    """Start what has failed by the fault of another one, as a supervisor does."""
    for worker in (sides.source, sides.sink):
        try:
            worker.check()
        except RuntimeError:
            _kill(worker)


def _pause(worker: Sink, dice: random.Random) -> None:
    worker.pause(dice.uniform(*_STILL_SECONDS))


_FAULTS: Final[dict[str, Callable[[Sides, random.Random], object]]] = {
    "Debezium's source killed": lambda sides, _: _kill(sides.source),
    "sink killed": lambda sides, _: _kill(sides.sink),
    "Debezium's source stands still": lambda sides, dice: _pause(sides.source, dice),
    "sink stands still": lambda sides, dice: _pause(sides.sink, dice),
    "broker killed": lambda sides, _: _kill(sides.servers.kafka),
    "MySQL killed": lambda sides, _: _kill(sides.servers.mysql),
    "PostgreSQL restarted": lambda sides, _: sides.postgresql.restart(),
}


class _Watch:
    """Compares again and again."""

    def __init__(self, copy: Copy, lag: float) -> None:
        self._copy = copy
        # A pass waits for rows that lag, and for those that are changed meanwhile.
        self._seconds = 4 * lag + 200
        self._words = ("--lag", str(lag), "--max-differences", "5000")
        self.wrong: list[object] = []
        # Passes, by the code of their error.
        self.passes: Counter[str] = Counter()
        self.lagging_rows = 0
        self.oldest_lag = 0.0

    def run(self, ended: threading.Event) -> None:
        """Compare until it is told to end, or has found a difference."""
        while not (ended.is_set() or self.wrong):
            self._compare()

    def _compare(self) -> None:
        try:
            report = self._copy.table.report(
                *self._words, target=self._copy.target, seconds=self._seconds
            )
        except AssertionError as refused:
            if "[S101]" not in str(refused):
                raise
            # It begins while the source is away: it ends at once, for the address may be wrong.
            self.passes["S101 at the start"] += 1
            return
        error = report["error"]
        self.passes[str(error)[:90] if error else "whole"] += 1
        self.wrong += report["differences"]
        self.lagging_rows += report["lagging_rows"]
        self.oldest_lag = max(self.oldest_lag, report["oldest_lag_seconds"])


def _strike(sides: Sides, watch: _Watch, minutes: float, dice: random.Random) -> Counter[str]:
    """Let faults strike for so long, and return them."""
    struck: Counter[str] = Counter()
    ends_at = time.monotonic() + minutes * 60
    while time.monotonic() < ends_at and not watch.wrong:
        name = dice.choice(list(_FAULTS))
        print(f"{ends_at - time.monotonic():5.0f} s left: {name}", flush=True)
        _FAULTS[name](sides, dice)
        struck[name] += 1
        time.sleep(dice.uniform(*_PAUSE_SECONDS))
        _revive(sides)
    return struck


def main() -> int:
    """Run, and return 1 if a difference was named that is none, or a real one was not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--changes", type=int, default=300, help="a second")
    parser.add_argument("--lag", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as name, both_sides(Path(name), _ROWS) as sides:
        with connect_postgresql(sides.postgresql.endpoint) as connection:
            copy = sides.copy(connection)
            copy.wait(f"count(*) = {_ROWS}")
        load = Load(sides.table, range(reserved(_DAMAGED) + 1, _ROWS), given.changes)
        watch = _Watch(copy, given.lag)
        with beside(load.run), beside(watch.run):
            struck = _strike(sides, watch, given.minutes, random.Random(given.seed))
        print(f"{load.changes} changes, {sum(struck.values())} faults: {dict(struck)}")
        print(f"passes: {dict(watch.passes)}; rows that lagged: {watch.lagging_rows}, ", end="")
        print(f"the longest for {watch.oldest_lag:.0f} s", flush=True)
        if watch.wrong or watch.passes["whole"] < given.minutes / _MINUTES_OF_A_PASS:
            print(f"too few passes, or what is no difference: {watch.wrong[:5]}")
            return 1
        _revive(sides)
        sides.table.execute(f"UPDATE orders SET note = 'last' WHERE id > {_ROWS - 10}")
        with connect_postgresql(sides.postgresql.endpoint) as connection:
            copy = sides.copy(connection, lambda: _revive(sides))
            copy.wait("count(CASE WHEN note = 'last' THEN 1 END) > 0")
            expected = copy.inject(_DAMAGED)
        time.sleep(given.lag + 1)
        report = sides.table.report("--lag", str(given.lag), target=copy.target)
        found = {each["key"]["id"] for each in report["differences"]}
        print(f"{len(found & expected.keys())} of {len(expected)} damaged rows found", flush=True)
    return int(found != expected.keys())


if __name__ == "__main__":
    sys.exit(main())

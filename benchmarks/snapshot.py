"""A table that is there already: its rows through a connector into a broker on the same machine.

The table has ten columns and a million rows. Each connector starts without progress, copies it, and
is watched from the last moment without a record until the last record is visible to read_committed
consumers. Ours reads in pieces while it follows the log; Debezium reads the table at once, in one
transaction. The warm-up of each is read back and counted.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.builds import Builds, Missing
from benchmarks.connectors import OurConnector
from benchmarks.debezium import SNAPSHOT, DebeziumConnector
from benchmarks.process import RunFailed, say
from benchmarks.rounds import rounds
from benchmarks.stack import stack
from benchmarks.watch import Phase, Topics, count_records, watch
from benchmarks.workload.session import session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.stack import Stack

    Copier = OurConnector | DebeziumConnector

DATABASE = "shop"
TABLE = "shop.orders"
LIMIT_S = 600.0


def measure_snapshot(home: Home, runs: int, compiled: Literal["require", "off"]) -> dict[str, Any]:
    """Return the figures of both connectors; raises RunFailed."""
    measured: dict[str, dict[str, Any]] = {}
    with stack(home) as servers:
        with session(servers.source) as connection:
            ((counted,),) = connection.rows(f"SELECT COUNT(*) FROM {TABLE}")
        rows = int(str(counted))
        for turn in rounds(runs):
            for key, make in _makers(servers, compiled).items():
                connector = make(f"{key}copy{turn.number}")
                say(f"snapshot, {turn}: {connector.name}")
                found = _run_once(servers, connector, rows, count=not turn.counts)
                if turn.counts:
                    _merge(measured.setdefault(key, {"name": connector.name}), found)
    return {"connectors": measured, "rows": rows, "compiled": compiled == "require"}


def _makers(
    servers: Stack, compiled: Literal["require", "off"]
) -> dict[str, Callable[[str], Copier]]:
    found: dict[str, Callable[[str], Copier]] = {
        "ours": lambda prefix: OurConnector(servers, prefix, DATABASE, compiled)
    }
    try:
        jars = Builds(servers.home.cache).connect()
        found["debezium"] = lambda prefix: DebeziumConnector(
            servers, prefix, DATABASE, jars, SNAPSHOT
        )
    except Missing as missing:
        say(f"skipped {missing}")
    return found


def _run_once(servers: Stack, connector: Copier, rows: int, *, count: bool) -> dict[str, Any]:
    names = connector.topics([TABLE])
    topics = Topics(servers.bootstrap, names)
    try:
        connector.copy(TABLE)
        samples = watch(connector, topics, rows, LIMIT_S)
    finally:
        connector.stop()
        topics.close()
    phase = Phase.of(samples, 0, samples[-1].count)
    result = {
        "rows_per_s": rows / phase.wall_s,
        "cpu_us_per_row": phase.cpu_s / rows * 1e6,
        "peak_mb": samples[-1].usage.peak_mb,
    }
    if count:
        python = Builds(servers.home.cache).python()
        found = count_records(python, servers.bootstrap, names)
        if found != {"r": rows}:
            reason = f"{connector.name}: {found} records are in Kafka, {rows} rows in the table"
            raise RunFailed(reason)
    return result


def _merge(measured: dict[str, Any], run: dict[str, Any]) -> None:
    """Add a run: the rate of the fastest and the median, the CPU time of the cheapest."""
    rates = measured.setdefault("rates", [])
    rates.append(run["rows_per_s"])
    measured["rows_per_s"] = max(rates)
    measured["median_rows_per_s"] = statistics.median(rates)
    for key, choose in (("cpu_us_per_row", min), ("peak_mb", max)):
        measured[key] = choose(measured.get(key, run[key]), run[key])

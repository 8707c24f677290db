"""End to end: the binlogs of a live server through a connector into a broker on the same machine.

Every connector starts at the first event of the oltp file and is watched until the last record of
the bulk file is visible to read_committed consumers. Ours writes in Kafka transactions, with its
progress in them; the others do not. The warm-up of each is read back and counted.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.builds import Builds, Missing
from benchmarks.connectors import Connector, GoConnector, OurConnector
from benchmarks.debezium import TUNED, DebeziumConnector
from benchmarks.process import RunFailed, say
from benchmarks.rounds import rounds
from benchmarks.stack import stack
from benchmarks.watch import Phase, Topics, count_records, watch
from benchmarks.workload.generate import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from benchmarks.stack import Stack

DATABASE = "shop"
TABLES = WORKLOADS["bulk"].tables
LIMIT_S = 600.0


def makers(
    stack: Stack, compiled: Literal["require", "off"], *, linger_ms: int = 20
) -> dict[str, Callable[[str, str], Connector]]:
    """Return what makes each connector from a prefix and a database; tells of missing ones.

    `linger_ms` is the Go program's.
    """
    builds = Builds(stack.home.cache)
    found: dict[str, Callable[[str, str], Connector]] = {
        "ours": lambda prefix, database: OurConnector(stack, prefix, database, compiled)
    }
    try:
        program = builds.go() / "stream"
        found["go"] = lambda prefix, database: GoConnector(
            stack, prefix, database, program, linger_ms=linger_ms
        )
    except Missing as missing:
        say(f"skipped {missing}")
    try:
        jars = builds.connect()
        found["debezium"] = lambda prefix, database: DebeziumConnector(
            stack, prefix, database, jars, TUNED
        )
    except Missing as missing:
        say(f"skipped {missing}")
    return found


def measure_replay(
    home: Home, data: dict[str, DataFile], runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of all connectors; raises RunFailed."""
    measured: dict[str, dict[str, Any]] = {}
    with stack(home) as servers:
        chosen = makers(servers, compiled)
        for turn in rounds(runs):
            for key, make in chosen.items():
                connector = make(f"{key}{turn.number}", DATABASE)
                say(f"end to end, {turn}: {connector.name}")
                run = run_once(servers, connector, data, count=not turn.counts)
                if turn.counts:
                    merge(measured[key], run)
                else:
                    measured[key] = {"name": connector.name, "records": run["records"]}
    return {"connectors": measured, "compiled": compiled == "require"}


def run_once(
    servers: Stack, connector: Connector, data: dict[str, DataFile], *, count: bool
) -> dict[str, Any]:
    """Return the figures of one run over both files; `count` reads back what was written."""
    oltp, bulk = data["oltp"].counts, data["bulk"].counts
    names = connector.topics(TABLES)
    tombstones = oltp.deletes if connector.tombstones else 0
    first = oltp.changes + tombstones
    expected = first + bulk.changes
    topics = Topics(servers.bootstrap, names)
    try:
        connector.start(data["oltp"].path.name)
        samples = watch(connector, topics, expected, LIMIT_S)
    finally:
        connector.stop()
        topics.close()
    result: dict[str, Any] = {
        "oltp": Phase.of(samples, 0, first).document(),
        "bulk": Phase.of(samples, first, samples[-1].count).document(),
        "peak_mb": samples[-1].usage.peak_mb,
    }
    if count:
        python = Builds(servers.home.cache).python()
        found = count_records(python, servers.bootstrap, names)
        wanted = {
            "c": oltp.inserts + bulk.inserts,
            "u": oltp.updates + bulk.updates,
            "d": oltp.deletes,
            "tombstones": tombstones,
        }
        if any(found.get(kind, 0) != number for kind, number in wanted.items()):
            reason = f"{connector.name}: {found} records are in Kafka, {wanted} are in the log"
            raise RunFailed(reason)
        result["records"] = found
    return result


def merge(measured: dict[str, Any], run: dict[str, Any]) -> None:
    """Add a run: the rate of the fastest and the median, the CPU time of the cheapest."""
    measured["peak_mb"] = max(measured.get("peak_mb", 0.0), run["peak_mb"])
    for phase in ("oltp", "bulk"):
        into = measured.setdefault(phase, {"rates": [], "cpu": []})
        into["rates"].append(run[phase]["messages_per_s"])
        into["cpu"].append(run[phase]["cpu_us_per_message"])
        into["messages_per_s"] = max(into["rates"])
        into["median_messages_per_s"] = statistics.median(into["rates"])
        into["cpu_us_per_message"] = min(into["cpu"])

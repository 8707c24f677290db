"""What has to be reached, and whether the last run has reached it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.decode import FILTERED, UNFILTERED

if TYPE_CHECKING:
    from collections.abc import Iterator

RUST, GO = "Rust mysql_common json", "go-mysql json"
JAVA = "mysql-binlog-connector-java json, warm"
PMR = "python-mysql-replication"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on one figure."""

    what: str
    wanted: float
    measured: float
    unit: str = "x"
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure is within the bound."""
        if self.at_most:
            return self.measured <= self.wanted
        return self.measured >= self.wanted

    def row(self) -> list[str]:
        """Return the cells of a table."""
        bound = f"{'≤' if self.at_most else '≥'} {self.wanted:g} {self.unit}"
        return [self.what, bound, f"{self.measured:.3g} {self.unit}", "yes" if self.met else "no"]


def targets(results: dict[str, dict[str, Any] | None]) -> list[Target]:
    """Return the targets whose figures were measured; `results` are those of the subcommands."""
    found: list[Target] = []
    if decode := results.get("decode"):
        found += _decode(decode["files"])
    if replay := results.get("replay"):
        found += _replay(replay["connectors"])
    if live := results.get("live"):
        found += _live(live["connectors"]["ours"])
    if snapshot := results.get("snapshot"):
        found += _snapshot(snapshot["connectors"])
    if memory := results.get("memory"):
        ratio = memory["rss_mb_at_the_end"] / memory["rss_mb_at_a_tenth"]
        what = f"RSS at {memory['rows']:,} rows, to that at a tenth"
        found.append(Target(what, 1.1, ratio, at_most=True))
    if large := results.get("large"):
        found += _large(large)
    if mirror := results.get("mirror"):
        found += _mirror(mirror)
    return found


def _decode(files: dict[str, Any]) -> Iterator[Target]:
    def rate(file: str, decoder: str) -> float | None:
        found = files[file]["decoders"].get(decoder)
        return None if found is None else float(found["rows_per_s"])

    def ratio(what: str, file: str, ours: str, wanted: float, *rivals: str) -> Iterator[Target]:
        mine = rate(file, f"binlog-connector {ours}")
        theirs = [each for name in rivals if (each := rate(file, name)) is not None]
        if mine is not None and theirs:
            yield Target(f"{file}: {what}", wanted, mine / max(theirs))

    yield from ratio(f"envelope to {RUST}", "oltp", "envelope", 1.5, RUST)
    yield from ratio(f"envelope to {GO}", "oltp", "envelope", 2, GO)
    yield from ratio(f"envelope to {JAVA}", "oltp", "envelope", 2.5, JAVA)
    yield from ratio(f"envelope to {PMR} json", "oltp", "envelope", 60, f"{PMR} json")
    yield from ratio(
        "envelope to the best of Rust, Go, Java", "bulk", "envelope", 1.3, RUST, GO, JAVA
    )
    for file in ("oltp", "bulk"):
        yield from ratio(f"values to {PMR} decode", file, "values", 20, f"{PMR} decode")
        yield from ratio("to_arrow() to go-mysql decode", file, "arrow", 1, "go-mysql decode")
    filtered = files["fleet"]["decoders"]
    speeds = [filtered[name]["mb_per_s"] for name in (FILTERED, UNFILTERED)]
    yield Target("fleet: MB/s with 1 % of the tables followed, to all", 4, speeds[0] / speeds[1])


def _replay(connectors: dict[str, Any]) -> Iterator[Target]:
    ours = connectors["ours"]
    for phase, cpu_max in (("oltp", 10), ("bulk", 8)):
        for key, wanted in (("debezium", 4), ("go", 1)):
            if key in connectors:
                theirs = connectors[key][phase]["messages_per_s"]
                what = f"{phase}: end to end, to {connectors[key]['name']}"
                yield Target(what, wanted, ours[phase]["messages_per_s"] / theirs)
        cpu = ours[phase]["cpu_us_per_message"]
        yield Target(f"{phase}: end to end, CPU a message", cpu_max, cpu, "µs", at_most=True)
    yield Target("end to end, peak RSS", 200, ours["peak_mb"], "MB", at_most=True)


def _snapshot(connectors: dict[str, Any]) -> Iterator[Target]:
    ours = connectors["ours"]["rows_per_s"]
    yield Target("snapshot, thousand rows a second", 150, ours / 1000, "k/s")
    if "debezium" in connectors:
        theirs = connectors["debezium"]
        yield Target(f"snapshot, to {theirs['name']}", 5, ours / theirs["rows_per_s"])


def _live(ours: dict[str, Any]) -> Iterator[Target]:
    for name, bound, unit, measured in (
        ("latency at 200 transactions a second, p50", 5.0, "ms", ours["slow"]["p50_ms"]),
        ("latency at 200 transactions a second, p99", 20.0, "ms", ours["slow"]["p99_ms"]),
        ("first message after the start of the process", 1.5, "s", ours["start_s"]),
        ("idle, share of a core", 1.0, "%", ours["idle"]["cpu_percent"]),
        ("idle, RSS", 100.0, "MB", ours["idle"]["rss_mb"]),
    ):
        yield Target(name, bound, measured, unit, at_most=True)


def _large(large: dict[str, Any]) -> Iterator[Target]:
    deep, wide = large["deep"], large["wide"]
    what = f"peak RSS of one transaction of {deep['rows']:,} rows"
    yield Target(what, 200, deep["peak_mb"], "MB", at_most=True)
    what = f"peak RSS of one event of {wide['event_mb']:.0f} MiB, to its size"
    yield Target(what, 2.5, wide["peak_mb"] / wide["event_mb"], at_most=True)


def _mirror(mirror: dict[str, Any]) -> Iterator[Target]:
    hot, many = mirror["hot"]["jobs"], mirror["many"]["jobs"]
    for key, title, hot_wanted, many_wanted in (
        ("recipe", "the recipe with defaults", 10, 30),
        ("tuned", "the recipe with settings for small merges", 6, 20),
    ):
        if key in hot:
            ratio = hot[key]["seconds"] / hot["ours"]["seconds"]
            yield Target(f"mirror, hot table, to {title}", hot_wanted, ratio)
        if key in many:
            ratio = many[key]["batch_s"] / many["ours"]["batch_s"]
            yield Target(
                f"mirror, {mirror['many']['tables']} tables, to {title}", many_wanted, ratio
            )
    ours = hot["ours"]
    yield Target("mirror, hot table, CPU a change", 25, ours["cpu_us"], "µs", at_most=True)
    yield Target("mirror, hot table, peak RSS", 2048, ours["peak_mb"], "MB", at_most=True)
    yield Target("mirror, a batch of many tables", 5, many["ours"]["batch_s"], "s", at_most=True)

"""What has to be reached, and whether the last run has reached it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import tools as of_tools
from benchmarks.decode import FILTERED, UNFILTERED

if TYPE_CHECKING:
    from collections.abc import Iterator

RUST, RUST_JSON, GO = "Rust mysql_common", "Rust mysql_common json", "go-mysql json"
# With the fastest allocator of those that were tried.
MIMALLOC = f"{RUST_JSON}, mimalloc"
JAVA = "mysql-binlog-connector-java json, warm"
PMR = "python-mysql-replication"
# From here on, a figure has no digits after the point that are worth reading.
_WHOLE = 1000


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
        figure = f"{self.measured:,.0f}" if self.measured >= _WHOLE else f"{self.measured:.3g}"
        return [self.what, bound, f"{figure} {self.unit}", "yes" if self.met else "no"]


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
    if verify := results.get("verify"):
        found += verify_targets(verify)
    return found


def verify_targets(verify: dict[str, Any]) -> list[Target]:
    """Return the targets of `verify`."""
    wanted = {
        "sums": ("by checksum", 600),
        "sums_full": ("by checksum at full pace", 600),
        "row_by_row": ("row by row", 80),
    }
    found = [
        Target(f"verify, {how}, thousand rows/s", bound, verify[key]["rows_per_s"] / 1000, "k/s")
        for key, (how, bound) in wanted.items()
    ]
    foreign = {"foreign_debezium": "Debezium's forms in Delta", "foreign_typed": "Parquet files"}
    for key, how in foreign.items():
        if (figures := verify.get(key)) is not None:
            what = f"verify, {verify['rows']:,} rows of another program, {how}"
            found.append(Target(what, 60, figures["wall_s"], "s", at_most=True))
    return found


def first_row_target(found: dict[str, Any]) -> Target:
    """Return the target of the two commands that install and start `up`."""
    what = "up, from an empty environment to the first row, packages cached"
    return Target(what, 40, found["install_s"] + found["up_s"], "s", at_most=True)


def lake_targets(lake: dict[str, Any]) -> Iterator[Target]:
    """Yield the targets of `up`, and of the same pipeline through Kafka."""
    up, through_kafka = lake["folder"], lake["kafka"]
    at_rate = f"from the commit to the row at {up['latency']['rate_per_s']}/s"
    for name, bound, unit, measured in (
        (f"up, {at_rate}, p50", 0.35, "s", up["latency"]["p50_s"]),
        (f"up, {at_rate}, p95", 0.7, "s", up["latency"]["p95_s"]),
        (f"through Kafka, {at_rate}, p50", 0.5, "s", through_kafka["latency"]["p50_s"]),
        (f"through Kafka, {at_rate}, p95", 0.9, "s", through_kafka["latency"]["p95_s"]),
        ("up, memory, sum of RSS", 1000, "MB", up["rss_mb"]),
        ("up, memory, PSS", 1000, "MB", up["pss_mb"]),
        ("up, idle, share of a core", 1.5, "%", up["idle"]["cpu_percent"]),
        ("up, CPU a change", 250, "µs", up["latency"]["cpu_us"]),
    ):
        yield Target(name, bound, measured, unit, at_most=True)
    for phase, rates in lake["into_log"].items():
        what = f"{phase}: into the log in a folder, to that into Kafka"
        yield Target(what, 1.2, rates["folder"] / rates["kafka"])
    if "first_row" in lake:
        yield first_row_target(lake["first_row"])


def _decode(files: dict[str, Any]) -> Iterator[Target]:
    def rate(file: str, decoder: str) -> float | None:
        found = files[file]["decoders"].get(decoder)
        return None if found is None else float(found["rows_per_s"])

    def ratio(what: str, file: str, ours: str, wanted: float, *rivals: str) -> Iterator[Target]:
        mine = rate(file, f"binlog-connector {ours}")
        theirs = [each for name in rivals if (each := rate(file, name)) is not None]
        if mine is not None and theirs:
            yield Target(f"{file}: {what}", wanted, mine / max(theirs))

    yield from ratio(f"envelope to {RUST_JSON}", "oltp", "envelope", 1.5, RUST_JSON)
    yield from ratio(f"envelope to {MIMALLOC}", "oltp", "envelope", 1.8, MIMALLOC)
    yield from ratio(f"envelope to {GO}", "oltp", "envelope", 2, GO)
    yield from ratio(f"envelope to {JAVA}", "oltp", "envelope", 2.5, JAVA)
    yield from ratio(f"envelope to {PMR} json", "oltp", "envelope", 60, f"{PMR} json")
    yield from ratio(
        "envelope to the best of Rust, Go, Java",
        "bulk",
        "envelope",
        1.3,
        *(RUST_JSON, MIMALLOC, GO, JAVA),
    )
    for file in ("oltp", "bulk"):
        yield from ratio(f"values to {PMR} decode", file, "values", 20, f"{PMR} decode")
        yield from ratio("to_arrow() to go-mysql decode", file, "arrow", 1, "go-mysql decode")
    yield from ratio(f"values to {RUST} decode", "oltp", "values", 1.3, f"{RUST} decode")
    yield from ratio(f"events to {RUST} events", "oltp", "parse", 0.6, f"{RUST} events")
    filtered = files["fleet"]["decoders"]
    speeds = [filtered[name]["mb_per_s"] for name in (FILTERED, UNFILTERED)]
    yield Target("fleet: MB/s with 1 % of the tables followed, to all", 4, speeds[0] / speeds[1])


def _replay(connectors: dict[str, Any]) -> Iterator[Target]:
    ours = connectors["ours"]
    for phase, cpu_max, to_go in (("oltp", 10, 1.9), ("bulk", 8, 1.5)):
        for key, wanted in (("debezium", 4), ("go", to_go)):
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
    slow = ours["slow"]
    # Microseconds in a second, as a percentage.
    percent = slow["cpu_us_per_message"] * slow["rate_per_s"] / 1e4
    for name, bound, unit, measured in (
        ("latency at 200 transactions a second, p50", 1.8, "ms", slow["p50_ms"]),
        ("latency at 200 transactions a second, p99", 5.0, "ms", slow["p99_ms"]),
        ("200 transactions a second, share of a core", 9.0, "%", percent),
        ("first message after the start of the process", 1.5, "s", ours["start_s"]),
        ("idle, share of a core", 0.2, "%", ours["idle"]["cpu_percent"]),
        ("idle, RSS", 65.0, "MB", ours["idle"]["rss_mb"]),
    ):
        yield Target(name, bound, measured, unit, at_most=True)


def _large(large: dict[str, Any]) -> Iterator[Target]:
    deep, wide = large["deep"], large["wide"]
    what = f"peak RSS of one transaction of {deep['rows']:,} rows"
    yield Target(what, 200, deep["peak_mb"], "MB", at_most=True)
    what = f"peak RSS of one event of {wide['event_mb']:.0f} MiB, to its size"
    yield Target(what, 2.5, wide["peak_mb"] / wide["event_mb"], at_most=True)


def tools_targets(tools: dict[str, Any]) -> Iterator[Target]:
    """Yield the targets of the commands that were measured beside their rivals."""
    commands = tools["commands"]

    def seconds(name: str) -> float | None:
        """Return the processor seconds for a megabyte of the log."""
        found = commands.get(name)
        return None if found is None else float(found["cpu_s"] / found["mb"])

    for name, rival, wanted, at_most in (
        ("text", of_tools.VERBOSE, 1.2, False),
        ("envelope", of_tools.GO, 2, False),
        ("envelope", of_tools.BATCHES, 2, True),
        ("json", of_tools.GO, 1.5, False),
        ("events", of_tools.PLAIN, 0.5, True),
        (of_tools.STAT, of_tools.PLAIN_TO_NULL, 0.3, True),
        (of_tools.FLASHBACK, of_tools.PMR, 30, False),
    ):
        mine, theirs = seconds(name), seconds(rival)
        if mine is not None and theirs is not None:
            what = f"{name}, {'time' if at_most else 'speed'} to that of {rival}"
            ratio = mine / theirs if at_most else theirs / mine
            yield Target(what, wanted, ratio, at_most=at_most)
    for name in (*of_tools.FORMATS, of_tools.FLASHBACK):
        whole, part = seconds(name), seconds(of_tools.FILTERED.format(name))
        if whole is not None and part is not None:
            yield Target(f"{name} with 1 % of the rows, speed to that of all", 4, whole / part)


def mirror_targets(mirror: dict[str, Any]) -> Iterator[Target]:
    """Yield the targets of the parts of the mirror that were measured."""
    if "hot" in mirror:
        yield from _mirror_hot(mirror["hot"]["jobs"])
    if "many" in mirror:
        yield from _mirror_many(mirror["many"])
    if "live" in mirror:
        yield from _mirror_live(mirror["live"])
    if "cluster" in mirror:
        own = mirror["cluster"]
        what = "mirror, 2 workers of a cluster to 1"
        yield Target(what, 1.7, own["ratio"])
        yield Target(f"{what}, by the CPU of the busiest", 1.7, own["ratio_of_cpu"])
    if "updates" in mirror:
        own = mirror["updates"]
        what = f"mirror, 1,000 random updates of {own['rows']:,} rows"
        ratio = own["written_mb"] / own["changed_mb"]
        yield Target(f"{what}, written bytes to changed ones", 3, ratio, at_most=True)
        yield Target(f"{what}, a batch", 2, own["batch_s"], "s", at_most=True)
        growth = own["mb_after"] / own["mb_before"]
        what = f"mirror, size after {own['rounds']} such batches, to that before"
        yield Target(what, 1.1, growth, at_most=True)


def _mirror_live(live: dict[str, Any]) -> Iterator[Target]:
    latency = f"mirror, from the commit to the row at {live['latency']['rate_per_s']}/s"
    for name, bound, unit, measured in (
        (f"{latency}, p50", 2.0, "s", live["latency"]["p50_s"]),
        (f"{latency}, p95", 4.0, "s", live["latency"]["p95_s"]),
        ("mirror, idle, share of a core", 2.0, "%", live["idle"]["cpu_percent"]),
        ("mirror, idle, commits", 0.0, "", live["idle"]["commits"]),
        ("mirror, first row after the start of the process", 12.0, "s", live["start_s"]),
    ):
        yield Target(name, bound, measured, unit, at_most=True)


_RECIPES = {
    "recipe": "the recipe with defaults",
    "tuned": "the recipe with settings for small merges",
}


def _mirror_hot(jobs: dict[str, Any]) -> Iterator[Target]:
    for key, wanted in (("recipe", 10), ("tuned", 6)):
        if key in jobs:
            yield Target(f"mirror, hot table, to {_RECIPES[key]}", wanted, jobs[key]["ratio"])
    ours = jobs["ours"]
    yield Target("mirror, hot table, CPU a change", 25, ours["cpu_us"], "µs", at_most=True)
    yield Target("mirror, hot table, peak RSS", 2048, ours["peak_mb"], "MB", at_most=True)


def _mirror_many(many: dict[str, Any]) -> Iterator[Target]:
    jobs = many["jobs"]
    for key, wanted in (("recipe", 30), ("tuned", 20)):
        what = f"mirror, {many['tables']} tables, to {_RECIPES[key]}"
        if key in jobs:
            yield Target(what, wanted, jobs[key]["ratio"])
    ours = jobs["ours"]
    yield Target("mirror, a batch of many tables", 5, ours["batch_s"], "s", at_most=True)
    cpu = ours["cpu_us"]
    yield Target("mirror, many tables, CPU a change", 1000, cpu, "µs", at_most=True)

"""The lines of docs/performance.md between two marks: what a newcomer wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.decode import RIVAL_FILES
from benchmarks.home import REPOSITORY
from benchmarks.markdown import as_fast, table
from benchmarks.process import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAGE = REPOSITORY / "docs" / "performance.md"
BEGIN, END = "<!-- benchmarks: written by make bench -->", "<!-- end of benchmarks -->"

_OURS = "**binlog-connector**"
# Decoders that make JSON or text of every change, and how they are called here.
_DECODERS = {
    "binlog-connector envelope": _OURS,
    "Rust mysql_common json": "mysql_common (Rust)",
    "go-mysql json": "go-mysql (Go)",
    "mysql-binlog-connector-java json, warm": "mysql-binlog-connector-java, warm",
    "mysqlbinlog -v": "mysqlbinlog -v",
    "python-mysql-replication json": "python-mysql-replication",
}
_CONNECTORS = {
    "ours": f"{_OURS}, exactly once",
    "debezium": "Debezium on Kafka Connect, tuned, at least once",
    "debezium_low": "Debezium on Kafka Connect, tuned for latency",
    "go": "go-mysql and franz-go, without checkpoints",
}
_RATES = ["one-row transactions", "binlog-connector is", "bulk", "binlog-connector is"]
_PHASES = ("oltp", "bulk")

_FROM_FILE = (
    "**From a binlog file to JSON records**, rows a second on one core. Ours are complete Kafka "
    "records; mysqlbinlog prints text."
)
_END_TO_END = (
    "**From a live MySQL server to Kafka**, messages a second, with the server and the broker on "
    "the same machine."
)
_WAITING = (
    "**From a commit to a consumer**, in milliseconds, at 200 one-row transactions a second; from "
    "the start of the process to the first message; and what waiting costs."
)
_WHERE = (
    "{cpu}, {cores} cores, {at:.10}. [BENCHMARKS.md](../BENCHMARKS.md) has every mode, file and "
    "version, and what was asked of each program."
)


def update_page(text: str, page: Path = PAGE) -> None:
    """Put `text` between the marks."""
    before, mark, rest = page.read_text().partition(BEGIN)
    if not mark:
        say(f"{page.name} has no line {BEGIN!r}: left as it is")
        return
    _, end, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{end}{after}")


def summary(results: Mapping[str, dict[str, Any] | None]) -> str:
    """Return the tables of what was measured; without any, nothing."""
    parts: list[str] = []
    if decode := results.get("decode"):
        parts += [_FROM_FILE, _decoders(decode["files"])]
    if replay := results.get("replay"):
        parts += [_END_TO_END, _connectors(replay["connectors"])]
    if live := results.get("live"):
        parts += [_WAITING, _live(live["connectors"])]
    if parts:
        known = [result for result in results.values() if result is not None]
        parts.append(_WHERE.format(**max(known, key=lambda each: each["at"])))
    return "\n\n".join(parts)


def _decoders(files: dict[str, Any]) -> str:
    def rates(decoder: str) -> list[float]:
        return [files[file]["decoders"][decoder]["rows_per_s"] for file in RIVAL_FILES]

    there = [name for name in _DECODERS if name in files["oltp"]["decoders"]]
    ours = rates(there[0])
    rows = [_compared(_DECODERS[name], rates(name), ours) for name in there]
    return table(["", *_RATES], rows)


def _connectors(connectors: dict[str, Any]) -> str:
    def rates(key: str) -> list[float]:
        return [connectors[key][phase]["messages_per_s"] for phase in _PHASES]

    ours = rates("ours")
    rows = [
        _compared(name, rates(key), ours) for key, name in _CONNECTORS.items() if key in connectors
    ]
    return table(["", *_RATES], rows)


def _live(connectors: dict[str, Any]) -> str:
    rows = []
    for key, name in _CONNECTORS.items():
        if key in connectors:
            each = connectors[key]
            slow, idle = each["slow"], each["idle"]
            rows.append(
                [
                    name,
                    f"{slow['p50_ms']:.1f}",
                    f"{slow['p99_ms']:.1f}",
                    f"{each['start_s']:.1f} s",
                    f"{idle['cpu_percent']:.1f} % of a core",
                    f"{idle['rss_mb']:,.0f} MB",
                ]
            )
    return table(["", "median", "99 of 100", "start", "idle CPU", "idle memory"], rows)


def _compared(name: str, rates: Sequence[float], ours: Sequence[float]) -> list[str]:
    row = [name]
    for rate, mine in zip(rates, ours, strict=True):
        row += [f"{rate:,.0f}", "" if rate == mine else as_fast(mine / rate)]
    return row

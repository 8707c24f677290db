"""BENCHMARKS.md: every figure, and what was asked of each program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from benchmarks.builds import SOURCES
from benchmarks.decoders import LIMIT_MB
from benchmarks.home import REPOSITORY
from benchmarks.lake_documents import BEGIN as LAKE_BEGIN
from benchmarks.lake_documents import END as LAKE_END
from benchmarks.lake_documents import lake_summary, lake_text
from benchmarks.markdown import as_fast, table
from benchmarks.mirror_documents import (
    block_of,
    has_summary,
    mirror_summary,
    mirror_text,
    put_block,
)
from benchmarks.pace_documents import AFTER as PACE_AFTER
from benchmarks.pace_documents import LAW, PICTURE, pace_text
from benchmarks.pace_picture import pace_picture
from benchmarks.performance_page import END, PAGE, summary, update_page
from benchmarks.process import say
from benchmarks.targets import lake_targets, mirror_targets, targets, tools_targets
from benchmarks.tools_documents import BEGIN as TOOLS_BEGIN
from benchmarks.tools_documents import END as TOOLS_END
from benchmarks.tools_documents import tools_summary, tools_text
from benchmarks.verify_documents import AFTER, README, verify_line, verify_summary, verify_text
from benchmarks.verify_documents import BEGIN as VERIFY_BEGIN
from benchmarks.verify_documents import END as VERIFY_END

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.home import Home

SUBCOMMANDS = (
    "decode",
    "replay",
    "live",
    "snapshot",
    "memory",
    "large",
    "tools",
    "mirror",
    "verify",
    "lake",
)
DOCUMENT = REPOSITORY / "BENCHMARKS.md"

_OURS = "binlog-connector"
# What a program makes of a row.
_RESULTS = {
    "json": "JSON of each change",
    "values": "each value",
    "arrow": "Arrow batches",
    "events": "events",
}
_TITLES = {
    "oltp": "oltp: one-row transactions, 10 columns",
    "bulk": "bulk: statements of 1,000 rows, 10 and 40 columns",
    "text": "text: kilobytes of text and JSON in a row",
    "fleet": "fleet: 100 equal tables, 1 to 19 rows a transaction",
}


def write_report(home: Home, *, publish: bool) -> None:
    """Print the tables of the last results, or with `publish` write both documents."""
    results = {name: _load(home, name) for name in SUBCOMMANDS}
    document = _document(results, home.scale)
    bounds = targets(results)
    if mirror := results["mirror"]:
        bounds += mirror_targets(mirror)
    if tools := results["tools"]:
        bounds += tools_targets(tools)
    if lake := results["lake"]:
        bounds += lake_targets(lake)
    if publish:
        DOCUMENT.write_text(document)
        update_page(summary(results))
        if mirror and has_summary(mirror):
            put_block(PAGE, mirror_summary(mirror), END)
        if tools:
            put_block(PAGE, tools_summary(tools), END)
        write_verify(home)
        if lake:
            put_block(PAGE, lake_summary(lake), END)
        write_pace(home)
    else:
        sys.stdout.write(document)
    missed = [bound.what for bound in bounds if not bound.met]
    say(f"{len(bounds) - len(missed)} of {len(bounds)} targets met")
    for what in missed:
        say(f"not met: {what}")


def write_tools(home: Home) -> None:
    """Write the figures of the tools into both documents, and leave the others there."""
    if tools := home.load("tools"):
        put_block(DOCUMENT, tools_text(tools), "")
        put_block(PAGE, tools_summary(tools), END)


def write_verify(home: Home) -> None:
    """Write the figures of `verify` into all three documents, and leave the others there."""
    if verify := home.load("verify"):
        put_block(DOCUMENT, verify_text(verify), "")
        put_block(PAGE, verify_summary(verify), END)
        put_block(README, verify_line(verify), AFTER)


def write_lake(home: Home) -> None:
    """Write the figures of `up` into both documents, and leave the others there."""
    if lake := _load(home, "lake"):
        put_block(DOCUMENT, lake_text(lake), "")
        put_block(PAGE, lake_summary(lake), END)


def write_pace(home: Home) -> None:
    """Draw the curve of `pace`, and write what it shows into both pages that have it."""
    pace = home.load("pace")
    # An older result has no curve.
    if pace and "rounds" in pace:
        PICTURE.write_text(pace_picture(pace["rounds"]))
        put_block(LAW, pace_text(pace), PACE_AFTER)
        put_block(PAGE, pace_text(pace), VERIFY_END)


def write_mirror(home: Home) -> None:
    """Write the figures of the mirror into both documents, and leave the others there."""
    mirror = home.load("mirror")
    if mirror is None:
        return
    put_block(DOCUMENT, mirror_text(mirror, block_of(DOCUMENT)), "")
    if has_summary(mirror):
        put_block(PAGE, mirror_summary(mirror), END)


def _load(home: Home, name: str) -> dict[str, Any] | None:
    """Return the last result of a subcommand; that of `lake` has the first row with it."""
    found = home.load(name)
    if name == "lake" and found is not None and (first_row := home.load("first-row")):
        found["first_row"] = first_row
    return found


def _document(results: dict[str, dict[str, Any] | None], scale: float) -> str:
    parts = [
        "# Benchmarks",
        _INTRODUCTION,
        _conditions(results, scale),
        "## Targets",
        table(["", "wanted", "measured", "met"], [each.row() for each in targets(results)]),
    ]
    if decode := results["decode"]:
        parts += ["## From file, one core", _DECODE, *_decode(decode)]
    if replay := results["replay"]:
        parts += ["## From a live server to a broker", _REPLAY, _replay(replay)]
    if live := results["live"]:
        parts += ["## Latency, start, idle", _LIVE, _live(live)]
    if snapshot := results["snapshot"]:
        parts += ["## Copies of tables", _SNAPSHOT, _snapshot(snapshot)]
    if memory := results["memory"]:
        parts += ["## Memory", _memory(memory)]
    if large := results["large"]:
        parts += ["## A large transaction, a large event", _large(large)]
    # What was measured elsewhere stays.
    tools, verify, lake, mirror = (results[name] for name in ("tools", "verify", "lake", "mirror"))
    blocks = [
        tools_text(tools) if tools else block_of(DOCUMENT, TOOLS_BEGIN, TOOLS_END),
        verify_text(verify) if verify else block_of(DOCUMENT, VERIFY_BEGIN, VERIFY_END),
        lake_text(lake) if lake else block_of(DOCUMENT, LAKE_BEGIN, LAKE_END),
        mirror_text(mirror, block_of(DOCUMENT)) if mirror else block_of(DOCUMENT),
    ]
    parts += [block for block in blocks if block]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = (
    "`make bench` writes this page. It runs every program on the same bytes, side by side on one "
    "machine; the code is in `benchmarks/`. Expect similar ratios on other machines, but not the "
    "same figures."
)
_DECODE = (
    "Each run is a process of its own on one core, and its time includes the start. *warm*: a Java "
    "process after its first pass. The rates are those of the fastest run. The page compares "
    "programs that produce the same result:\n\n"
    "* *JSON of each change*: an envelope with before and after. Ours is Debezium's, with key, "
    "headers and batches as Kafka stores them. The others write "
    "`{op, db, table, ts, pos, before, after}`.\n"
    "* *each value*: the values of every column of every row image. Ours uses "
    "`BinlogReader.row_changes()`; mysqlbinlog prints them.\n"
    "* *Arrow batches*: from `BinlogReader.to_arrow()`.\n"
    "* *events*: all events, without their rows. Rust's decodes each body. Ours (`parse`) makes "
    "sure that each body can be read, and decodes it when it is used; `bodies` uses each.\n\n"
    "Ours, go-mysql and python-mysql-replication verify CRC32. python-mysql-replication reads only "
    f"the first {LIMIT_MB} MB."
)
_REPLAY = (
    "MySQL, Kafka and the connector share the machine. Ours delivers exactly once: its Kafka "
    "transactions also hold the progress. Debezium is tuned (no schemas in the messages, lz4, "
    "large batches) and delivers at least once. The Go program has no transactions, checkpoints or "
    "schemas; it shows what is possible without them. The programs take turns. A first run of each "
    "is not counted: the Java virtual machine of a new broker compiles itself meanwhile, so that "
    "the broker is slower."
)
_LIVE = (
    "The latency is the time from just before a one-row transaction is sent to MySQL until a "
    "read_committed consumer has the message, in milliseconds. It is measured at 200 transactions "
    "a second, after two minutes of the same load, and at half of the rate that the server commits "
    "while the connector follows. "
    "*Start* is the time from the start of the process to the first message; the topics exist "
    "already. Debezium runs twice: as above, and with a poll interval of 1 ms and no linger. The "
    "Go program does not linger here."
)
_SNAPSHOT = (
    "Each program copies an existing table of ten columns. The time is from the first record to "
    "the last. Ours reads the table in chunks while it follows the log, and delivers exactly once. "
    "Debezium, tuned, reads it at once, in one transaction. They take turns, and a first run of "
    "each is not counted, as above."
)


def _conditions(results: dict[str, dict[str, Any] | None], scale: float) -> str:
    known = [result for result in results.values() if result is not None]
    if not known:
        return "Nothing was measured."
    last = max(known, key=lambda each: each["at"])
    machine = (
        f"* {last['at'][:10]}, {last['cpu']}, {last['cores']} cores, {last['memory_gib']} GiB, "
        f"Linux {last['kernel']}, {last['python']}"
    )
    how = "compiled by a profile, as wheels are" if last["compiled"] else "interpreted"
    lines = [
        machine,
        f"* ours {how}; data at scale {scale:g}",
        f"* rivals: {', '.join(_versions())}",
    ]
    return "\n".join(lines)


def _versions() -> list[str]:
    """Return the rivals' versions, as their own files pin them."""

    def after(file: Path, mark: str) -> str:
        return file.read_text().split(mark, 1)[1].split()[0].strip('",\\')

    connect = (SOURCES / "connect/pom.xml").read_text()
    java = (SOURCES / "java/pom.xml").read_text()

    def of_pom(text: str, artifact: str) -> str:
        behind = text.split(f"<artifactId>{artifact}</artifactId>", 1)[1]
        return behind.split("<version>", 1)[1].split("<", 1)[0]

    rust = after(SOURCES / "rust/Cargo.toml", 'version = "=')
    python = after(SOURCES / "requirements.txt", "mysql-replication==")
    return [
        f"mysql_common {rust}",
        f"go-mysql {after(SOURCES / 'go/go.mod', 'go-mysql-org/go-mysql ')}",
        f"franz-go {after(SOURCES / 'go/go.mod', 'twmb/franz-go ')}",
        f"mysql-binlog-connector-java {of_pom(java, 'mysql-binlog-connector-java')}",
        f"python-mysql-replication {python}",
        f"Debezium {of_pom(connect, 'debezium-connector-mysql')}",
        f"Kafka Connect {of_pom(connect, 'connect-runtime')}",
    ]


def _decode(decode: dict[str, Any]) -> list[str]:
    parts = []
    for name, file in decode["files"].items():
        parts.append(f"### {_TITLES[name]} ({file['mb']:,.0f} MB, {file['changes']:,} rows)")
        head = ["result", "program", "rows/s", "binlog-connector is", "MB/s", "wall s (median)"]
        head += ["CPU s per million rows", "peak RSS MB"]
        parts.append(table(head, _decoders(file["decoders"]), texts=2))
        for seen, decoders in file["read"].items():
            parts.append(f"Counted by {len(decoders)}, with equal results: {seen}.")
    return parts


def _decoders(decoders: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table: by what the programs make, the fastest first."""
    for depth, result in _RESULTS.items():
        found = {name: each for name, each in decoders.items() if each["depth"] == depth}
        ours = next((each for name, each in found.items() if name.startswith(_OURS)), None)
        fastest_first = sorted(found.items(), key=lambda item: -item[1]["rows_per_s"])
        for rank, (name, each) in enumerate(fastest_first):
            compared = ours is not None and not name.startswith(_OURS)
            yield [
                result if rank == 0 else "",
                name,
                f"{each['rows_per_s']:,.0f}",
                as_fast(ours["rows_per_s"] / each["rows_per_s"]) if ours and compared else "",
                f"{each['mb_per_s']:,.1f}",
                f"{each['wall_s'][0]:.2f} ({each['wall_s'][1]:.2f})",
                f"{each['cpu_s_per_million']:,.2f}",
                f"{each['peak_mb']:,.0f}",
            ]


def _replay(replay: dict[str, Any]) -> str:
    head = ["", "oltp messages/s (median)", "bulk messages/s (median)"]
    head += ["CPU µs a message, oltp", "bulk", "peak RSS MB"]
    rows = []
    for each in replay["connectors"].values():
        row = [each["name"]]
        for phase in ("oltp", "bulk"):
            found = each[phase]
            row.append(f"{found['messages_per_s']:,.0f} ({found['median_messages_per_s']:,.0f})")
        row += [f"{each[phase]['cpu_us_per_message']:.1f}" for phase in ("oltp", "bulk")]
        rows.append([*row, f"{each['peak_mb']:,.0f}"])
    return table(head, rows)


def _live(live: dict[str, Any]) -> str:
    head = ["", "p50 / p99 at 200/s", "p50 / p99 at half", "half, per s", "start s"]
    head += ["idle CPU %", "idle RSS MB"]
    rows = []
    for key, each in live["connectors"].items():
        slow, fast, idle = each["slow"], each["fast"], each["idle"]
        rows.append(
            [
                each["name"] + (", low latency" if key == "debezium_low" else ""),
                f"{slow['p50_ms']:.1f} / {slow['p99_ms']:.1f}",
                f"{fast['p50_ms']:.1f} / {fast['p99_ms']:.1f}",
                f"{fast['rate_per_s']:,.0f}",
                f"{each['start_s']:.2f}",
                f"{idle['cpu_percent']:.2f}",
                f"{idle['rss_mb']:,.0f}",
            ]
        )
    return table(head, rows)


def _snapshot(snapshot: dict[str, Any]) -> str:
    head = ["", f"rows/s (median), of {snapshot['rows']:,}", "CPU µs a row", "peak RSS MB"]
    return table(
        head,
        [
            [
                each["name"],
                f"{each['rows_per_s']:,.0f} ({each['median_rows_per_s']:,.0f})",
                f"{each['cpu_us_per_row']:.1f}",
                f"{each['peak_mb']:,.0f}",
            ]
            for each in snapshot["connectors"].values()
        ],
    )


def _memory(memory: dict[str, Any]) -> str:
    return (
        f"{memory['rows']:,} rows end to end: RSS {memory['rss_mb_at_a_tenth']:.0f} MB at a tenth "
        f"of them, {memory['rss_mb_at_the_end']:.0f} MB at the end, "
        f"{memory['peak_mb']:.0f} MB at most."
    )


def _large(large: dict[str, Any]) -> str:
    head = ["", "rows", "largest event, MiB", "seconds", "peak RSS MB"]
    rows = [
        [
            title,
            f"{large[key]['rows']:,}",
            f"{large[key]['event_mb']:,.2f}",
            f"{large[key]['seconds']:.0f}",
            f"{large[key]['peak_mb']:,.0f}",
        ]
        for key, title in (("deep", "one transaction"), ("wide", "one event"))
    ]
    return table(head, rows)

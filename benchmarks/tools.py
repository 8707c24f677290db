"""The commands that read logs, on one core: each beside its rival, in one run.

The log has one-row transactions of one table. In the copy that is read, every hundredth of them
changes a table of another name, so `--table` keeps 1 % of the rows. Commands write into a file.
Runs go round robin, so that whatever the machine does besides hits all alike.

binlog2sql needs a server for what it undoes. It decodes with python-mysql-replication, so that
decoding alone, of the first megabytes, takes less time than binlog2sql would.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.builds import SOURCES, Builds, Missing
from benchmarks.decoders import LIMIT_MB
from benchmarks.process import run_to_end, say
from benchmarks.tools_log import OTHER_TABLE, with_other_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from local_stack.cache import Cache

FORMATS = ("text", "envelope", "json", "events")
FILTERED = "{} --table"
FLASHBACK, STAT, BATCHES = "flashback", "stat", "record batches of run"
VERBOSE, PLAIN, PLAIN_TO_NULL = "mysqlbinlog -vvv", "mysqlbinlog", "mysqlbinlog > /dev/null"
GO, PMR = "go-mysql, JSON", "python-mysql-replication, decoding alone"


@dataclass(frozen=True, slots=True)
class _Tool:
    """A command, with FILE instead of the path of the log."""

    name: str
    command: tuple[str, ...]
    to_file: bool = True
    megabytes: float | None = None  # of the log that it reads, if not all


@dataclass(slots=True)
class _Runs:
    """What the runs of one command have cost."""

    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    output_mb: float = 0.0


def measure_tools(
    home: Home, data: dict[str, DataFile], runs: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of all commands; raises RunFailed."""
    folder = home.folder("tools")
    log = folder / "binlog.000001"
    with_other_table(data["oltp"].path, log)
    output = folder / "output"
    tools = [*_ours(), *_rivals(home.cache)]
    measured = {tool.name: _Runs() for tool in tools}
    environment = {"CONNECTOR_COMPILED": compiled}
    for number in range(runs):
        for tool in tools:
            say(f"tools, run {number + 1}: {tool.name}")
            _run(tool, log, output, environment, measured[tool.name])
    megabytes = log.stat().st_size / 1e6
    log.unlink()
    output.unlink()
    return {
        "compiled": compiled == "require",
        "mb": megabytes,
        "changes": data["oltp"].counts.changes,
        "commands": {
            tool.name: {
                "cpu_s": min(measured[tool.name].cpu_s),
                "median_cpu_s": statistics.median(measured[tool.name].cpu_s),
                "wall_s": min(measured[tool.name].wall_s),
                "peak_mb": measured[tool.name].peak_mb,
                "output_mb": measured[tool.name].output_mb,
                "mb": min(megabytes, tool.megabytes or megabytes),
            }
            for tool in tools
        },
    }


def _ours() -> Iterator[_Tool]:
    connector = (sys.executable, "-m", "connector")
    for name in FORMATS:
        command = (*connector, "dump", "--format", name, "FILE")
        yield _Tool(name, command)
        yield _Tool(FILTERED.format(name), (*command, "--table", OTHER_TABLE))
    yield _Tool(STAT, (*connector, "stat", "FILE"))
    yield _Tool(FLASHBACK, (*connector, "flashback", "FILE"))
    filtered = (*connector, "flashback", "FILE", "--table", OTHER_TABLE)
    yield _Tool(FILTERED.format(FLASHBACK), filtered)
    batches = (sys.executable, "-m", "benchmarks.ours", "FILE", "envelope", "1")
    yield _Tool(BATCHES, batches, to_file=False)


def _rivals(cache: Cache) -> Iterator[_Tool]:
    builds = Builds(cache)
    makers: tuple[Callable[[], list[_Tool]], ...] = (
        lambda: _mysqlbinlog(builds),
        lambda: [_Tool(GO, (str(builds.go() / "decode"), "FILE", "json", "1"), to_file=False)],
        lambda: [_pmr(builds)],
    )
    for make in makers:
        try:
            yield from make()
        except Missing as missing:
            say(f"skipped {missing}")


def _mysqlbinlog(builds: Builds) -> list[_Tool]:
    command = (*builds.mysqlbinlog(), "--no-defaults", "FILE")
    verbose = (*command, "-vvv", "--base64-output=decode-rows")
    return [
        _Tool(VERBOSE, verbose),
        _Tool(PLAIN, command),
        _Tool(PLAIN_TO_NULL, command, to_file=False),
    ]


def _pmr(builds: Builds) -> _Tool:
    command = (str(builds.python()), str(SOURCES / "pmr.py"), "FILE", "decode", "1", str(LIMIT_MB))
    return _Tool(PMR, command, to_file=False, megabytes=LIMIT_MB)


def _run(
    tool: _Tool, log: Path, output: Path, environment: Mapping[str, str], measured: _Runs
) -> None:
    command = [str(log) if word == "FILE" else word for word in tool.command]
    run = run_to_end(
        command,
        environment=environment,
        discard_output=not tool.to_file,
        output=output if tool.to_file else None,
    )
    measured.cpu_s.append(run.cpu_s)
    measured.wall_s.append(run.wall_s)
    measured.peak_mb = max(measured.peak_mb, run.peak_mb)
    if tool.to_file:
        measured.output_mb = output.stat().st_size / 1e6

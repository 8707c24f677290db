"""`python -m benchmarks [SUBCOMMAND …] [--quick]`: measure, and tell.

Without subcommands all of them, which takes about an hour, and BENCHMARKS.md and
docs/performance.md are written. `mirror` alone takes half an hour, `tools` and `lake` alone ten
minutes each; each writes its own part of both documents. `pace` takes twenty minutes, and draws
docs/pace.svg.
`make bench ARGS="decode --quick"` measures a part, on small data; the documents are then left
alone, and the tables go to standard output. `report` alone measures nothing, and writes the
documents of the last results. Only one process measures at a time; a second one ends at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Literal

from benchmarks.data import load_data
from benchmarks.decode import check_counts, measure_decoders
from benchmarks.first_load import ROWS as LOADED_ROWS
from benchmarks.first_load import measure_first_load
from benchmarks.formats import measure_formats
from benchmarks.home import Home
from benchmarks.lake import measure_lake
from benchmarks.large import measure_large
from benchmarks.live import measure_live
from benchmarks.many_tables import Load
from benchmarks.memory import measure_memory
from benchmarks.mirror import PARTS, measure_mirror
from benchmarks.mirror_formats import measure_mirror_formats
from benchmarks.mirror_tables import measure_mirror_tables
from benchmarks.pace import ROWS as PACE_ROWS
from benchmarks.pace import measure_pace
from benchmarks.page import measure_page
from benchmarks.process import RunFailed, say
from benchmarks.replay import measure_replay
from benchmarks.replica import measure_replica
from benchmarks.report import (
    SUBCOMMANDS,
    write_lake,
    write_mirror,
    write_pace,
    write_report,
    write_tools,
    write_verify,
)
from benchmarks.snapshot import measure_snapshot
from benchmarks.snapshot_many import measure_many_copies
from benchmarks.tools import measure_tools
from benchmarks.verify import ROWS, measure_verify
from benchmarks.verify_many import DEFAULT_LOAD, measure_many
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from benchmarks.data import DataFile

QUICK_SCALE = 0.05
# They print what they measure, and BENCHMARKS.md does not have it.
_PRINTED = ("replica", "formats", "mirror-formats", "page", "pace", "first-load")
# Each writes its own part of the documents, if it alone was measured.
_WRITERS = {
    "mirror": write_mirror,
    "tools": write_tools,
    "verify": write_verify,
    "lake": write_lake,
    "pace": write_pace,
}
# What `--tables` is for.
_SMALL_TABLES = {"mirror", "snapshot", "verify"}
# These need no server with data.
_WITHOUT_DATA = {*_PRINTED, "mirror", "report", "verify"} - {"formats", "page"}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "subcommands",
        nargs="*",
        metavar="SUBCOMMAND",
        help=f"data, {', '.join(SUBCOMMANDS)}, {', '.join(_PRINTED)}, report; without one, all but "
        f"{', '.join(_PRINTED)}",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the data; 1 is the full size")
    parser.add_argument("--runs", type=int, default=3, help="of each program")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="that each state of a live server is held"
    )
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="of the mirror alone; all without one"
    )
    parser.add_argument(
        "--rows",
        type=int,
        help=f"of the table that verify compares, {ROWS:,} at scale 1, of pace, {PACE_ROWS:,}, or "
        f"of first-load, {LOADED_ROWS:,}",
    )
    parser.add_argument(
        "--tables",
        type=int,
        action="append",
        help="so many small tables for verify, snapshot or mirror, in place of large ones",
    )
    parser.add_argument(
        "--changes",
        type=int,
        default=DEFAULT_LOAD.changes_per_s,
        help="of rows of small tables a second while verify compares them",
    )
    parser.add_argument(
        "--changed", type=int, default=DEFAULT_LOAD.tables, help="how many small tables have them"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"one run, scale {QUICK_SCALE}, 5 seconds"
    )
    parser.add_argument(
        "--interpreted", action="store_true", help="measure ours without its compiled modules"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.subcommands) - {"data", "report", *_PRINTED, *SUBCOMMANDS}
    if unknown:
        parser.error(f"there is no subcommand {', '.join(sorted(unknown))}")
    if arguments.quick:
        arguments.scale, arguments.runs, arguments.seconds = QUICK_SCALE, 1, 5.0
    return arguments


def main() -> int:
    """Measure what was asked for; returns 1 when a program failed, or read something else."""
    arguments = _arguments()
    home = Home(arguments.scale)
    wanted = arguments.subcommands or ["data", *SUBCOMMANDS, "report"]
    try:
        if wanted != ["report"]:
            with home.alone():
                _measure(home, arguments, wanted)
    except (RunFailed, LocalStackError) as error:
        say(f"failed: {error}")
        return 1
    return _tell(home, arguments, wanted)


def _measure(home: Home, arguments: argparse.Namespace, wanted: list[str]) -> None:
    """Keep the results of what was asked for; raises RunFailed or LocalStackError."""
    compiled: Literal["require", "off"] = "off" if arguments.interpreted else "require"
    measures: dict[str, Callable[[dict[str, DataFile]], dict[str, Any]]] = {
        "decode": lambda data: measure_decoders(home, data, arguments.runs, compiled),
        "replay": lambda data: measure_replay(home, data, arguments.runs, compiled),
        "live": lambda _: measure_live(home, arguments.seconds, compiled),
        "snapshot": lambda _: measure_snapshot(home, arguments.runs, compiled),
        "memory": lambda data: measure_memory(home, data, compiled),
        "large": lambda _: measure_large(home, compiled),
        "tools": lambda data: measure_tools(home, data, arguments.runs, compiled),
        "mirror": lambda _: measure_mirror(
            home, arguments.seconds, compiled, arguments.part or PARTS
        ),
        "verify": lambda _: measure_verify(
            home, arguments.rows or int(ROWS * arguments.scale), compiled
        ),
        "lake": lambda data: measure_lake(home, data, arguments.runs, arguments.seconds, compiled),
    }
    without_data = _WITHOUT_DATA | (_SMALL_TABLES if arguments.tables else set())
    data = {} if set(wanted) <= without_data else load_data(home)
    if arguments.tables:
        # In place of the large tables, whose figures stay.
        _measure_small_tables(home, arguments, wanted, compiled)
        wanted = [name for name in wanted if name not in _SMALL_TABLES]
    printed: dict[str, Callable[[], dict[str, Any]]] = {
        "replica": lambda: measure_replica(home),
        "formats": lambda: measure_formats(home, data, arguments.runs, compiled),
        "mirror-formats": lambda: measure_mirror_formats(home, arguments.runs, compiled),
        "page": lambda: measure_page(home, data, arguments.runs, arguments.seconds, compiled),
        "pace": lambda: measure_pace(
            home,
            arguments.rows or int(PACE_ROWS * arguments.scale),
            arguments.runs,
            arguments.seconds,
            compiled,
        ),
        "first-load": lambda: measure_first_load(
            home, arguments.rows or int(LOADED_ROWS * arguments.scale), compiled
        ),
    }
    for name in _PRINTED:
        if name in wanted:
            home.store(name, printed[name]())
    for name in SUBCOMMANDS:
        if name in wanted:
            started = time.monotonic()
            home.store(name, measures[name](data))
            say(f"{name} took {time.monotonic() - started:.0f} s")


def _measure_small_tables(
    home: Home,
    arguments: argparse.Namespace,
    wanted: list[str],
    compiled: Literal["require", "off"],
) -> None:
    """Keep the results of `wanted` with many small tables; raises as `_measure`."""
    counts = arguments.tables
    if "snapshot" in wanted:
        home.store("snapshot_many", measure_many_copies(home, counts, compiled))
    if "mirror" in wanted:
        costs = measure_mirror_tables(home, counts, arguments.seconds, compiled)
        home.store("mirror_tables", costs)
    if "verify" in wanted:
        load = Load(arguments.changes, arguments.changed)
        home.store("verify_many", measure_many(home, counts, load, compiled))


def _tell(home: Home, arguments: argparse.Namespace, wanted: list[str]) -> int:
    """Write the documents of what was measured; returns 1 when a program read something else."""
    is_whole = not arguments.quick and arguments.scale == 1 and arguments.rows is None
    if len(wanted) == 1 and is_whole and not arguments.tables and wanted[0] in _WRITERS:
        _WRITERS[wanted[0]](home)
    if set(wanted) <= {*_PRINTED} or (arguments.tables and set(wanted) <= _SMALL_TABLES):
        return 0
    problems = check_counts(home.load("decode"))
    for problem in problems:
        say(problem)
    publish = not arguments.subcommands or wanted == ["report"]
    write_report(home, publish=publish and not arguments.quick)
    failed = (home.load("mirror") or {}).get("failed", {}) if "mirror" in wanted else {}
    for part, why in failed.items():
        say(f"mirror, {part}: failed: {why}")
    return 1 if problems or failed else 0


if __name__ == "__main__":
    sys.exit(main())

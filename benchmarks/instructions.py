"""`python -m benchmarks.instructions`: a job that takes more instructions than before is an error.

Time says little on a machine that others use, too; the instructions of a job are the same each
time, to a thousandth. Valgrind's Callgrind counts them, for four jobs over a log of 1.1 MB, in a
copy of the sources that is compiled with little optimisation, in which functions keep their names.
`instructions.json` has what was counted before, and by which compiler and Python: others make other
code. Where valgrind, the compiler or this Python is missing, the CPU time of the same jobs is
compared with that of a reference job (`benchmarks.job_times`).

    --record   write what is counted and timed now into instructions.json
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.job_sources import LOG, JobSources
from benchmarks.job_times import (
    FUNCTIONS_SHOWN,
    GROWTH_MAX,
    PREFIX,
    compare_times,
    grown_functions,
    kind_of,
    ratios,
    record_times,
    shares,
)
from benchmarks.process import say

RECORDED: Final = Path(__file__).with_suffix(".json")
# A smaller part of a job is in nobody's way.
_SHARE_MIN: Final = 0.002
# Those of templates in C++ are longer.
_NAME_CHARACTERS_MAX: Final = 80
_MILLION: Final = 1e6
_DESCRIPTION = re.compile(r"desc: Trigger: .*?(\w+)$")
_NAME = re.compile(r"c?fn=\((\d+)\)(?: (.*))?$")
_COST = re.compile(r"[-+*\d]\S* (\d+)$")
_MEANT: Final = "if that is meant to be: make instructions ARGS=--record"

Counts = dict[str, Counter[str]]


def main() -> int:
    """Count, or take times, and compare or record; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.instructions", description="Count the instructions of four jobs."
    )
    parser.add_argument("--record", action="store_true", help="write them into instructions.json")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text())
    gcc = _gcc()
    can_count = gcc is not None and shutil.which("valgrind") is not None
    own = {"gcc": gcc, "python": platform.python_version()}
    with TemporaryDirectory() as folder:
        sources = JobSources(Path(folder), compiled=gcc is not None)
        if arguments.record:
            _record(recorded, sources, own, can_count=can_count)
            return 0
        if can_count and own == recorded["toolchain"]:
            lines, is_good = compare(recorded["jobs"], _count(sources))
        else:
            lines, is_good = compare_by_time(recorded, sources, compiled=gcc is not None)
    for line in lines:
        say(line)
    return 0 if is_good else 1


def compare(recorded: dict[str, dict[str, Any]], counts: Counts) -> tuple[list[str], bool]:
    """Return what to say, and whether no job takes more than GROWTH_MAX of what was recorded."""
    lines, is_good = [], True
    for name, functions in counts.items():
        before, now = recorded[name]["total"], functions.total()
        ratio = now / before
        lines.append(
            f"instructions, {name}: {now / _MILLION:.1f} million, {ratio:.3f} of what was recorded"
        )
        if ratio <= GROWTH_MAX:
            continue
        is_good = False
        growth = Counter(functions)
        growth.subtract(recorded[name]["functions"])
        lines.append(f"error: {name} takes more than {GROWTH_MAX:g} of it; what has grown most:")
        lines += [
            f"  {function}: {recorded[name]['functions'].get(function, 0) / _MILLION:.1f}"
            f" -> {functions[function] / _MILLION:.1f} million"
            for function, more in growth.most_common(FUNCTIONS_SHOWN)
            if more > 0
        ]
    if not is_good:
        lines.append(_MEANT)
    return lines, is_good


def compare_by_time(
    recorded: dict[str, Any], sources: JobSources, *, compiled: bool
) -> tuple[list[str], bool]:
    """Return what to say of the CPU times, and whether no job takes more than GROWTH_MAX."""
    toolchain = "gcc {gcc}, Python {python}".format(**recorded["toolchain"])
    lines = [f"instructions: CPU time is compared; valgrind with {toolchain} would count"]
    kind = kind_of(compiled=compiled)
    before = recorded["times"].get(kind)
    if before is None:
        lines.append(
            f"error: no times were recorded for {kind}; run make instructions ARGS=--record with "
            "the sources that these are compared with, and then again with these"
        )
        return lines, False
    told, grown = compare_times(before, lambda: ratios(sources))
    lines += told
    for job, growth in grown.items():
        lines.append(f"error: {job} takes more than {GROWTH_MAX:g} of the time that was recorded")
        now = shares(sources, job) if before[job]["shares"] else None
        if now is None:
            lines.append(
                f"  which function has grown: make instructions names it with valgrind and "
                f"{toolchain}, or with perf and gcc"
            )
        else:
            lines += [
                "  what has grown most:",
                *grown_functions(before[job]["shares"], now, growth),
            ]
    if grown:
        lines.append(_MEANT)
    return lines, not grown


def read_counts(lines: list[str]) -> tuple[str, Counter[str]]:
    """Return the job of a file of Callgrind, and what each function took, without those it called.

    https://valgrind.org/docs/manual/cl-format.html
    """
    job, names, function = "", dict[str, str](), ""
    counts: Counter[str] = Counter()
    is_of_call = False
    for line in lines:
        if described := _DESCRIPTION.match(line):
            job = described[1]
        elif named := _NAME.match(line):
            number, name = named.groups()
            if name is not None:
                names[number] = name.removeprefix(PREFIX)[:_NAME_CHARACTERS_MAX]
            if line.startswith("fn="):
                function = names[number]
        elif line.startswith("calls="):
            # The next line says what was called.
            is_of_call = True
        elif cost := _COST.match(line):
            if not is_of_call:
                counts[function] += int(cost[1])
            is_of_call = False
    return job, counts


def _gcc() -> str | None:
    """Return the version of the compiler; None without one."""
    if shutil.which("gcc") is None:
        return None
    gcc = subprocess.run(
        ["gcc", "-dumpfullversion"],
        check=True,
        capture_output=True,
        text=True,
    )
    return gcc.stdout.strip()


def _count(sources: JobSources) -> Counts:
    command = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no"]
    command += [f"--callgrind-out-file={sources.folder}/counts"]
    command += [sys.executable, "-m", "benchmarks.instruction_jobs", str(LOG), str(sources.folder)]
    sources.call(*command)
    files = sorted(sources.folder.glob("counts.*"))
    return dict(read_counts(file.read_text().splitlines()) for file in files)


def _record(
    recorded: dict[str, Any], sources: JobSources, toolchain: dict[str, Any], *, can_count: bool
) -> None:
    if can_count:
        recorded["toolchain"] = toolchain
        recorded["jobs"] = {name: _counted(name, own) for name, own in _count(sources).items()}
    compiled = toolchain["gcc"] is not None
    recorded["times"][kind_of(compiled=compiled)] = record_times(sources, compiled=compiled)
    if compiled:
        with TemporaryDirectory() as folder:
            plain = JobSources(Path(folder), compiled=False)
            recorded["times"][kind_of(compiled=False)] = record_times(plain, compiled=False)
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")


def _counted(name: str, functions: Counter[str]) -> dict[str, Any]:
    """Say what a job takes, and return what is recorded of it."""
    total = functions.total()
    say(f"instructions, {name}: {total / _MILLION:.1f} million")
    largest = {
        function: count
        for function, count in functions.most_common()
        if count >= _SHARE_MIN * total
    }
    return {"total": total, "functions": largest}


if __name__ == "__main__":
    sys.exit(main())

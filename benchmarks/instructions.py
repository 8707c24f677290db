"""`python -m benchmarks.instructions`: a job that takes more instructions than before is an error.

Time says little on a machine that others use, too; the instructions of a job are the same each
time, to a thousandth. Valgrind's Callgrind counts them, for four jobs over a log of 1.1 MB, in a
copy of the sources that is compiled with little optimisation, in which functions keep their names.
`instructions.json` has what was counted before, and by which compiler and Python: others make other
code, and nothing is compared.

    --record   write what is counted now into instructions.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.process import say

_PROJECT: Final = Path(__file__).parents[1]
RECORDED: Final = Path(__file__).with_suffix(".json")
_LOG: Final = Path(__file__).parent / "workload" / "instructions.000001.zst"
# What the build and the jobs need.
_SOURCES: Final = ("connector", "stream_jobs", "benchmarks", "setup.py", "extension_cache.py")
_PROJECT_FILES: Final = ("pyproject.toml", "README.md", "LICENSE")
_FLAGS: Final = "-O1"
GROWTH_MAX: Final = 1.05
# A smaller part of a job is in nobody's way.
_SHARE_MIN: Final = 0.002
_FUNCTIONS_SHOWN: Final = 5
# Those of templates in C++ are longer.
_NAME_CHARACTERS_MAX: Final = 80
_MILLION: Final = 1e6
_DESCRIPTION = re.compile(r"desc: Trigger: .*?(\w+)$")
_NAME = re.compile(r"c?fn=\((\d+)\)(?: (.*))?$")
_COST = re.compile(r"[-+*\d]\S* (\d+)$")

Counts = dict[str, Counter[str]]


def main() -> int:
    """Count, and compare or record; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.instructions", description="Count the instructions of four jobs."
    )
    parser.add_argument("--record", action="store_true", help="write them into instructions.json")
    arguments = parser.parse_args()
    own = _toolchain()
    if own is None:
        say("instructions: not counted, because valgrind or gcc is not installed")
        return 0
    recorded = json.loads(RECORDED.read_text())
    if not arguments.record and own != recorded["toolchain"]:
        say(f"instructions: not compared: they were recorded by {recorded['toolchain']}, not {own}")
        return 0
    with TemporaryDirectory() as folder:
        counts = _count(Path(folder))
    if arguments.record:
        _record(own, counts)
        return 0
    lines, is_good = compare(recorded["jobs"], counts)
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
            for function, more in growth.most_common(_FUNCTIONS_SHOWN)
            if more > 0
        ]
    if not is_good:
        lines.append("if that is meant to be: make instructions ARGS=--record")
    return lines, is_good


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
                names[number] = name.removeprefix("CPyDef_")[:_NAME_CHARACTERS_MAX]
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


def _toolchain() -> dict[str, str] | None:
    if shutil.which("valgrind") is None or shutil.which("gcc") is None:
        return None
    gcc = subprocess.run(
        ["gcc", "-dumpfullversion"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {"gcc": gcc.stdout.strip(), "python": platform.python_version()}


def _count(folder: Path) -> Counts:
    _copy(folder)
    environment = os.environ | {
        "CFLAGS": _FLAGS,
        "CONNECTOR_COMPILED": "require",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(folder),
    }
    build = [f"{sys.prefix}/build/bin/python", "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(build, cwd=folder, env=environment, check=True)
    command = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no"]
    command += [f"--callgrind-out-file={folder}/counts"]
    command += [sys.executable, "-m", "benchmarks.instruction_jobs", str(_LOG), str(folder)]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    files = sorted(folder.glob("counts.*"))
    return dict(read_counts(file.read_text().splitlines()) for file in files)


def _copy(folder: Path) -> None:
    """Copy what is measured: what is compiled in place may have been compiled with other flags."""
    unwanted = shutil.ignore_patterns("*.so", "__pycache__", "rivals")
    for name in (*_SOURCES, *_PROJECT_FILES):
        source = _PROJECT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=unwanted)
        elif source.exists():
            shutil.copy(source, folder)


def _record(toolchain: dict[str, str], counts: Counts) -> None:
    jobs = {}
    for name, functions in counts.items():
        total = functions.total()
        largest = {
            function: count
            for function, count in functions.most_common()
            if count >= _SHARE_MIN * total
        }
        jobs[name] = {"total": total, "functions": largest}
        say(f"instructions, {name}: {total / _MILLION:.1f} million")
    document = {"toolchain": toolchain, "jobs": jobs}
    RECORDED.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""The CPU time of fixed jobs to that of a reference job, for where nothing can be counted.

The reference job takes turns with each of them (`benchmarks.timed_jobs`), and runs Python's own
code alone. What slows the machine down makes both slower, and their ratio stays. The least ratio of
three tries counts, because a neighbour on the machine may stay for a whole try.

`perf`, where it is installed and works, says which part of a job each compiled function takes.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks.job_sources import LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.job_sources import JobSources

GROWTH_MAX: Final = 1.05
TRIES: Final = 3
FUNCTIONS_SHOWN: Final = 5
# Of compiled functions, in the names of extension modules.
PREFIX: Final = "CPyDef_"
_SECONDS: Final = 12.0
_SAMPLED_SECONDS: Final = 4.0
_SAMPLES_PER_S: Final = 4000
# A smaller part of a job is in nobody's way, and known by chance alone.
_SHARE_MIN: Final = 0.005
_SAMPLE = re.compile(r"\s*(\d+)\s*\|\s*\[.\] (\S.*?)\s*$")

Shares = dict[str, float]


def kind_of(*, compiled: bool) -> str:
    """Return under which name the times of this Python are recorded."""
    mode = "compiled" if compiled else "interpreted"
    return f"{mode}, Python {'.'.join(platform.python_version_tuple()[:2])}"


def ratios(sources: JobSources) -> dict[str, float]:
    """Return the CPU time of each job as a multiple of that of the reference job: one try."""
    found: dict[str, float] = json.loads(sources.call(*_jobs(sources, _SECONDS)))
    return found


def least_ratios(
    measure: Callable[[], Mapping[str, float]], bounds: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the least ratios of three tries; of fewer, if all of them are within `bounds`."""
    found: dict[str, float] = {}
    for _ in range(TRIES):
        for name, ratio in measure().items():
            found[name] = min(ratio, found.get(name, ratio))
        if bounds is not None and all(ratio <= bounds[name] for name, ratio in found.items()):
            break
    return found


def compare_times(
    recorded: Mapping[str, Mapping[str, Any]], measure: Callable[[], Mapping[str, float]]
) -> tuple[list[str], dict[str, float]]:
    """Return what to say, and the growth of the jobs that take more than GROWTH_MAX."""
    bounds = {name: GROWTH_MAX * one["ratio"] for name, one in recorded.items()}
    lines, grown = [], {}
    for name, ratio in least_ratios(measure, bounds).items():
        growth = ratio / recorded[name]["ratio"]
        lines.append(
            f"instructions, {name}: {ratio:.2f} x the CPU time of the reference job, "
            f"{growth:.3f} of what was recorded"
        )
        if ratio > bounds[name]:
            grown[name] = growth
    return lines, grown


def record_times(sources: JobSources, *, compiled: bool) -> dict[str, dict[str, Any]]:
    """Return what is recorded of each job: its ratio, and the shares of compiled functions."""
    return {
        name: {
            "ratio": round(ratio, 4),
            "shares": (shares(sources, name) or {}) if compiled else {},
        }
        for name, ratio in least_ratios(lambda: ratios(sources)).items()
    }


def shares(sources: JobSources, job: str) -> Shares | None:
    """Return which part of a job each function takes; None where perf cannot tell."""
    file = str(sources.folder / "perf.data")
    sampled = ["perf", "record", "--quiet", "--event=cpu-clock:u", f"--freq={_SAMPLES_PER_S}"]
    sampled += [f"--output={file}", *_jobs(sources, _SAMPLED_SECONDS), job]
    told = ["perf", "report", f"--input={file}", "--stdio", "--no-children"]
    told += ["--fields=sample,symbol", "--field-separator=|"]
    try:
        sources.call(*sampled)
        output = sources.call(*told)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return read_shares(output.splitlines())


def read_shares(lines: list[str]) -> Shares:
    """Return the shares of the functions in a report of perf."""
    counts = Counter[str]()
    for line in lines:
        if sample := _SAMPLE.match(line):
            counts[sample[2].removeprefix(PREFIX)] += int(sample[1])
    total = counts.total()
    return {
        name: round(count / total, 4)
        for name, count in counts.most_common()
        if count >= _SHARE_MIN * total
    }


def grown_functions(recorded: Shares, now: Shares, growth: float) -> list[str]:
    """Return lines for what has grown most; shares are of the job as it was."""
    more = {name: share * growth - recorded.get(name, 0) for name, share in now.items()}
    return [
        f"  {name}: {recorded.get(name, 0):.1%} -> {now[name] * growth:.1%} of the recorded time"
        for name, share in Counter(more).most_common(FUNCTIONS_SHOWN)
        if share >= _SHARE_MIN
    ]


def _jobs(sources: JobSources, seconds: float) -> list[str]:
    return [
        *(sys.executable, "-m", "benchmarks.timed_jobs"),
        *(str(LOG), str(sources.folder), str(seconds)),
    ]

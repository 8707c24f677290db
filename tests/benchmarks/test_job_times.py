"""CPU times are compared with a reference job, where nothing can be counted."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.instructions import RECORDED, compare_by_time
from benchmarks.job_sources import LOG, JobSources
from benchmarks.job_times import (
    TRIES,
    compare_times,
    grown_functions,
    kind_of,
    least_ratios,
    read_shares,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

JOBS = {"decode", "encode", "dump", "apply"}
RECORDED_TIMES = {"encode": {"ratio": 2.0}, "dump": {"ratio": 4.0}}

# Of `perf report --stdio --fields=sample,symbol --field-separator='|'`.
REPORT = """\
# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 16K of event 'cpu-clock:u'
#
        6000|[.] CPyDef_text_writer___put_uint
        3000|[.] _PyObject_Free
         990|[k] exc_page_fault

          10|[.] rarely
"""


def tries(*ratios: tuple[float, float]) -> tuple[Callable[[], Mapping[str, float]], list[float]]:
    """Return what measures `encode` and `dump` one try after the other, and the tries so far."""
    left, done = list(ratios), []

    def measure() -> dict[str, float]:
        encode, dump = left.pop(0)
        done.append(encode)
        return {"encode": encode, "dump": dump}

    return measure, done


def test_a_try_within_the_bounds_is_enough() -> None:
    measure, done = tries((2.09, 3.9))
    lines, grown = compare_times(RECORDED_TIMES, measure)
    assert (grown, len(done)) == ({}, 1)
    unit = "the CPU time of the reference job"
    assert lines == [
        f"instructions, encode: 2.09 x {unit}, 1.045 of what was recorded",
        f"instructions, dump: 3.90 x {unit}, 0.975 of what was recorded",
    ]


def test_a_job_may_have_its_best_try_while_another_has_a_bad_one() -> None:
    measure, done = tries((2.5, 4.0), (2.0, 5.0))
    _, grown = compare_times(RECORDED_TIMES, measure)
    assert (grown, len(done)) == ({}, 2)


def test_a_job_that_takes_more_in_three_tries_has_grown() -> None:
    measure, done = tries((2.4, 4.0), (2.3, 4.0), (2.2, 4.0))
    _, grown = compare_times(RECORDED_TIMES, measure)
    assert grown == {"encode": pytest.approx(1.1)}
    assert len(done) == TRIES


def test_the_best_of_all_tries_is_recorded() -> None:
    measure, done = tries((2.4, 4.0), (2.3, 4.2), (2.5, 4.1))
    assert least_ratios(measure) == {"encode": 2.3, "dump": 4.0}
    assert len(done) == TRIES


def test_a_report_of_perf_has_the_shares_of_functions() -> None:
    assert read_shares(REPORT.splitlines()) == {
        "text_writer___put_uint": 0.6,
        "_PyObject_Free": 0.3,
        "exc_page_fault": 0.099,
    }


def test_the_functions_that_have_grown_are_named() -> None:
    recorded = {"a": 0.6, "b": 0.4}
    # The job takes 1.2 times as long: 0.6, 0.48 and 0.12 of what it took.
    lines = grown_functions(recorded, {"a": 0.5, "b": 0.4, "c": 0.1}, 1.2)
    assert lines == [
        "  c: 0.0% -> 12.0% of the recorded time",
        "  b: 40.0% -> 48.0% of the recorded time",
    ]


def test_the_times_of_all_jobs_were_recorded_compiled_and_interpreted() -> None:
    times = json.loads(RECORDED.read_text())["times"]
    assert {kind.partition(",")[0] for kind in times} == {"compiled", "interpreted"}
    for kind, jobs in times.items():
        assert set(jobs) == JOBS
        for job in jobs.values():
            assert job["ratio"] > 0
            assert bool(job["shares"]) == kind.startswith("compiled")


def test_without_times_of_this_python_nothing_is_taken_for_good(tmp_path: Path) -> None:
    recorded = {"toolchain": {"gcc": "12.2.0", "python": "3.11.7"}, "times": {}}
    sources = JobSources(tmp_path, compiled=False)
    lines, is_good = compare_by_time(recorded, sources, compiled=False)
    assert not is_good
    assert lines == [
        "instructions: CPU time is compared; valgrind with gcc 12.2.0, Python 3.11.7 would count",
        (
            f"error: no times were recorded for {kind_of(compiled=False)}; run make instructions "
            "ARGS=--record with the sources that these are compared with, and then again with these"
        ),
    ]


def test_a_job_has_a_time(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.timed_jobs", str(LOG), str(tmp_path), "0", "apply"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    times = json.loads(done.stdout)
    assert times.keys() == {"apply"}
    assert times["apply"] > 0

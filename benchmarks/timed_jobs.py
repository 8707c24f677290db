"""`python -m benchmarks.timed_jobs LOG FOLDER SECONDS [JOB]`: the CPU time of each job, as JSON.

The jobs are those of `benchmarks.instruction_jobs`; with JOB, that one alone. Each is followed by
the reference job, which is repeated until it has taken as long, so that both meet the same
neighbours on the machine. This is done for so many seconds, and at least once. What is printed is
the median of the ratios of each job.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.instruction_jobs import jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS: Final = 6000


def reference() -> bytes:
    """Do what the jobs do most (objects, dictionaries, text, bytes) with Python's own code alone.

    A change of it changes every recorded time.
    """
    rows = [
        {"id": number, "name": f"customer {number}", "amount": number / 4, "note": None}
        for number in range(_ROWS)
    ]
    found = json.loads(json.dumps(rows).encode())
    values = {row["name"]: struct.pack("<qd", row["id"], row["amount"]) for row in found}
    return b"".join(values[name] for name in sorted(values))


def main() -> None:
    """Repeat all jobs in turn, or one of them, and print the ratios."""
    compressed, folder, seconds, *wanted = sys.argv[1:]
    jobs = jobs_of(Path(compressed), Path(folder))
    timed = {name: _TimedJob(jobs[name]) for name in wanted or jobs}
    ends_at = time.monotonic() + float(seconds)
    while True:
        for job in timed.values():
            job.repeat()
        if time.monotonic() >= ends_at:
            break
    print(json.dumps({name: job.ratio for name, job in timed.items()}))


class _TimedJob:
    """A job, and its CPU times as multiples of those of the reference job."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._job = job
        self._ratios: list[float] = []

    @property
    def ratio(self) -> float:
        return median(self._ratios)

    def repeat(self) -> None:
        began = time.process_time()
        self._job()
        half = time.process_time()
        count = 0
        while (now := time.process_time()) - half < half - began:
            reference()
            count += 1
        self._ratios.append((half - began) * count / (now - half))


if __name__ == "__main__":
    main()

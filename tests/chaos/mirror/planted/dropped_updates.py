"""A bug for the mirror: every 10,000th update is not applied, in whatever process of the job.

The count is in a file, so it goes on when the job is killed. Each drop adds a line with the time to
another file.
"""

from __future__ import annotations

import fcntl
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from stream_jobs.apply.changes import UPDATE, Changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Places = NDArray[np.intp]

EVERY: Final = 10_000


def drop_times(count: Path) -> list[float]:
    """Return when updates were dropped; `count` is the file of the count."""
    told = count.with_suffix(".dropped")
    return [float(line) for line in told.read_text().split()] if told.exists() else []


def dropping(count: Path, every: int = EVERY) -> Callable[[Changes, Places], Places]:
    """Return a `Changes.last_of_keys` that leaves out every so manieth update."""
    right = Changes.last_of_keys

    def last_of_keys(self: Changes, places: Places) -> Places:
        found = right(self, places)
        updates = np.flatnonzero(self.ops[found] == UPDATE)
        numbers = _counted(count, len(updates)) + 1 + np.arange(len(updates))
        dropped = updates[numbers % every == 0]
        if len(dropped):
            with count.with_suffix(".dropped").open("a") as told:
                told.write(f"{time.time()}\n" * len(dropped))
        return np.delete(found, dropped)

    return last_of_keys


def _counted(count: Path, more: int) -> int:
    """Return the count, and add to it."""
    with count.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        before = int(file.read() or 0)
        file.truncate(0)
        file.write(str(before + more))
    return before

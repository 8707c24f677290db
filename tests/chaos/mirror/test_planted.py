"""The planted bug drops what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from stream_jobs.apply.changes import UPDATE, Changes
from tests.chaos.mirror import job
from tests.chaos.mirror.planted.dropped_updates import drop_times, dropping

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray


def test_every_so_manieth_update_is_dropped_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def right(self: Changes, places: NDArray[np.intp]) -> NDArray[np.intp]:
        del self
        return places

    monkeypatch.setattr(Changes, "last_of_keys", right)
    count = tmp_path / "count"
    ops = np.full(30, UPDATE)
    ops[5] = ord("d")
    changes = cast("Changes", SimpleNamespace(ops=ops))
    kept = dropping(count, every=10)(changes, np.arange(12))
    assert kept.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    # Another process goes on with the count.
    kept = dropping(count, every=10)(changes, np.arange(12, 30))
    assert kept.tolist() == [place for place in range(12, 30) if place != 20]
    assert len(drop_times(count)) == 2


def test_the_bug_is_in_each_python_of_the_job_and_in_no_other(tmp_path: Path) -> None:
    asked = [sys.executable, "-c"]
    asked.append("from stream_jobs.apply.changes import Changes; print(Changes.last_of_keys)")
    planted = os.environ | job.planted(tmp_path / "count")
    found = [
        subprocess.run(asked, env=each, capture_output=True, text=True, check=True).stdout
        for each in (planted, os.environ)
    ]
    assert ["dropping" in each for each in found] == [True, False]

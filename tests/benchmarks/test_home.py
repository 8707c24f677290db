"""Two benchmarks do not run at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.home import Home
from local_stack.cache import CACHE_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path


def test_a_second_benchmark_ends_and_names_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with Home(1).alone():
        command = [sys.executable, "-m", "benchmarks", "decode", "--quick"]
        second = subprocess.run(command, capture_output=True, text=True, check=False)

    who = f"process {os.getpid()} ({' '.join(sys.orig_argv)})"
    lock = tmp_path / "bench" / "lock"
    assert second.returncode == 1
    assert second.stderr == (
        f"failed: another benchmark runs: {who} holds {lock}; wait for its end\n"
    )
    assert [path.name for path in lock.parent.iterdir()] == ["lock"]


def test_the_next_benchmark_may_begin_when_one_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(ZeroDivisionError), Home(1).alone():
        _ = 1 / 0
    with Home(0.05).alone():
        pass

"""What Spark's scripts start ignores SIGTERM, and ends if the start is broken off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkContext

from stream_jobs.run.spark_session import java_start

if TYPE_CHECKING:
    from pathlib import Path

_ASK = "import signal; print(int(signal.getsignal(signal.SIGTERM)))"


def _disposition() -> int:
    run = subprocess.run(
        ["bash", "-c", 'exec "$0" -c "$1"', sys.executable, _ASK],
        capture_output=True,
        check=True,
        text=True,
    )
    return int(run.stdout)


def test_a_program_that_bash_starts_ignores_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASH_ENV", raising=False)
    with java_start():
        assert _disposition() == signal.SIG_IGN
    assert "BASH_ENV" not in os.environ
    assert _disposition() == signal.SIG_DFL


def test_a_file_of_the_environment_is_executed_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "it's mine.sh").write_text(f"touch {tmp_path}/executed\n")
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("BASH_ENV", "$HERE/it's mine.sh")
    with java_start():
        assert _disposition() == signal.SIG_IGN
    assert (tmp_path / "executed").exists()
    assert os.environ["BASH_ENV"] == "$HERE/it's mine.sh"


def test_an_interrupted_start_kills_the_program_but_none_that_it_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    programs = []

    def start() -> None:
        command = "bash -c 'kill -0 $PPID'; exec sleep 60"
        with java_start():
            programs.append(subprocess.Popen(["bash", "-c", command]))
            time.sleep(0.2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start()
    assert programs[0].wait(10) == -signal.SIGKILL

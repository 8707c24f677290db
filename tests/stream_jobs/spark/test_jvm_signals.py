"""What Spark's scripts start ignores SIGTERM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from stream_jobs.run.spark_session import ignoring_sigterm

if TYPE_CHECKING:
    import pytest

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
    with ignoring_sigterm():
        assert _disposition() == signal.SIG_IGN
    assert "BASH_ENV" not in os.environ
    assert _disposition() == signal.SIG_DFL


def test_a_file_of_the_environment_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASH_ENV", "/dev/null")
    with ignoring_sigterm():
        assert os.environ["BASH_ENV"] == "/dev/null"
    assert os.environ["BASH_ENV"] == "/dev/null"

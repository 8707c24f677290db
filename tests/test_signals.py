"""The suite can be started by anything: by a terminal, a script, `nohup`, a CI system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.signals import SENT

PROJECT = Path(__file__).parents[1]
# What a shell does for `program &` in a script, and more.
DEAF = """
import os, signal, sys
from tests.signals import SENT
for number in SENT:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, SENT)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_program_of_a_test_ignores_and_blocks_no_signal() -> None:
    child = "import signal, sys; print([signal.getsignal(int(n)).name for n in sys.argv[1:]])"
    numbers = [str(int(number)) for number in SENT if number != signal.SIGINT]
    done = subprocess.run(
        [sys.executable, "-c", child, *numbers], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{['SIG_DFL'] * len(numbers)}\n"
    for number in SENT:
        killed = subprocess.run(
            [sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(number)})"], check=False
        )
        expected = 0 if number == signal.SIGCHLD else -number
        assert killed.returncode == expected, number.name


def test_the_suite_hears_signals_that_its_parent_ignores() -> None:
    test = (
        f"{Path(__file__).name}::{test_a_program_of_a_test_ignores_and_blocks_no_signal.__name__}"
    )
    suite = ["-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", f"tests/{test}"]
    done = subprocess.run(
        [sys.executable, "-c", DEAF, *suite],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env={name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout

"""A guarded process ends when it is told to, and when its owner is gone, however it went."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from local_stack.process import GuardedProcess, log_tail
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLEEP = ["sleep", "600"]

# An owner as a process of its own: it prints the pids of the server and of the guard, and waits.
OWNER = """
import os, signal, sys
from pathlib import Path
from local_stack.process import GuardedProcess
process = GuardedProcess(["sleep", "600"], Path(sys.argv[1]), os.environ)
if sys.argv[2] == "forked" and os.fork() == 0:
    signal.pause()
print(process.pid, process._guard.pid, os.getpid(), flush=True)
signal.pause()
"""


@contextmanager
def owner(log: Path, kind: str = "plain") -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """Run OWNER in a session of its own; yield it, and the pids of the server and the guard."""
    command = [sys.executable, "-c", OWNER, str(log), kind]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        server, guard, _ = map(int, process.stdout.readline().split())
        try:
            yield process, server, guard
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                assert process.poll() is not None


def wait_for_end(pid: int) -> None:
    """Return when the process has ended; the test's own timeout bounds the wait."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([descriptor], [], [])
    os.close(descriptor)


def test_a_server_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    with owner(tmp_path / "log") as (process, server, _):
        process.kill()
        wait_for_end(server)


def test_a_server_ends_when_its_owner_is_killed_and_a_forked_copy_lives_on(tmp_path: Path) -> None:
    with owner(tmp_path / "log", "forked") as (process, server, _):
        process.kill()
        wait_for_end(server)


def test_a_server_ends_when_its_guard_is_killed(tmp_path: Path) -> None:
    with owner(tmp_path / "log") as (_, server, guard):
        os.kill(guard, signal.SIGKILL)
        wait_for_end(server)


def test_ctrl_c_reaches_the_owner_alone_and_the_server_ends_with_it(tmp_path: Path) -> None:
    with owner(tmp_path / "log") as (process, server, _):
        assert os.getsid(server) != os.getsid(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        wait_for_end(server)


def test_a_signal_to_all_leaves_the_server_time_for_a_clean_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "trap 'sleep 0.2; echo clean; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    process = GuardedProcess(["sh", "-c", script], log, os.environ)
    while "ready" not in log.read_text():
        time.sleep(0.01)
    # As systemd does, which knows no owners.
    for pid in (process._guard.pid, process.pid):
        os.kill(pid, signal.SIGTERM)
    assert process.wait(30.0)
    assert (process.exit_code, log.read_text()) == (5, "ready\nclean\n")


def test_a_server_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    started: list[GuardedProcess] = []
    thread = threading.Thread(
        target=lambda: started.append(GuardedProcess(SLEEP, tmp_path / "log", os.environ))
    )
    thread.start()
    thread.join()
    (process,) = started
    assert process.is_running
    process.kill()


@pytest.mark.parametrize("end", [GuardedProcess.terminate, GuardedProcess.kill])
def test_a_process_that_was_ended_is_gone(tmp_path: Path, end: object) -> None:
    assert callable(end)
    process = GuardedProcess(SLEEP, tmp_path / "log", os.environ)
    end(process)
    assert not process.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_ending_what_has_ended_does_nothing(tmp_path: Path) -> None:
    process = GuardedProcess(["true"], tmp_path / "log", os.environ)
    wait_for_end(process.pid)
    process.terminate()
    process.kill()


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for word in ("one", "two"):
        process = GuardedProcess(["sh", "-c", f"echo {word}; echo {word} >&2"], log, os.environ)
        wait_for_end(process.pid)
        process.terminate()
    assert log.read_text() == "one\none\ntwo\ntwo\n"


def test_a_command_that_cannot_be_executed_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError) as caught:
        GuardedProcess(["/nowhere/mysqld"], tmp_path / "log", os.environ)
    assert caught.value.text == (
        "/nowhere/mysqld: cannot be executed: "
        "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/mysqld'; give the path "
        "of a program that this user may execute"
    )


def test_the_tail_of_a_log_is_its_last_twenty_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    assert log_tail(log) == "\n".join(f"line {number}" for number in range(80, 100))


def test_the_tail_of_a_missing_or_empty_log_says_that_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert log_tail(log) == "(no log was written)"
    log.touch()
    assert log_tail(log) == "(the log is empty)"


def test_the_tail_of_a_log_has_no_lines_of_an_earlier_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("earlier\n")
    since = log.stat().st_size
    assert log_tail(log, since) == "(nothing was written)"
    with log.open("a") as file:
        file.write("now\n")
    assert log_tail(log, since) == "now"

"""Processes and what they cost: wall time, user and system time, resident memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import BinaryIO

TICKS = os.sysconf("SC_CLK_TCK")
STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.005
# An installation has the bytecode of all modules: it must not be made in each run.
_INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}


class RunFailed(Exception):
    """A program that was to be measured ended with an error."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ran to its end."""

    lines: list[str]  # of its standard output
    wall_s: float
    cpu_s: float
    peak_mb: float


def run_to_end(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    discard_output: bool = False,
    output: Path | None = None,
    on_one_core: bool = True,
) -> Finished:
    """Run `command` and return what it cost; raises RunFailed when it fails.

    Its output goes into the file `output`, or is returned as lines.
    """
    with ExitStack() as stack:
        stdout: BinaryIO | int = subprocess.DEVNULL if discard_output else subprocess.PIPE
        if output is not None:
            stdout = stack.enter_context(output.open("wb"))
        started = time.perf_counter()
        with _one_core() if on_one_core else nullcontext():
            process = subprocess.Popen(
                command, stdout=stdout, env={**os.environ, **_INSTALLED, **(environment or {})}
            )
    peak = 0.0
    while True:
        # What wait4 tells of memory is at least what the parent had when it started the process.
        peak = max(peak, _peak_mb(process.pid))
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(_LOOK_SECONDS)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    # A few lines: they fit into the pipe.
    printed = b""
    if process.stdout is not None:
        with process.stdout as stream:
            printed = stream.read()
    if process.returncode:
        reason = f"{' '.join(command)} ended with {process.returncode}"
        raise RunFailed(reason)
    cpu = usage.ru_utime + usage.ru_stime
    return Finished(printed.decode().splitlines(), wall, cpu, peak)


@contextmanager
def _one_core() -> Iterator[None]:
    """Give what is started meanwhile the last core alone, also its garbage collector's threads."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _peak_mb(pid: int) -> float:
    # One that has ended has no memory.
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a running process has cost so far."""

    cpu_s: float
    rss_mb: float
    peak_mb: float


def usage_of(pid: int) -> Usage:
    """Read /proc; of a process that has ended, raises FileNotFoundError.

    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    # utime and stime are fields 14 and 15, the first behind the name is field 3.
    cpu = (int(stat[11]) + int(stat[12])) / TICKS
    rss, peak = (int(status.get(name, "0 kB").split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return Usage(cpu, rss, peak)


def start(command: Sequence[str], log: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start `command`, everything that it says appended to `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **_INSTALLED, **environment}
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it where it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        say(f"process {process.pid} did not end within {STOP_SECONDS:g} s of SIGTERM: killed")
        process.kill()
        process.wait()


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Let a thread work for the length of a block; the event is set when the block ends.

    Then it raises what has ended the work.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(work, ended)
        try:
            yield
        finally:
            ended.set()
        done.result()


def say(line: str) -> None:
    """Tell the user how far the run is."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()

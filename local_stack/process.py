"""Starts a command as a process that ends with its owner."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from local_stack import stack_errors
from local_stack.stack_errors import LocalStackError

GUARD = Path(__file__).with_name("guard.py")
STOP_SECONDS = 60.0
TAIL_LINES = 20
TAIL_BYTES = 8192


class GuardedProcess:
    """A running command, with its output in a log; it ends with its owner (see `guard`)."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Start `command`; raises LocalStackError if it cannot be executed."""
        self.log = log
        # -I -S: the guard needs nothing of the owner's environment, and starts in 20 ms.
        guarded = [sys.executable, "-I", "-S", str(GUARD), str(log), "--", *command]
        self._guard = subprocess.Popen(  # noqa: S603 - our own script, the caller's command
            guarded,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(environment),
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        with self._guard.stdout as answer:
            line = answer.readline()
        if not line:
            raise LocalStackError(
                stack_errors.NOT_EXECUTED, program=command[0], said=self._complaint()
            )
        self.pid = int(line)

    @property
    def is_running(self) -> bool:
        """Whether the command still runs."""
        return self._guard.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code; 128 plus the signal's number; None while it runs."""
        return self._guard.poll()

    def terminate(self) -> None:
        """Send SIGTERM and wait; after a minute, kill it."""
        self._order(b"T")
        try:
            self._guard.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close()

    def kill(self) -> None:
        """End the command at once."""
        self._order(b"K")
        self._guard.wait()
        self._close()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for the command to end by itself; return whether it did in time."""
        try:
            self._guard.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        self._close()
        return True

    def _order(self, order: bytes) -> None:
        if self.is_running:
            assert self._guard.stdin is not None
            # It may have ended just before the signal, which is as good.
            with suppress(BrokenPipeError):
                self._guard.stdin.write(order)

    def _complaint(self) -> str:
        _, complaint = self._guard.communicate()
        return "".join(complaint.decode(errors="replace").splitlines()[-1:])

    def _close(self) -> None:
        for pipe in (self._guard.stdin, self._guard.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()


def log_tail(log: Path, since: int = 0) -> str:
    """Return the last lines of `log`, for an error text; none that begin before byte `since`."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(since, size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return "(no log was written)"
    return "\n".join(text.splitlines()[-TAIL_LINES:]) or (
        "(nothing was written)" if since else "(the log is empty)"
    )

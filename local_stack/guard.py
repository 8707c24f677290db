"""Runs one server and ends it when its owner is gone: `guard.py LOG -- COMMAND...`.

Started by `process.GuardedProcess` as a process of its own, with the standard library alone::

    owner ── stdin: T = SIGTERM, K = SIGKILL, end of file = the owner is gone ──▶ guard ──▶ server
          ◀── stdout: the server's pid, one line ─────────────────────────────────┘

The owner's end of the pipe is closed by the kernel, whatever ended the owner; a death signal
(prctl) alone would not do, for it fires when the *thread* that started the server ends. The server
itself carries one, in case the guard is killed. Both are in a session of their own, so that Ctrl-C
in a terminal reaches the owner, who decides what stops first. Exits with the server's exit code.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
GRACE_SECONDS = 20.0
# A forked copy of the owner may hold the pipe open: the parent's id is looked at as well.
LOOK_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Run the command after `--`, its output appended to the log; return its exit code."""
    log, _, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    guard, owner = os.getpid(), os.getppid()

    def die_with_guard() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os.kill(os.getpid(), signal.SIGKILL)

    with Path(log).open("ab") as output:
        # The guard has one thread, which is what makes preexec_fn safe.
        server = subprocess.Popen(  # noqa: S603 - the owner's own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=die_with_guard,  # noqa: PLW1509 - see above
        )
    sys.stdout.write(f"{server.pid}\n")
    sys.stdout.close()
    _obey(server, owner)
    code = server.wait()
    return code if code >= 0 else 128 - code


def _obey(server: subprocess.Popen[bytes], owner: int) -> None:
    stdin = sys.stdin.fileno()
    ended = os.pidfd_open(server.pid)
    while True:
        ready, _, _ = select.select([stdin, ended], [], [], LOOK_SECONDS)
        if ended in ready:
            return
        order = os.read(stdin, 1) if stdin in ready else None
        if order == b"T":
            server.terminate()
        elif order == b"K":
            server.kill()
        elif order == b"" or os.getppid() != owner:
            server.terminate()
            if not select.select([ended], [], [], GRACE_SECONDS)[0]:
                server.kill()
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

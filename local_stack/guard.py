"""Runs one server, and ends it when its owner has ended: `guard.py LOG -- COMMAND...`.

`process.GuardedProcess` starts it as a separate process, with only the standard library::

    owner ── stdin: T = SIGTERM, K = SIGKILL, end of file = the owner is gone ──▶ guard ──▶ server
          ◀── stdout: the server's pid, one line ─────────────────────────────────┘

The kernel closes the owner's end of the pipe, whatever ended the owner. A death signal (prctl)
alone is not enough, because it comes when the *thread* that started the server ends. The server
itself has one, in case the guard is killed. Both have their own session, so Ctrl-C in a terminal
reaches only the owner, who decides what stops first. Systemd sends SIGTERM to all three at once:
the guard ignores it, so that the server has time for a clean end. The exit code is that of the
server.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
GRACE_SECONDS = 20.0
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A forked copy of the owner may hold the pipe open, so the parent's id is checked, too.
LOOK_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Run the command after `--`; return its exit code. Its output is appended to the log."""
    log, _, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    guard, owner = os.getpid(), os.getppid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)

    def die_with_guard() -> None:
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os.kill(os.getpid(), signal.SIGKILL)

    with Path(log).open("ab") as output:
        # The guard has one thread, so preexec_fn is safe.
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

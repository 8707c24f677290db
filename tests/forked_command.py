"""The command line in a process that is forked from one which has imported it.

Hundreds of tests run a connector of their own, and half of what such a process costs is the import
of its modules. While the lines of the sources are counted, it is
started as a user starts it.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

import connector

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from multiprocessing.context import ForkServerProcess

NOWHERE = Path(os.devnull)
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.ready_command"])


class Command(Protocol):
    """A process, as `subprocess.Popen` describes it."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one; raises subprocess.TimeoutExpired."""
        ...

    def send_signal(self, number: signal.Signals, /) -> None:
        """Send a signal, unless it has ended."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...


class ForkedCommand:
    """`binlog-connector ARGUMENTS`, forked."""

    def __init__(
        self,
        arguments: Sequence[str],
        errors: Path,
        output: Path,
        environment: Mapping[str, str],
    ) -> None:
        """Start it; what it writes is appended to the files `errors` and `output`."""
        self._arguments = [*arguments]
        self._process: ForkServerProcess = _CONTEXT.Process(
            target=_run,
            args=(self._arguments, errors, output, dict(environment), Path.cwd()),
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one; raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout or 0)
        return code

    def send_signal(self, number: signal.Signals, /) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()


def start(
    *arguments: str,
    errors: Path,
    output: Path = NOWHERE,
    environment: Mapping[str, str] | None = None,
) -> Command:
    """Start the command line; what it writes is appended to the files `errors` and `output`."""
    variables = os.environ | (environment or {})
    if "coverage" not in sys.modules:
        return ForkedCommand(arguments, errors, output, variables)
    with errors.open("ab") as log, output.open("ab") as shown:
        return subprocess.Popen(
            [sys.executable, "-m", "connector", *arguments],
            stdout=shown,
            stderr=log,
            env=variables,
        )


def run(*arguments: str, seconds: float = 60.0, **environment: str) -> CompletedProcess[str]:
    """Run the command line to its end."""
    return run_all([arguments], seconds, **environment)[0]


def run_all(
    commands: Sequence[Sequence[str]], seconds: float = 60.0, **environment: str
) -> list[CompletedProcess[str]]:
    """Run command lines beside each other to their ends."""
    with TemporaryDirectory() as folder:
        files = [
            (Path(folder) / f"{number}.out", Path(folder) / f"{number}.err")
            for number in range(len(commands))
        ]
        started = [
            start(*command, output=output, errors=errors, environment=environment)
            for command, (output, errors) in zip(commands, files, strict=True)
        ]
        return [
            CompletedProcess(
                [*command], process.wait(seconds), output.read_text(), errors.read_text()
            )
            for command, process, (output, errors) in zip(commands, started, files, strict=True)
        ]


def _run(
    arguments: list[str],
    errors: Path,
    output: Path,
    environment: dict[str, str],
    folder: Path,
) -> None:
    """Become the command line; in the new process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream, path in ((sys.stdout, output), (sys.stderr, errors)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream.fileno())
    sys.argv = [str(Path(connector.__file__).with_name("__main__.py")), *arguments]
    from connector.cli import main  # noqa: PLC0415 - it is there when the process is forked

    main()

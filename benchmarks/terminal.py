"""A program in a terminal, and what a person sees there, as text."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import time
from fcntl import ioctl
from termios import TIOCSWINSZ
from typing import TYPE_CHECKING, Final, Self

from benchmarks.process import RunFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_LINES, _COLUMNS = 50, 110
_WAIT_S: Final = 60.0
_LOOK_S: Final = 0.05
_CHUNK: Final = 1 << 16
# A changing picture begins when the cursor is hidden; the one before is removed line by line.
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_REMOVAL: Final = re.compile(r"\r(?:\x1b\[2K|\x1b\[1A)+")
_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The program runs for the length of a block."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Start it in a folder with these variables of the environment alone."""
        self._own, other = pty.openpty()
        ioctl(other, TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            # So that it asks for passwords here, and Ctrl-C reaches it.
            ["setsid", "--ctty", *command],
            cwd=folder,
            env=dict(environment),
            stdin=other,
            stdout=other,
            stderr=other,
        )
        os.close(other)
        self._output = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
        os.close(self._own)

    def answer(self, question: str, answer: str) -> None:
        """Type an answer when the program asks; raises RunFailed if it does not."""
        self.await_text(question)
        os.write(self._own, f"{answer}\n".encode())

    def await_text(self, text: str) -> None:
        """Wait until the program has shown a text; raises RunFailed if it does not."""
        deadline = time.monotonic() + _WAIT_S
        while text.encode() not in self._output:
            if not self.read(_LOOK_S) or time.monotonic() > deadline:
                reason = f"the program has not shown {text!r}:\n{self._output.decode()}"
                raise RunFailed(reason)

    def read(self, seconds: float) -> bool:
        """Read what is shown meanwhile; return whether the program goes on."""
        ends_at = time.monotonic() + seconds
        while (left := ends_at - time.monotonic()) > 0:
            if not select.select([self._own], [], [], left)[0]:
                continue
            try:
                self._output += os.read(self._own, _CHUNK)
            except OSError:
                # The other side of a terminal is closed when the program ends.
                return False
        return True

    def interrupt(self) -> None:
        """Type Ctrl-C, and wait for the end; raises RunFailed if it does not come."""
        os.write(self._own, b"\x03")
        if self.read(_WAIT_S):
            reason = "the program goes on after Ctrl-C"
            raise RunFailed(reason)
        self._process.wait()

    def lines(self) -> list[str]:
        """Return what was shown: of a picture that changes, the last one."""
        return shown_lines(self._output.decode())


def shown_lines(output: str) -> list[str]:
    """Return the lines that a program has shown; of a picture that changes, the last one."""
    before, _, changing = output.partition(_HIDE)
    pictures, _, after = changing.partition(_SHOW)
    # The last one is removed at the end.
    parts = before, _REMOVAL.split(pictures)[-1], _REMOVAL.sub("", after)
    text = _SEQUENCE.sub("", "\n".join(parts)).replace("\r", "")
    return [line.rstrip() for line in text.splitlines()]

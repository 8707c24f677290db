"""A small disk that becomes full, or that the kernel makes read-only as after an error."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.chaos.disk import refusal_of
from tests.integration.harness import wait_until

if TYPE_CHECKING:
    from pathlib import Path

_STEPS = (1 << 20, 1 << 12, 1)


class SmallDisk:
    """An ext4 in a file, mounted at `folder`."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        """Make and mount it; skips the test where the system does not allow it."""
        self.folder = folder
        self._image = folder.with_name(f"{folder.name}.image")
        self._filler = folder / "filler"
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        folder.mkdir()
        # Without blocks that only root may take.
        commands = (["mkfs.ext4", "-q", "-m", "0", str(self._image)], self._mount)
        for command in commands:
            if refused := refusal_of(command):
                pytest.skip(f"no file system of its own: {refused}")

    def fill(self) -> None:
        """Take all room."""
        with self._filler.open("ab") as filler:
            size = 0
            for step in _STEPS:
                while True:
                    try:
                        os.posix_fallocate(filler.fileno(), size, step)
                    except OSError:
                        break
                    size += step

    def empty(self) -> None:
        """Give the room back."""
        self._filler.unlink()

    def fail(self) -> None:
        """Let nobody write any more, as the kernel does after an error of the disk."""
        _require(["mount", "-o", "remount,abort", str(self.folder)])

    def repair(self) -> None:
        """Mount it again; nobody may use it meanwhile."""
        self.remove()
        # It has the mark of the error.
        subprocess.run(["e2fsck", "-p", str(self._image)], check=False, capture_output=True)
        _require(self._mount)

    def remove(self) -> None:
        """Unmount it, when the last process of a lake has ended."""
        command = ["umount", str(self.folder)]
        wait_until(lambda: not refusal_of(command), lambda: refusal_of(command))

    @property
    def _mount(self) -> list[str]:
        return ["mount", "-o", "loop,errors=remount-ro", str(self._image), str(self.folder)]


def _require(command: list[str]) -> None:
    if refused := refusal_of(command):
        raise AssertionError(refused)

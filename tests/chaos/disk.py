"""A file system that can become full without harm to anybody else."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.chaos.failure import ChaosFailure

if TYPE_CHECKING:
    from pathlib import Path

_ROOM = 128 * 1024


class Disk:
    """A tmpfs in a folder, where the system lets us mount one; else the folder as it is."""

    def __init__(self, folder: Path, size: int, *, mounted: bool) -> None:
        """Make `folder`, and have `size` bytes of its own there if it is to be `mounted`."""
        folder.mkdir(parents=True)
        self.folder = folder
        self._size = size
        # Why nothing is mounted; "" where it is.
        self.refused = self._mount() if mounted else "not asked for"

    def fill(self) -> None:
        """Leave so little room that it is full in a moment."""
        for room in range(_ROOM, self._size, _ROOM):
            state = os.statvfs(self.folder)
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            # Refused where more was written meanwhile.
            if not self._remount(f"size={used + room}"):
                return

    def empty(self) -> None:
        """Give the room back."""
        self._require(self._remount(f"size={self._size}"))

    def remove(self, kept: Path | None = None) -> None:
        """Unmount it; its content can be kept in another folder, which is made."""
        if self.refused:
            return
        if kept is not None:
            shutil.copytree(self.folder, kept, ignore=shutil.ignore_patterns("socket"))
        self._require(refusal_of(["umount", str(self.folder)]))

    def _mount(self) -> str:
        options = f"size={self._size}"
        return refusal_of(["mount", "-t", "tmpfs", "-o", options, "chaos", str(self.folder)])

    def _remount(self, options: str) -> str:
        return refusal_of(["mount", "-o", f"remount,{options}", str(self.folder)])

    def _require(self, refused: str) -> None:
        if refused:
            reason = f"the file system of {self.folder}: {refused}"
            raise ChaosFailure(reason)


def refusal_of(command: list[str]) -> str:
    """Run a command; return why it failed, "" if it has not."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return f"there is no command {command[0]}"
    return run.stderr.strip() or f"{command[0]} failed" if run.returncode else ""

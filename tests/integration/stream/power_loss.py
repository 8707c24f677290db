"""What a loss of power leaves of the files of processes that were killed.

`preload` compiles `power_loss.c`, which notes each fsync of a process that has it preloaded. Then
`PowerLoss.strike` does to the files what the kernel may do to everything that was not synced:

- The end of a file, after what was synced, is cut off anywhere, and each block of the rest is kept,
  or is zeros, or is anything. A file that was never synced may lose everything.
- The newest names are gone. Names come to the disk in order, as file systems with a journal write
  them, and a folder that was synced has all its names. A name in the place of another one stays, if
  the caller says so: the content of the other one is not known any more.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from random import Random

TRACE: Final = "SYNC_TRACE"
LIBRARY: Final = "LD_PRELOAD"
_SOURCE: Final = Path(__file__).with_suffix(".c")
_BLOCK: Final = 512
# Device, inode and birth: an inode that is free again becomes that of another file.
_File = tuple[int, int, int]
# Names that are older are on the disk: the kernel writes them every few seconds.
_NAMES_SECONDS: Final = 5.0


def preload(folder: Path) -> dict[str, str]:
    """Return the environment of processes whose fsyncs are noted in `folder`; needs `cc`."""
    library = folder / "power_loss.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"], check=True
    )
    return {LIBRARY: str(library), TRACE: str(folder / "synced")}


@dataclass
class PowerLoss:
    """Counts what was lost."""

    environment: Mapping[str, str]  # from `preload`
    dice: Random
    files: int = 0  # that have lost something
    file_bytes: int = 0  # that were not synced in them
    names: int = 0
    _sizes: dict[_File, int] = field(default_factory=dict)
    _times: dict[_File, float] = field(default_factory=dict)
    _syncs: Counter[_File] = field(default_factory=Counter)
    _position: int = 0

    def __post_init__(self) -> None:
        self._trace = Path(self.environment[TRACE])
        self._birth = ctypes.CDLL(self.environment[LIBRARY]).birth
        self._birth.restype = ctypes.c_longlong

    def strike(self, root: Path, replaced: Collection[str] = ()) -> None:
        """Lose what was not synced below `root`; no process may write there.

        Files named `replaced` keep their names.
        """
        self._read_trace()
        lost_since = time.time() - self.dice.uniform(0, _NAMES_SECONDS)
        for path in sorted(root.rglob("*")):
            if not path.is_file() or path.is_symlink():
                continue
            file, folder_synced = self._file(path), self._times.get(self._file(path.parent), 0.0)
            if (
                path.stat().st_ctime > max(lost_since, folder_synced)
                and self._syncs[file] <= 1  # else it grows: its change is no new name
                and path.name not in replaced
            ):
                path.unlink()
                self.names += 1
            else:
                self._lose_end(path, self._sizes.get(file, 0))
        # What is there now is on the disk.
        for path in root.rglob("*"):
            self._sizes[self._file(path)] = path.stat().st_size

    def _file(self, path: Path) -> _File:
        status = path.lstat()
        return status.st_dev, status.st_ino, self._birth(os.fsencode(path))

    def _read_trace(self) -> None:
        if not self._trace.exists():
            return
        with self._trace.open() as lines:
            lines.seek(self._position)
            # A process that was killed has written a whole line or none.
            for line in iter(lines.readline, ""):
                device, inode, birth, size, at = line.split()
                file = int(device), int(inode), int(birth)
                self._sizes[file] = int(size)
                self._times[file] = float(at)
                self._syncs[file] += 1
            self._position = lines.tell()

    def unsynced_bytes(self, folder: Path) -> int:
        """Return what the files in `folder` may lose now."""
        self._read_trace()
        return sum(
            max(0, path.stat().st_size - self._sizes.get(self._file(path), 0))
            for path in folder.glob("*.log")
        )

    def _lose_end(self, path: Path, synced: int) -> None:
        size = path.stat().st_size
        if size <= synced:
            return
        left = self.dice.choice([synced, size, self.dice.randint(synced, size)])
        with path.open("r+b") as file:
            file.truncate(left)
            for start in range(synced - synced % _BLOCK, left, _BLOCK):
                begin, end = max(start, synced), min(start + _BLOCK, left)
                chance = self.dice.random()
                file.seek(begin)
                if chance < 1 / 4:
                    file.write(bytes(end - begin))
                elif chance < 1 / 2:
                    file.write(self.dice.randbytes(end - begin))
        self.files += 1
        self.file_bytes += size - synced

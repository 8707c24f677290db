"""What a loss of power leaves of the files of processes that were killed.

`preload` compiles `power_loss.c`, which notes each fsync of a process that has it preloaded. Then
`lose_power` does to the files what the kernel may do to everything that was not synced:

- The end of a file, after what was synced, is cut off anywhere, and each block of the rest is kept,
  or is zeros, or is anything. A file that was never synced may lose everything.
- The newest names are gone. Names come to the disk in order, as file systems with a journal write
  them, and a folder that was synced has all its names. A name in the place of another one stays:
  the content of the other one is not known any more.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

TRACE: Final = "SYNC_TRACE"
_SOURCE: Final = Path(__file__).with_suffix(".c")
_BLOCK: Final = 512
# Names that are older are on the disk: the kernel writes them every few seconds.
_NAMES_SECONDS: Final = 5.0


def preload(folder: Path) -> dict[str, str]:
    """Return the environment of processes whose fsyncs are noted in `folder`; needs `cc`."""
    library = folder / "power_loss.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"], check=True
    )
    return {"LD_PRELOAD": str(library), TRACE: str(folder / "synced")}


@dataclass
class PowerLoss:
    """Counts what was lost."""

    trace: Path
    dice: Random
    files: int = 0  # that have lost something
    file_bytes: int = 0  # that were not synced in them
    names: int = 0
    _sizes: dict[tuple[int, int], int] = field(default_factory=dict)
    _times: dict[tuple[int, int], float] = field(default_factory=dict)
    _syncs: Counter[tuple[int, int]] = field(default_factory=Counter)
    _position: int = 0

    def strike(self, root: Path, replaced: Collection[str] = ()) -> None:
        """Lose what was not synced below `root`; no process may write there.

        Files named `replaced` keep their names.
        """
        self._read_trace()
        lost_since = time.time() - self.dice.uniform(0, _NAMES_SECONDS)
        for path in sorted(root.rglob("*")):
            if not path.is_file() or path.is_symlink():
                continue
            status, parent = path.stat(), path.parent.stat()
            folder_synced = self._times.get((parent.st_dev, parent.st_ino), 0.0)
            if (
                status.st_ctime > max(lost_since, folder_synced)
                and (status.st_dev, status.st_ino) not in self._appended
                and path.name not in replaced
            ):
                path.unlink()
                self.names += 1
            else:
                self._lose_end(path, self._sizes.get((status.st_dev, status.st_ino), 0))
        # What is there now is on the disk.
        for path in root.rglob("*"):
            status = path.stat()
            self._sizes[status.st_dev, status.st_ino] = status.st_size

    def _read_trace(self) -> None:
        if not self.trace.exists():
            return
        with self.trace.open() as lines:
            lines.seek(self._position)
            # A process that was killed has written a whole line or none.
            for line in iter(lines.readline, ""):
                device, inode, size, at = line.split()
                own = int(device), int(inode)
                self._sizes[own] = int(size)
                self._times[own] = float(at)
                self._syncs[own] += 1
            self._position = lines.tell()

    def unsynced_bytes(self, folder: Path) -> int:
        """Return what the files in `folder` may lose now."""
        self._read_trace()
        return sum(
            max(0, status.st_size - self._sizes.get((status.st_dev, status.st_ino), 0))
            for status in (path.stat() for path in folder.glob("*.log"))
        )

    @property
    def _appended(self) -> frozenset[tuple[int, int]]:
        """Files that grow: their change is no new name."""
        return frozenset(own for own, count in self._syncs.items() if count > 1)

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

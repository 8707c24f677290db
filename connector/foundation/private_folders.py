"""Folders for temporary files that no other user of the machine may write."""

import getpass
import os
import tempfile
from pathlib import Path
from typing import Final

_OTHERS_WRITE: Final = 0o022


def own_folder(name: str) -> Path:
    """Return the folder `name` of this user, which may not exist yet."""
    return Path(tempfile.gettempdir()) / f"binlog-connector-{getpass.getuser()}" / name


def is_ours_alone(folder: str | Path) -> bool:
    """Return whether this user alone can write into `folder`. Raises OSError without it."""
    status = os.stat(folder)  # noqa: PTH116 - asked for each index of a file
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE


def is_private(folder: Path) -> bool:
    """Create the folder; return whether nobody else can write into it or into the one above."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return is_ours_alone(folder) and is_ours_alone(folder.parent)
    except OSError:
        return False

"""A table of mounts in which a folder is on a file system of another type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from connector.kafka.folder import mounts

# The optional fields before the dash may be many or missing, and a dash may be a name.
LINE = "{mount} 27 0:46 / {point} rw,relatime {fields}- {kind} server:/share rw,vers=4.2"
OTHERS = [
    LINE.format(mount=1, point="/", fields="shared:1 ", kind="ext4"),
    LINE.format(mount=2, point="-", fields="", kind="tmpfs"),
]


def mount(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, fields: str = "") -> None:
    """Let the file system of a folder have the type `kind`."""
    descriptor = os.open(folder, os.O_RDONLY)
    facts = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    os.close(descriptor)
    own = facts.partition("mnt_id:")[2].split()[0]
    line = LINE.format(mount=own, point=r"/a\040b", fields=fields, kind=kind)
    write_mounts(folder, monkeypatch, OTHERS[0], line, OTHERS[1])


def write_mounts(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let the table of mounts have these lines; it is a file beside `folder`."""
    file = folder.parent / "mountinfo"
    file.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(mounts, "_MOUNTS", file)

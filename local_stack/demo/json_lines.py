"""Reads a growing file of JSON lines: the objects that were added since the last call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class JsonLines:
    """Reads the objects of a file that another process appends to."""

    def __init__(self, path: Path) -> None:
        """Begin at the start of `path`, which need not exist yet."""
        self._path = path
        self._offset = 0

    def skip(self) -> None:
        """Skip the lines that exist now."""
        self.read()

    def read(self) -> list[dict[str, Any]]:
        """Return the objects of the new whole lines; lines that are not JSON are skipped."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        # A log may also have lines of libraries.
        lines = (line for line in whole.splitlines() if line[:1] + line[-1:] == b"{}")
        return [json.loads(line) for line in lines]

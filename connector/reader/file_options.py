"""How files are opened and read: what a caller asked for, handed on as one object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from connector.binlog.framing.log_position import FIRST_POSITION


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of `open_binlog` that are not about transactions; it explains them."""

    name: str | None = None
    start_position: int = FIRST_POSITION
    verify_checksum: bool = True
    follow: bool = False
    idle_timeout_seconds: float | None = None

    def of_next_file(self) -> FileOptions:
        """Return the same for a file after the first one, which alone is named and entered."""
        return replace(self, name=None, start_position=FIRST_POSITION)

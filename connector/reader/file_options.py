"""How files are opened and read: the caller's options in one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.binlog.framing.log_position import FIRST_POSITION

if TYPE_CHECKING:
    from connector.changes.table_filter import TableFilter


class FileOptions(NamedTuple):
    """The options of `open_binlog` except those about transactions; its docstring explains them."""

    name: str | None = None
    start_position: int = FIRST_POSITION
    verify_checksum: bool = True
    follow: bool = False
    idle_timeout_seconds: float | None = None
    # Transactions that change no table of these may be left out.
    tables: TableFilter | None = None

    def of_next_file(self) -> FileOptions:
        """Return the options for a later file: only the first one has the name and position."""
        return self._replace(name=None, start_position=FIRST_POSITION)

"""Rows whose outcome is not known yet, in order: the first ones in memory, the rest in a file.

These are rows between XA PREPARE and XA COMMIT, and rows that a savepoint may take back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.row_spool import RowSpool
from connector.errors import TransientError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.row_spool import SpoolFolder
    from connector.changes.transaction import RowsChange, RowsReceiver, SourceTransaction

# Bytes of events of one transaction that stay in memory.
MEMORY_BYTES_MAX: Final = 4 * 1024 * 1024

_NONE: Final = -1


@final
class _Savepoint:
    """The held rows at the time a savepoint was set."""

    def __init__(self, name: str, in_memory: i64, in_file: i64) -> None:
        self.name = name
        self.in_memory: i64 = in_memory  # changes
        self.in_file: i64 = in_file  # bytes


@final
class HeldRows:
    """Changes of rows of one transaction."""

    def __init__(self, folder: SpoolFolder, memory_bytes_max: i64 = MEMORY_BYTES_MAX) -> None:
        """Hold nothing; of later changes, `memory_bytes_max` bytes of events stay in memory.

        The rest goes to a file in `folder`.
        """
        self._folder = folder
        self._memory_bytes_max: i64 = memory_bytes_max
        self._memory: list[RowsChange] = []
        self.memory_bytes: i64 = 0  # bytes of the events in memory
        self._spool: RowSpool | None = None
        self._savepoints: list[_Savepoint] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._memory and (self._spool is None or self._spool.end == 0)

    @property
    def bytes(self) -> i64:
        """Bytes of the events that are held."""
        spooled: i64 = 0 if self._spool is None else self._spool.end
        return self.memory_bytes + spooled

    def add(self, change: RowsChange) -> None:
        """Add a change at the end. Raises TransientError if the disk is full."""
        spool = self._spool
        if spool is None:
            size = _size(change)
            if self.memory_bytes + size <= self._memory_bytes_max:
                self._memory.append(change)
                self.memory_bytes += size
                return
            spool = self._spool = RowSpool(self._folder)
        spool.add(change)

    def hand_on(self, transaction: SourceTransaction, receiver: RowsReceiver) -> None:
        """Give all changes to `receiver`, as changes of `transaction`, and hold nothing.

        Raises TransientError if the file cannot be read, and the receiver's errors.
        """
        for change in self._memory:
            change.transaction = transaction
            receiver.rows(change)
        spool = self._spool
        if spool is not None:
            spool.rewind()
            while (spooled := spool.read(transaction)) is not None:
                receiver.rows(spooled)
        self.drop()

    def set_savepoint(self, name: str) -> None:
        """Remember the rows that are held now."""
        in_file: i64 = 0 if self._spool is None else self._spool.end
        self._savepoints.append(_Savepoint(name, len(self._memory), in_file))

    def roll_back_to(self, name: str) -> bool:
        """Drop the rows after a savepoint; return False if its name is ambiguous or unknown.

        A name that is set again, in any letter case, means only the later savepoint. Outside of
        ASCII, the server's collation decides which names are equal.
        """
        found: i64 = _NONE
        for index, savepoint in enumerate(self._savepoints):
            if not savepoint.name.isascii():
                return False
            if savepoint.name.lower() == name.lower():
                found = index
        if found == _NONE:
            return False
        meant = self._savepoints[found]
        del self._savepoints[found + 1 :]
        del self._memory[meant.in_memory :]
        self.memory_bytes = 0
        for change in self._memory:
            self.memory_bytes += _size(change)
        if self._spool is not None:
            self._spool.truncate(meant.in_file)
        return True

    def leave_memory(self) -> None:
        """Move all rows to the file; savepoints are forgotten.

        Raises TransientError if the disk is full.
        """
        if not self._memory:
            return
        spool = RowSpool(self._folder)
        try:
            for change in self._memory:
                spool.add(change)
            later = self._spool
            if later is not None:
                transaction = self._memory[0].transaction
                later.rewind()
                while (spooled := later.read(transaction)) is not None:
                    spool.add(spooled)
        except TransientError:
            spool.close()
            raise
        self.drop()
        self._spool = spool

    def drop(self) -> None:
        """Drop all rows and savepoints."""
        self._memory = []
        self.memory_bytes = 0
        self._savepoints = []
        if self._spool is not None:
            self._spool.close()
            self._spool = None


def _size(change: RowsChange) -> i64:
    return len(change.event.data) + change.rows.rows_length

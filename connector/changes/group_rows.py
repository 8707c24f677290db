"""The rows of the current group go to the receiver at once, or are held first.

Rows of transactional tables can still be rolled back. MySQL and MariaDB remove such rows from their
cache before they log the group, unless the group holds a change that cannot be rolled back: a
temporary table that was created or dropped (MariaDB, MySQL before 8.0). Then the log has the rows,
and after them ROLLBACK TO SAVEPOINT, or ROLLBACK as the group's end. In row format, this does not
concern tables without transactions: their rows are logged in separate groups that end in COMMIT.
`tests/integration/stream/test_rollback.py` shows it on servers.

So rows after a savepoint are held until the end, and so are rows of MariaDB's groups while these
are short. If a longer group ends in ROLLBACK, the receiver has to take rows back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.held_rows import HeldRows

if TYPE_CHECKING:
    from connector.changes.receiver import ChangeReceiver
    from connector.changes.row_spool import SpoolFolder
    from connector.changes.transaction import RowsChange, SourceTransaction

# Bytes of events; a larger group goes to the receiver before its end is known.
_SHORT_BYTES_MAX: Final = 1024 * 1024


@final
class GroupRows:
    """The rows of followed tables, one group after the other."""

    def __init__(self, receiver: ChangeReceiver, folder: SpoolFolder) -> None:
        """Give rows to `receiver`; those that wait may go to a file in `folder`."""
        self._receiver = receiver
        self._folder = folder
        self._held = HeldRows(folder)
        self._holds = False  # rather than handing on,
        self._while_short = False  # as long as they are few
        self._handed_on = False
        self.any = False  # whether the group has had rows, held or given

    def begin(self, *, while_short: bool) -> None:
        """Expect the rows of the next group; with `while_short`, hold them while they are few."""
        if not self._held.is_empty:
            self._held.drop()
        self._holds = self._while_short = while_short
        self._handed_on = self.any = False

    def hold(self) -> None:
        """Hold all later rows."""
        self._holds = True
        self._while_short = False

    def add(self, change: RowsChange) -> None:
        """Take the next change. Raises the receiver's errors, or TransientError without room."""
        self.any = True
        if not self._holds:
            self._handed_on = True
            self._receiver.rows(change)
            return
        held = self._held
        held.add(change)
        if self._while_short and held.bytes > _SHORT_BYTES_MAX:
            self._holds = False
            self.hand_on(change.transaction)

    def set_savepoint(self, name: str) -> None:
        """Hold the later rows, because they can be rolled back."""
        self.hold()
        self._held.set_savepoint(name)

    def roll_back_to(self, name: str) -> bool:
        """Drop the rows after a savepoint; return False if it is not known which rows these are."""
        return not self.any or (self._holds and self._held.roll_back_to(name))

    def roll_back(self, transaction: SourceTransaction) -> None:
        """Drop all rows; if the receiver has some of them, tell it."""
        if self._handed_on:
            self._receiver.rolled_back(transaction)
        self._held.drop()

    def hand_on(self, transaction: SourceTransaction) -> None:
        """Give the held rows to the receiver, as rows of `transaction`."""
        if not self._held.is_empty:
            self._handed_on = True
            self._held.hand_on(transaction, self._receiver)

    def close(self) -> None:
        """Drop the held rows."""
        self._held.drop()

    def take(self) -> HeldRows | None:
        """Return the held rows, which then belong to the caller; None if there are none."""
        held = self._held
        if held.is_empty:
            return None
        self._held = HeldRows(self._folder)
        return held

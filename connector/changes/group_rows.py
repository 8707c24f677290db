"""Where the rows of the group at hand go: to the receiver at once, or first to where they wait.

Rows of transactional tables may still be taken back. MySQL and MariaDB cut such rows out of their
cache before they log the group, unless something in it cannot be taken back: a temporary table that
was created or dropped (MariaDB, MySQL before 8.0). Then the log has the rows, and behind them
ROLLBACK TO SAVEPOINT, or ROLLBACK as the group's end. In row format, rows of tables without
transactions are not among them: they are logged in groups of their own, which end in COMMIT.
`tests/integration/test_rollback.py` shows it on servers.

So rows behind a savepoint wait for the end, and so do those of MariaDB's groups while they are
short. Of a longer group that ends in ROLLBACK, the receiver has to take rows back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.held_rows import HeldRows

if TYPE_CHECKING:
    from connector.changes.receiver import ChangeReceiver
    from connector.changes.row_spool import SpoolFolder
    from connector.changes.transaction import RowsChange, SourceTransaction

# Bytes of events; a group that is larger goes on to the receiver before its end is known.
_SHORT_BYTES_MAX: Final = 1024 * 1024


@final
class GroupRows:
    """The rows of followed tables of one group after the other."""

    def __init__(self, receiver: ChangeReceiver, folder: SpoolFolder) -> None:
        """Give rows to `receiver`; those that wait may go to a file in `folder`."""
        self._receiver = receiver
        self._folder = folder
        self._held = HeldRows(folder)
        self._holds = False  # rather than handing on,
        self._while_short = False  # as long as they are few
        self._handed_on = False
        self.any = False  # whether the group has had rows, wherever they are

    def begin(self, *, while_short: bool) -> None:
        """Expect the rows of another group; hold them `while_short`."""
        if not self._held.is_empty:
            self._held.drop()
        self._holds = self._while_short = while_short
        self._handed_on = self.any = False

    def hold(self) -> None:
        """Hold all rows that come."""
        self._holds = True
        self._while_short = False

    def add(self, change: RowsChange) -> None:
        """Take the next change. Raises what the receiver raises, TransientError without room."""
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
        """Hold what comes, as it may be taken back."""
        self.hold()
        self._held.set_savepoint(name)

    def roll_back_to(self, name: str) -> bool:
        """Drop the rows behind a savepoint; False where it cannot be told which they are."""
        return not self.any or (self._holds and self._held.roll_back_to(name))

    def roll_back(self, transaction: SourceTransaction) -> None:
        """Drop all rows; the receiver is told where it has some of them."""
        if self._handed_on:
            self._receiver.rolled_back(transaction)
        self._held.drop()

    def hand_on(self, transaction: SourceTransaction) -> None:
        """Give what is held to the receiver, as rows of `transaction`."""
        if not self._held.is_empty:
            self._handed_on = True
            self._held.hand_on(transaction, self._receiver)

    def close(self) -> None:
        """Drop what is held."""
        self._held.drop()

    def take(self) -> HeldRows | None:
        """Return what is held, for whoever keeps it; None where there is nothing."""
        held = self._held
        if held.is_empty:
            return None
        self._held = HeldRows(self._folder)
        return held

"""The interfaces for changes: the receiver of transactions, rows on their way to it, the listener.

A transaction is one or more `RowsChange` and `StatementChange`, closed by `TransactionEnd`. The
receiver gets the pieces as they arrive, so a transaction of any size needs bounded memory. It
drops them again unless `TransactionEnd` follows. A `StreamListener` gets what becomes no record:
it writes a line to the log, or has a table copied.

*Rows that can be rolled back.* MySQL and MariaDB remove such rows from their cache before they log
the group, unless the group holds a change that cannot be rolled back: a temporary table that was
created or dropped (MariaDB, MySQL before 8.0). Then the log has the rows, and after them ROLLBACK
TO SAVEPOINT, or ROLLBACK as the group's end. In row format, this does not concern tables without
transactions: their rows are logged in separate groups that end in COMMIT.
`tests/integration/stream/test_rollback.py` shows it on servers.

So `GroupRows` holds rows after a savepoint until the end, and also rows of MariaDB's groups while
these are short. If a longer group ends in ROLLBACK, the receiver has to take rows back.
"""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from connector.binlog.event import Event
from connector.binlog.statement import Statement
from connector.binlog.table_filter import TableListener
from connector.foundation.errors import UnsupportedChange
from connector.stream.changes.changes_errors import RolledBack
from connector.stream.changes.row_buffer import RowBuffer, SpoolFolder
from connector.stream.changes.transaction import (
    RowsChange,
    RowsReceiver,
    SourceTransaction,
    StatementChange,
)
from connector.stream.changes.xa_transactions import PreparedGroup


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class TransactionEnd:
    """The transaction is complete; `next_position` is the first byte after it."""

    __slots__ = ("file", "next_position", "outcome", "prepared", "transaction")

    def __init__(
        self,
        transaction: SourceTransaction,
        file: str,
        next_position: i64,
        prepared: PreparedGroup | None = None,
        outcome: str = "",
    ) -> None:
        """End `transaction` at `next_position` of `file`.

        `prepared` is the group that it ended with XA PREPARE; `outcome` names the XA transaction
        that it commits or rolls back.
        """
        self.transaction = transaction
        self.file = file
        self.next_position: i64 = next_position
        self.prepared = prepared
        self.outcome = outcome


@mypyc_attr(allow_interpreted_subclasses=True)
class ChangeReceiver(RowsReceiver):
    """Takes the pieces of transactions, in their order."""

    def any_statement(self, statement: Statement, query: str, event: Event) -> None:
        """Take a statement on any tables, also on those that are not followed."""

    def ddl(self, changes: list[StatementChange]) -> None:
        """Take a statement as a whole; its effects follow one by one in `statement`."""

    def statement(self, change: StatementChange) -> None:
        """Take the effect of DDL on a table."""
        raise NotImplementedError

    def transaction_end(self, end: TransactionEnd) -> None:
        """Take the end of a transaction."""
        raise NotImplementedError

    def refusal(
        self,
        refusal: UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
    ) -> None:
        """Take a statement whose rows are not in the log; without quarantine, raise its error."""
        del transaction, event_number, event
        raise refusal

    def rollback(self, transaction: SourceTransaction) -> None:
        """Take back all rows of the current transaction; raise RolledBack if that is impossible."""
        raise RolledBack(transaction.id)

    def ignorable_event(self, event: Event) -> None:
        """Take an event of an unknown type that its server flagged as ignorable."""


# Bytes of events; a larger group goes to the receiver before its end is known.
_SHORT_BYTES_MAX: Final = 1024 * 1024


@final
class GroupRows:
    """The rows of followed tables, one group after the other."""

    def __init__(self, receiver: ChangeReceiver, folder: SpoolFolder) -> None:
        """Give rows to `receiver`; those that wait may go to a file in `folder`."""
        self._receiver = receiver
        self._folder = folder
        self._held = RowBuffer(folder)
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
            self._receiver.rollback(transaction)
        self._held.drop()

    def hand_on(self, transaction: SourceTransaction) -> None:
        """Give the held rows to the receiver, as rows of `transaction`."""
        if not self._held.is_empty:
            self._handed_on = True
            self._held.hand_on(transaction, self._receiver)

    def close(self) -> None:
        """Drop the held rows."""
        self._held.drop()

    def take(self) -> RowBuffer | None:
        """Return the held rows, which then belong to the caller; None if there are none."""
        held = self._held
        if held.is_empty:
            return None
        self._held = RowBuffer(self._folder)
        return held


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamListener(TableListener):
    """Gets each fact at once, in the thread of the stream; this base class does nothing."""

    def event_skipped(self, event: Event) -> None:
        """An event of an unknown type was ignored, because its server flagged it as ignorable."""

    def statement_seen(self, change: StatementChange) -> None:
        """DDL on a followed table has run."""

    def rows_dropped(self, database: str, table: str) -> None:
        """Rows are not published, because the columns of their dropped table are unknown."""

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        """A table must be copied again, after the current transaction."""

    def table_ended(self, database: str, table: str) -> None:
        """A name holds no table any more; "" means every table of the database."""

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: i64, size: i64, seconds: float
    ) -> None:
        """A large transaction has been read up to `end`, which is `file:position`.

        It has `records` with `size` bytes, received and encoded within `seconds`.
        """

    def event_updated(self, database: str, table: str) -> None:
        """Updates of an outbox table have no events; told once for a column list."""

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        """From now on, changes of table `name`, or of one key of it, are held back."""

"""The interface that gets pieces of source transactions from the assembler, in their order.

A transaction is one or more `RowsChange` and `StatementChange`, closed by `Committed`. The receiver
gets the pieces as they arrive, so a transaction of any size needs bounded memory. It drops them
again unless `Committed` follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from mypy_extensions import mypyc_attr

from connector.changes.transaction import RowsReceiver
from connector.errors import RolledBack

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.statement import Statement
    from connector.changes.transaction import SourceTransaction, StatementChange
    from connector.changes.xa import PreparedGroup
    from connector.errors import UnsupportedChange


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Committed:
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

    def committed(self, committed: Committed) -> None:
        """Take the end of a transaction."""
        raise NotImplementedError

    def refused(
        self,
        refusal: UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
    ) -> None:
        """Take a statement whose rows are not in the log; without quarantine, raise its error."""
        del transaction, event_number, event
        raise refusal

    def rolled_back(self, transaction: SourceTransaction) -> None:
        """Take back all rows of the current transaction; raise RolledBack if that is impossible."""
        raise RolledBack(transaction.id)

    def skipped(self, event: Event) -> None:
        """Take an event of an unknown type that its server flagged as ignorable."""

"""What an assembler hands on, as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.foundation.operating_system import TemporaryFolder
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.receiver import ChangeReceiver, TransactionEnd
from connector.stream.changes.transaction import RowsChange, StatementChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event
    from connector.binlog.table_filter import TableFilter

Change = RowsChange | StatementChange | TransactionEnd


class _Received(ChangeReceiver):
    def __init__(self) -> None:
        self.changes: list[Change] = []

    def rows(self, change: RowsChange) -> None:
        self.changes.append(change)

    def statement(self, change: StatementChange) -> None:
        self.changes.append(change)

    def transaction_end(self, end: TransactionEnd) -> None:
        self.changes.append(end)


def changes_of(events: Iterable[Event], tables: TableFilter, **state: Any) -> list[Change]:
    """Return what comes of `events`; `state` is what the assembler is made with."""
    received = _Received()
    assembler = TransactionAssembler(tables, received, TemporaryFolder(), **state)
    for event in events:
        assembler.receive(event)
    return received.changes

"""The events of a log become its transactions, of which nothing is kept in memory.

::

    events   GTID │ BEGIN │ table map │ rows │ … │ XID   GTID │ …
             └─────────────── Transaction ──────────┘   └ …

All of them read from the same iterator: a transaction that is asked for passes over what has not
been read of the one before. Unlike what is published, nothing is refused here: a transaction is
also a group that was rolled back, or is prepared alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.reader.transactions.row_changes import RowChanges, rows_changed_by
from connector.reader.transactions.transaction_events import EventCursor, TransactionEvents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from connector.binlog.event import Event
    from connector.binlog.events.rows import RowsEvent
    from connector.reader.transactions.row_change import RowChange


@final
class Transaction(TransactionEvents):
    """What the source committed as one; its events can be read once, while it is the latest."""

    def rows_events(self) -> Iterator[tuple[Event, RowsEvent]]:
        """Iterate over its events that change rows, and what each of them changes."""
        while (event := self.next_event()) is not None:
            rows = rows_changed_by(event)
            if rows is not None:
                yield event, rows

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[RowChange]:
        """Iterate over its changed rows; `schemas` as in `BinlogReader.row_changes`.

        Of a partial update of JSON documents there is the whole document, or, where the log has
        too little of it, what changes it.
        """
        changes = RowChanges(schemas)
        changes.begin(self)
        while (change := changes.next_change()) is not None:
            yield change


def transactions_of(events: Iterable[Event]) -> Iterator[Transaction]:
    """Yield the transactions that `events` make; each is read before the next one is yielded."""
    cursor = EventCursor(events)
    while (opened := cursor.next_span()) is not None:
        transaction = Transaction(cursor, *opened)
        yield transaction
        transaction.pass_over()


def row_changes_of(
    transactions: Iterable[Transaction], schemas: Mapping[str, Sequence[str]] | None
) -> Iterator[RowChange]:
    """Yield the changed rows of `transactions`; `schemas` as in `BinlogReader.row_changes`."""
    changes = RowChanges(schemas)
    for transaction in transactions:
        changes.begin(transaction)
        while (change := changes.next_change()) is not None:
            yield change

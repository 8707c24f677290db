"""The events of a log become its transactions; no event stays in memory.

::

    events   GTID │ BEGIN │ table map │ rows │ … │ XID   GTID │ …
             └─────────────── Transaction ──────────┘   └ …

All transactions read from the same iterator: the next one skips the unread events of the one
before. Unlike the pipeline, this module refuses nothing: groups that were rolled back, or only
prepared, are transactions, too.
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
    """A transaction of the source; its events can be read once, while it is the latest one."""

    def rows_events(self) -> Iterator[tuple[Event, RowsEvent]]:
        """Iterate over its events that change rows, each with its rows."""
        while (event := self.next_event()) is not None:
            rows = rows_changed_by(event)
            if rows is not None:
                yield event, rows

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[RowChange]:
        """Iterate over its changed rows; `schemas` as in `BinlogReader.row_changes`.

        A partial update of a JSON document gives the whole document, or its changes if the log
        lacks the document before.
        """
        changes = RowChanges(schemas)
        changes.begin(self)
        while (change := changes.next_change()) is not None:
            yield change


def transactions_of(events: Iterable[Event]) -> Iterator[Transaction]:
    """Yield the transactions of `events`; each is read before the next one is yielded."""
    cursor = EventCursor(events)
    while (opened := cursor.next_span()) is not None:
        # Not `*opened`: it would be a call by a list of arguments, for each transaction.
        span, opening = opened
        transaction = Transaction(cursor, span, opening)
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

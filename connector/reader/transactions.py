"""The events of a log become its transactions, of which nothing is kept in memory.

::

    events   GTID │ BEGIN │ table map │ rows │ … │ XID   GTID │ …
             └─────────────── Transaction ──────────┘   └ …

All of them read from the same iterator: a transaction that is asked for passes over what has not
been read of the one before. Unlike what is published, nothing is refused here: a transaction is
also a group that was rolled back, or is prepared alone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connector.binlog.mariadb_events import MariadbGtidEvent
from connector.binlog.partial_row_data import PartialRowDataEvent
from connector.binlog.rows_event import RowsEvent
from connector.binlog.statement_events import QueryEvent
from connector.binlog.transaction_payload import TransactionPayloadEvent
from connector.changes.transaction_bounds import TransactionBounds
from connector.errors import ConfigError
from connector.reader.row_change import RowChange, column_names, image_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from connector.binlog.event import Event
    from connector.binlog.table_map_event import TableMapEvent
    from connector.changes.transaction_bounds import TransactionSpan
    from connector.gtid import Gtid, MariadbGtid


class Transaction:
    """What the source committed as one; its events can be read once, while it is the latest."""

    def __init__(self, cursor: _Cursor, span: TransactionSpan, opening: Event) -> None:
        """Take the events of `span` from `cursor`, behind the first one, `opening`."""
        self._cursor = cursor
        self._span = span
        # The second one is read ahead: behind the GTID, it is the one that names the session.
        second = cursor.next_in(span)
        first = [opening] if second is None else [opening, second]
        self._first = first
        self._events = self._all()
        self._latest = True
        self._passed_over = False  # what was not read of it
        self.server_id = opening.header.server_id  # of the server that committed first
        # When its first statement began, or it was committed, as the server has it; in UTC.
        self.timestamp = datetime.fromtimestamp(opening.header.timestamp, UTC)
        # Of the session; None where the log does not tell.
        self.thread_id = next(filter(None, map(_thread_id, first)), None)
        # Whether its last event has been read. Where the log ends before it, that never is so.
        self.ended = cursor.ended is span

    @property
    def gtid(self) -> Gtid | MariadbGtid | None:
        """Its name; None on a server without GTIDs."""
        return self._span.gtid

    @property
    def file(self) -> str:
        """The file that it is in."""
        return self._span.file

    @property
    def position(self) -> int:
        """Where its first event starts."""
        return self._span.position

    @property
    def next_position(self) -> int:
        """Where the last event ends that was read of it; once it has `ended`, where it does."""
        return self._span.next_position

    def events(self) -> Iterator[Event]:
        """Iterate over its events; those of a compressed one come in place of their payload.

        Raises ConfigError for events that were passed over.
        """
        return self._events

    def rows_events(self) -> Iterator[tuple[Event, RowsEvent]]:
        """Iterate over its events that change rows, and what each of them changes."""
        for event in self._events:
            body = event.body
            if isinstance(body, PartialRowDataEvent):
                if body.rows_event is None:
                    continue
                body = body.rows_event
            if isinstance(body, RowsEvent) and not body.is_dummy:
                yield event, body

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[RowChange]:
        """Iterate over its changed rows; `schemas` as in `BinlogReader.row_changes`.

        Of a partial update of JSON documents there is the whole document, or, where the log has
        too little of it, what changes it.
        """
        seq = 0
        known: TableMapEvent | None = None
        names: list[str] = []
        for event, rows in self.rows_events():
            table_map = rows.table_map
            if table_map is not known:
                known, names = table_map, column_names(table_map, schemas)
            timestamp = datetime.fromtimestamp(event.header.timestamp, UTC)
            for row in rows.rows(apply_diffs=True):
                yield RowChange(
                    table_map.schema,
                    table_map.table,
                    rows.kind.value,
                    image_of(names, row.before),
                    image_of(names, row.after),
                    self._span.gtid,
                    event.file,
                    event.position,
                    timestamp,
                    seq,
                )
                seq += 1

    def pass_over(self) -> None:
        """Go on to the next one, without what was not read of this one."""
        while self._next() is not None:
            self._passed_over = True
        self._latest = False
        if self._passed_over:
            self._first.clear()

    def _all(self) -> Iterator[Event]:
        yield from self._first
        while (event := self._next()) is not None:
            yield event
        if self._passed_over:
            reason = (
                f"{self.file}:{self.position}: the events of this transaction were passed over: "
                "read them before the next transaction is asked for"
            )
            raise ConfigError(reason)

    def _next(self) -> Event | None:
        event = self._cursor.next_in(self._span) if self._latest else None
        if event is not None:
            self.ended = self._cursor.ended is self._span
        return event


def transactions_of(events: Iterable[Event]) -> Iterator[Transaction]:
    """Yield the transactions that `events` make; each is read before the next one is yielded."""
    cursor = _Cursor(events)
    while (opened := cursor.next_span()) is not None:
        transaction = Transaction(cursor, *opened)
        yield transaction
        transaction.pass_over()


class _Cursor:
    """Goes once over the events, of which each belongs to one transaction or to none."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.ended: TransactionSpan | None = None  # the latest one that has
        self._events = _unpacked(events)
        self._bounds = TransactionBounds()
        self._ahead: Event | None = None  # read already, of the next span

    def next_span(self) -> tuple[TransactionSpan, Event] | None:
        """Return the next transaction and its first event, None at the end of the log."""
        event, self._ahead = self._ahead, None
        if event is None:
            event = self._receive()
        while event is not None:
            if self._bounds.span is not None:
                return self._bounds.span, event
            event = self._receive()
        return None

    def next_in(self, span: TransactionSpan) -> Event | None:
        """Return the next event of the latest transaction, None behind its last one."""
        if self.ended is span or self._ahead is not None:
            return None
        event = self._receive()
        if self._bounds.span is span:
            return event
        # It has no end, and another one begins.
        self._ahead = event
        return None

    def _receive(self) -> Event | None:
        event = next(self._events, None)
        if event is not None and self._bounds.receive(event):
            self.ended = self._bounds.span
        return event


def _unpacked(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        if isinstance(event.body, TransactionPayloadEvent):
            yield from event.body.events()
        else:
            yield event


def _thread_id(event: Event) -> int | None:
    body = event.body
    return body.thread_id if isinstance(body, (QueryEvent, MariadbGtidEvent)) else None

"""The events of one transaction after the other, of which nothing is kept in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, final

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.statement import QueryEvent
from connector.changes.transaction_bounds import TransactionBounds
from connector.errors import ConfigError, arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event
    from connector.changes.transaction_bounds import TransactionSpan
    from connector.gtid import Gtid, MariadbGtid


class TransactionEvents:
    """The events of a transaction, which can be read once, while it is the latest."""

    def __init__(self, cursor: EventCursor, span: TransactionSpan, opening: Event) -> None:
        """Take the events of `span` from `cursor`, behind the first one, `opening`."""
        self._cursor = cursor
        self._span = span
        self._opening: Event | None = opening
        # The second one is read ahead: behind the GTID, it is the one that names the session.
        second = cursor.next_in(span)
        self._second = second
        self._latest = True
        self._passed_over = False  # what was not read of it
        self._seconds = opening.header.timestamp
        self.server_id = opening.header.server_id  # of the server that committed first
        # Of the session; None where the log does not tell.
        self.thread_id = _thread_id(opening)
        if self.thread_id is None and second is not None:
            self.thread_id = _thread_id(second)
        # Whether its last event has been read. Where the log ends before it, that never is so.
        self.ended = cursor.ended is span

    @property
    def timestamp(self) -> datetime:
        """When its first statement began, or it was committed, as the server has it; in UTC."""
        return datetime.fromtimestamp(self._seconds, UTC)

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
        while (event := self.next_event()) is not None:
            yield event

    def next_event(self) -> Event | None:
        """Return the next of its `events`, None behind the last one; errors as there."""
        event = self._opening
        if event is not None:
            self._opening = None
            return event
        event = self._second
        if event is not None:
            self._second = None
            return event
        event = self._next()
        if event is None and self._passed_over:
            raise ConfigError(arguments.PASSED_OVER, file=self.file, position=self.position)
        return event

    def pass_over(self) -> None:
        """Go on to the next one, without what was not read of this one."""
        while self._next() is not None:
            self._passed_over = True
        self._latest = False
        if self._passed_over:
            self._opening = None
            self._second = None

    def _next(self) -> Event | None:
        event = self._cursor.next_in(self._span) if self._latest else None
        if event is not None:
            self.ended = self._cursor.ended is self._span
        return event


@final
class EventCursor:
    """Goes once over the events, of which each belongs to one transaction or to none."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.ended: TransactionSpan | None = None  # the latest one that has
        self._events = iter(events)
        self._unpacked: Iterator[Event] | None = None  # of a compressed transaction
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
        event = self._next()
        if event is not None and self._bounds.receive(event):
            self.ended = self._bounds.span
        return event

    def _next(self) -> Event | None:
        """Return the next event, or the next one inside of a compressed transaction."""
        while True:
            if self._unpacked is not None:
                for event in self._unpacked:
                    return event
                self._unpacked = None
            for event in self._events:
                body = event.body
                if not isinstance(body, TransactionPayloadEvent):
                    return event
                self._unpacked = body.events()
                break
            else:
                return None


def _thread_id(event: Event) -> int | None:
    body = event.body
    return body.thread_id if isinstance(body, (QueryEvent, MariadbGtidEvent)) else None

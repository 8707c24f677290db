"""The events of one transaction after the other; no event stays in memory."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import final

from connector.binlog import argument_errors
from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.query import NO_BEGIN, QueryEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.header import GTID_LOG, TRANSACTION_PAYLOAD
from connector.binlog.transactions.transaction_bounds import TransactionBounds, TransactionSpan
from connector.foundation.errors import ConfigError


class TransactionEvents:
    """The events of a transaction, which can be read once, while it is the latest one."""

    def __init__(self, cursor: "EventCursor", span: TransactionSpan, opening: Event) -> None:
        """Take the events of `span` from `cursor`, after the first one, `opening`."""
        self._cursor = cursor
        self._span = span
        self._opening: Event | None = opening
        # The second event is read ahead: after the GTID, it names the session.
        second = cursor.next_in(span)
        self._second = second
        self._latest = True
        self._passed_over = False  # events that were skipped unread
        self._seconds = opening.header.timestamp
        self.server_id = opening.header.server_id  # time of the commit on the first server
        # The session; None if the log does not name it.
        self.thread_id = _thread_id(opening)
        if self.thread_id is None and second is not None:
            self.thread_id = _thread_id(second)
        # Whether its last event has been read; never true if the log ends before it.
        self.ended = cursor.ended is span

    @property
    def timestamp(self) -> datetime:
        """Time of its first statement, or of its commit, as logged by the server; in UTC."""
        return datetime.fromtimestamp(self._seconds, UTC)

    @property
    def gtid(self) -> Gtid | MariadbGtid | None:
        """Its GTID; None on a server without GTIDs."""
        return self._span.gtid

    @property
    def file(self) -> str:
        """The name of its file."""
        return self._span.file

    @property
    def position(self) -> int:
        """Where its first event starts."""
        return self._span.position

    @property
    def next_position(self) -> int:
        """End of its last event that was read; its own end once `ended` is true."""
        return self._span.next_position

    def events(self) -> Iterator[Event]:
        """Iterate over its events; a payload is replaced by its inner events.

        Raises ConfigError if its events were skipped.
        """
        while (event := self.next_event()) is not None:
            yield event

    def next_event(self) -> Event | None:
        """Return the next of its `events`, None after the last one; errors as there."""
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
            raise ConfigError(argument_errors.PASSED_OVER, file=self.file, position=self.position)
        return event

    def pass_over(self) -> None:
        """Skip the unread events of this transaction."""
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
    """Goes over the events once; each belongs to one transaction or to none."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.ended: TransactionSpan | None = None  # the latest transaction
        self._events = iter(events)
        self._unpacked: Iterator[Event] | None = None  # inner events of a compressed transaction
        self._bounds = TransactionBounds()
        self._ahead: Event | None = None  # first event of the next span, read ahead

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
        """Return the next event of the latest transaction, None after its last one."""
        if self.ended is span or self._ahead is not None:
            return None
        event = self._receive()
        if self._bounds.span is span:
            return event
        # This transaction has no end: another one begins.
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
                if event.type_code != TRANSACTION_PAYLOAD:
                    return event
                body = event.body
                assert isinstance(body, TransactionPayloadEvent)
                self._unpacked = body.events()
                break
            else:
                return None


def _thread_id(event: Event) -> int | None:
    if event.type_code == GTID_LOG:
        return None
    session = event.begin_thread_id
    if session != NO_BEGIN:
        return session
    body = event.body
    return body.thread_id if isinstance(body, (QueryEvent, MariadbGtidEvent)) else None

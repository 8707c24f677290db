"""Events become the bounds of transactions, whatever they contain: for tools that only read.

::

    OUTSIDE ──GTID──▶ OPENED ──BEGIN, XA START──▶ INSIDE
       ▲                 │                           │
       └──one statement──┴──XID, COMMIT, ROLLBACK, XA PREPARE

A MariaDB GTID that is not standalone means BEGIN. Servers without GTIDs begin with BEGIN, or with
the first event that belongs to a statement. Unlike `assembler`, this module refuses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from connector.binlog.events.control import (
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StopEvent,
)
from connector.binlog.events.encryption import StartEncryptionEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.heartbeat import HeartbeatEvent
from connector.binlog.events.load import DeleteFileEvent, ExecLoadEvent, LoadEvent
from connector.binlog.events.mariadb import (
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.partial_row_data import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.statement import NO_BEGIN, QueryEvent
from connector.binlog.events.transaction import PreviousGtidsEvent
from connector.binlog.events.xa import XaPrepareEvent
from connector.binlog.framing.event_types import GTID_LOG
from connector.changes.event_meaning import (
    ABOUT_ROWS,
    GTID,
    MEANING_OF_TYPE,
    OTHER,
    QUERY,
    ROWS,
    XID,
)
from connector.changes.statement import StatementKind
from connector.changes.statement_classifier import classify

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event, EventBody
    from connector.gtid import Gtid, MariadbGtid

_OUTSIDE: Final = 0
_OPENED: Final = 1  # after a GTID event that does not mean BEGIN
_INSIDE: Final = 2

# The second word of XA statements that begin a transaction, and of those that end none.
_XA_START = ("START", "BEGIN")
_XA_END = ("END",)


def rows_of(body: EventBody) -> RowsEvent | None:
    """Return the rows that the event holds, or completes as the last fragment."""
    if isinstance(body, PartialRowDataEvent):
        return body.rows_event
    return body if isinstance(body, RowsEvent) else None


@final
@dataclass(slots=True, init=False)
class TransactionSpan:
    """The position of a transaction, and the times of its statements."""

    file: str
    position: int  # of its first event
    next_position: int  # after its last event so far
    gtid: Gtid | MariadbGtid | None
    first_timestamp: int  # seconds since the epoch, of the earliest event
    last_timestamp: int  # of the latest event

    def __init__(
        self,
        file: str,
        position: int,
        next_position: int,
        gtid: Gtid | MariadbGtid | None,
        first_timestamp: int,
        last_timestamp: int,
    ) -> None:
        """Set the fields in their order; written out, because it runs for every transaction."""
        self.file = file
        self.position = position
        self.next_position = next_position
        self.gtid = gtid
        self.first_timestamp = first_timestamp
        self.last_timestamp = last_timestamp

    @property
    def id(self) -> str:
        """The GTID, or `file:position` if there is none."""
        return str(self.gtid) if self.gtid is not None else f"{self.file}:{self.position}"


@final
class TransactionBounds:
    """Follows the events of one log, including inner events of compressed transactions."""

    def __init__(self) -> None:
        """Start outside of a transaction."""
        self._state: i64 = _OUTSIDE
        self.span: TransactionSpan | None = None

    @property
    def is_outside(self) -> bool:
        """Whether no transaction is open."""
        return self._state == _OUTSIDE

    def receive(self, event: Event) -> bool:
        """Take the next event and return whether it ends the transaction in `span`.

        `span` is the transaction of the event, None for an event between transactions. For most
        events the type is enough, so their bodies are not decoded.
        """
        meaning: i64 = MEANING_OF_TYPE[event.type_code]
        if meaning == OTHER and _is_between(event.body):
            if self._state == _OUTSIDE:
                self.span = None
            return False
        if meaning == GTID:
            self._open_by_gtid(event)
        elif self._state == _OUTSIDE:
            self._open(event, None, begun=False)
        span = self.span
        assert span is not None
        timestamp = event.timestamp
        span.next_position = event.next_position
        if timestamp < span.first_timestamp:
            span.first_timestamp = timestamp
        elif timestamp > span.last_timestamp:
            span.last_timestamp = timestamp
        ended = self._ends(event, meaning)
        if ended:
            self._state = _OUTSIDE
        return ended

    def _open_by_gtid(self, event: Event) -> None:
        if event.type_code == GTID_LOG:
            # The body need not be decoded for it.
            gtid, _ = event.opening()
            self._open(event, gtid, begun=False)
            return
        body = event.body
        if isinstance(body, MariadbGtidEvent):
            self._open(event, body.gtid, begun=not body.standalone)
        else:
            tagged = body.gtid if isinstance(body, GtidTaggedEvent) else None
            self._open(event, tagged, begun=False)

    def _open(self, event: Event, gtid: Gtid | MariadbGtid | None, *, begun: bool) -> None:
        timestamp = event.timestamp
        self.span = TransactionSpan(
            event.file, event.position, event.next_position, gtid, timestamp, timestamp
        )
        self._state = _INSIDE if begun else _OPENED

    def _ends(self, event: Event, meaning: i64) -> bool:
        if meaning == XID:
            return True
        if meaning in (ABOUT_ROWS, GTID) or (meaning == ROWS and self._state != _OPENED):
            return False
        if meaning == QUERY and event.begin_thread_id != NO_BEGIN:
            self._state = _INSIDE
            return False
        body = event.body
        if isinstance(body, QueryEvent):
            return self._query_ends(body.query)
        if isinstance(body, XaPrepareEvent):
            return True
        rows = rows_of(body)
        if rows is not None:
            return rows.stmt_end and self._state == _OPENED
        # The last event of a LOAD DATA that has no statement.
        loaded = isinstance(body, (DeleteFileEvent, ExecLoadEvent, LoadEvent))
        return loaded and self._state == _OPENED

    def _query_ends(self, query: str) -> bool:
        statement = classify(query)
        kind = statement.kind
        if kind is StatementKind.BEGIN:
            self._state = _INSIDE
            return False
        if kind is StatementKind.XA:
            words = query.split(maxsplit=2)
            word = words[1].upper() if len(words) > 1 else ""
            if word in _XA_START:
                self._state = _INSIDE
            return word not in _XA_START and word not in _XA_END
        if kind in (StatementKind.COMMIT, StatementKind.ROLLBACK):
            return True
        return self._state == _OPENED


def _is_between(body: EventBody) -> bool:
    """Return whether the event belongs to no transaction."""
    return isinstance(
        body,
        (
            BinlogCheckpointEvent,
            FormatDescriptionEvent,
            HeartbeatEvent,
            IgnorableEvent,
            IncidentEvent,
            MariadbGtidListEvent,
            PreviousGtidsEvent,
            RotateEvent,
            SlaveEvent,
            StartEncryptionEvent,
            StartEventV3,
            StopEvent,
        ),
    )

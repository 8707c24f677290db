"""Events become the bounds of transactions, whatever they contain: for tools that only read.

::

    OUTSIDE ──GTID──▶ OPENED ──BEGIN, XA START──▶ INSIDE
       ▲                 │                           │
       └──one statement──┴──XID, COMMIT, ROLLBACK, XA PREPARE

A MariaDB GTID that is not standalone means BEGIN. Servers without GTIDs begin with BEGIN, or with
the first event that belongs to a statement. Unlike the stream's assembler, this module refuses
nothing.

The role that an event has in a transaction is decided by its type, for most types. So whole groups
of the usual form have bounds that are known by headers alone, and tools that count or leave out
groups need no objects for their events:

::

    GTID │ BEGIN │ [query] table map … rows … │ … │ XID

What has another form (DDL, XA, a rollback, compressed events) is decoded.
"""

from dataclasses import dataclass
from typing import Final, final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64

from connector.binlog import header
from connector.binlog.event import Event, EventBody
from connector.binlog.events import control, mariadb
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.load import DeleteFileEvent, ExecLoadEvent, LoadEvent
from connector.binlog.events.query import NO_BEGIN, QueryEvent, is_begin
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.transaction import PreviousGtidsEvent, XaPrepareEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.rows_decoder import is_rows
from connector.binlog.statement import StatementKind, statement_of

ROLE_OTHER: Final = 0  # the body decides
ROLE_ROWS: Final = 1
ROLE_XID: Final = 2
ROLE_GTID: Final = 3
ROLE_QUERY: Final = 4
ROLE_ABOUT_ROWS: Final = 5  # the rows or statements that follow

_ROLES: Final[dict[int, int]] = {
    header.XID: ROLE_XID,
    header.GTID_LOG: ROLE_GTID,
    header.ANONYMOUS_GTID_LOG: ROLE_GTID,
    header.EventType.GTID_TAGGED_LOG_EVENT: ROLE_GTID,
    header.MARIADB_GTID: ROLE_GTID,
    header.QUERY: ROLE_QUERY,
    header.TABLE_MAP: ROLE_ABOUT_ROWS,
    header.ROWS_QUERY_LOG: ROLE_ABOUT_ROWS,
    header.ANNOTATE_ROWS: ROLE_ABOUT_ROWS,
}

# By type code, which has one byte.
ROLE_OF_TYPE: Final[list[int]] = [
    ROLE_ROWS if is_rows(code) else _ROLES.get(code, ROLE_OTHER) for code in range(256)
]

_OUTSIDE: Final = 0
_OPENED: Final = 1  # after a GTID event that does not mean BEGIN
_INSIDE: Final = 2

# The second word of XA statements that begin a transaction, and of those that end none.
_XA_START = ("START", "BEGIN")
_XA_END = ("END",)


def rows_event_of(body: EventBody) -> RowsEvent | None:
    """Return the rows that the event holds, or completes as the last fragment."""
    if isinstance(body, mariadb.PartialRowDataEvent):
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
        meaning: i64 = ROLE_OF_TYPE[event.type_code]
        if meaning == ROLE_OTHER and _is_between(event.body):
            if self._state == _OUTSIDE:
                self.span = None
            return False
        if meaning == ROLE_GTID:
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
        if event.type_code == header.GTID_LOG:
            # The body need not be decoded for it.
            gtid, _ = event.opening()
            self._open(event, gtid, begun=False)
            return
        body = event.body
        if isinstance(body, mariadb.MariadbGtidEvent):
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
        if meaning == ROLE_XID:
            return True
        if meaning in (ROLE_ABOUT_ROWS, ROLE_GTID) or (
            meaning == ROLE_ROWS and self._state != _OPENED
        ):
            return False
        if meaning == ROLE_QUERY and event.begin_thread_id != NO_BEGIN:
            self._state = _INSIDE
            return False
        body = event.body
        if isinstance(body, QueryEvent):
            return self._query_ends(body)
        if isinstance(body, XaPrepareEvent):
            return True
        rows = rows_event_of(body)
        if rows is not None:
            return rows.stmt_end and self._state == _OPENED
        # The last event of a LOAD DATA that has no statement.
        loaded = isinstance(body, (DeleteFileEvent, ExecLoadEvent, LoadEvent))
        return loaded and self._state == _OPENED

    def _query_ends(self, body: QueryEvent) -> bool:
        statement = statement_of(body)
        kind = statement.kind
        if kind is StatementKind.BEGIN:
            self._state = _INSIDE
            return False
        if kind is StatementKind.XA:
            phase = statement.xa_phase
            if phase in _XA_START:
                self._state = _INSIDE
            return phase not in _XA_START and phase not in _XA_END
        if kind in (StatementKind.COMMIT, StatementKind.ROLLBACK):
            return True
        return self._state == _OPENED


def _is_between(body: EventBody) -> bool:
    """Return whether the event belongs to no transaction."""
    return isinstance(
        body,
        (
            mariadb.BinlogCheckpointEvent,
            FormatDescriptionEvent,
            control.HeartbeatEvent,
            control.IgnorableEvent,
            control.IncidentEvent,
            mariadb.MariadbGtidListEvent,
            PreviousGtidsEvent,
            control.RotateEvent,
            control.SlaveEvent,
            control.StartEncryptionEvent,
            StartEventV3,
            control.StopEvent,
        ),
    )


# Table maps and rows begin with a table id, and have at least so many bytes before a checksum.
TABLE_LENGTH_MIN: Final = 8

_U32: Final = 0xFFFF_FFFF
_U16: Final = 0xFFFF

# Of the body of MariaDB's GTID_EVENT, after the sequence and the domain.
_FLAGS_OFFSET: Final = 12
# Flags of a group that means BEGIN and ends in XID.
_GROUP_FLAGS: Final = (
    mariadb.FL_GROUP_COMMIT_ID
    | mariadb.FL_TRANSACTIONAL
    | mariadb.FL_ALLOW_PARALLEL
    | mariadb.FL_WAITED
)

# What an event may be in such a group, after BEGIN.
PART_TABLE_MAP: Final = 1
PART_ROWS: Final = 2
PART_ABOUT_ROWS: Final = 3
PART_END: Final = 4


def _part_of(type_code: int) -> int:
    if type_code == header.TABLE_MAP:
        return PART_TABLE_MAP
    if ROLE_OF_TYPE[type_code] == ROLE_ROWS:
        return PART_ROWS
    if type_code in (header.ROWS_QUERY_LOG, header.ANNOTATE_ROWS):
        return PART_ABOUT_ROWS
    return PART_END if type_code == header.XID else 0


# By the type of an event; 0: not in such a group.
PARTS: Final = bytes([_part_of(type_code) for type_code in range(256)])


def end_of_group(data: bytes, start: i64, end: i64, trailer: i64) -> i64:
    """Return the end of the group that `data[start:end]` begins with, `start` without such one.

    The bytes are whole events; each ends in `trailer` bytes of a checksum.
    """
    at = end_of_begin(data, start, end, trailer)
    while start < at < end:
        part: i64 = PARTS[data[at + header.TYPE_OFFSET]]
        body = at + header.HEADER_LENGTH
        at += header.size_at(data, at)
        if part == PART_END:
            return at
        if not part or (part <= PART_ROWS and at - trailer - body < TABLE_LENGTH_MIN):
            return start
    return start


def end_of_begin(data: bytes, start: i64, end: i64, trailer: i64) -> i64:
    """Return the end of what begins a group, `start` if it is not of this form."""
    if start >= end:
        return start
    type_code: i64 = data[start + header.TYPE_OFFSET]
    at = start + header.size_at(data, start)
    if type_code == header.MARIADB_GTID:
        flags_at = start + header.HEADER_LENGTH + _FLAGS_OFFSET
        flags: i64 = data[flags_at] if flags_at < at else ~_GROUP_FLAGS
        return start if flags & ~_GROUP_FLAGS else at
    if type_code not in (header.GTID_LOG, header.ANONYMOUS_GTID_LOG):
        return start
    if at >= end or data[at + header.TYPE_OFFSET] != header.QUERY:
        return start
    following = at + header.size_at(data, at)
    return following if is_begin(data, at + header.HEADER_LENGTH, following - trailer) else start


def table_id_at(data: bytes, at: i64) -> i64:
    """Return the table id at the start of a body."""
    return i64(read_i32_le(data, at)) & _U32 | (i64(read_i16_le(data, at + 4)) & _U16) << 32

"""Converts another replication client's position to `source.start`, even inside a transaction.

The position of the client is that of BEGIN, or comes after a transaction. Its set of GTIDs decides
where the stream begins; the log shows whether both mean the same. The log is read from the start
of the file, because SQL does not show every event as a client gets it.

Debezium counts the events from BEGIN on, or on MariaDB from the GTID event on, and the rows of the
event after them. It counts the events inside a compressed transaction like any others. The
assembler counts only row events and statements, because nothing else of a transaction reaches
the encoder.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events.query import NO_BEGIN, QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet, parse_gtid_set
from connector.binlog.header import ANNOTATE_ROWS, EventType
from connector.binlog.statement import StatementKind, statement_of
from connector.binlog.transactions import transaction_bounds
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.replication.log_search import add_gtid, file_dump, gtid_of
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs, no_event
from connector.replication.start_validation import require_position
from connector.stream.migration import migration_errors

# Statements that the assembler does not count.
_UNCOUNTED = (StatementKind.BEGIN, StatementKind.SAVEPOINT, StatementKind.ROLLBACK_TO)
_ENDS = (StatementKind.COMMIT, StatementKind.ROLLBACK)


def count_as_assembler(
    events: Iterator[Event], read_events: int, read_rows: int, *, annotated: bool
) -> tuple[int, int] | None:
    """Return the rows events and statements that were read to their end, and the rows after them.

    `events` begin with the first one that the client counts; with `annotated`, it counts MariaDB's
    ANNOTATE_ROWS, too. Returns None if the transaction does not have so much.
    """
    counted = 0
    sent = _as_sent(events, annotated=annotated)
    for _ in range(read_events):
        event = next(sent, None)
        if event is None or _ends(event):
            return None
        counted += _is_counted(event)
    if not read_rows:
        return counted, 0
    event = next(sent, None)
    body = None if event is None else event.body
    if not isinstance(body, RowsEvent) or body.count() < read_rows:
        return None
    return (counted + 1, 0) if body.count() == read_rows else (counted, read_rows)


def _as_sent(events: Iterator[Event], *, annotated: bool) -> Iterator[Event]:
    """Yield the events that the client counts."""
    for event in events:
        if event.type_code == ANNOTATE_ROWS and not annotated:
            continue
        if event.type_code == EventType.TRANSACTION_PAYLOAD_EVENT:
            body = event.body
            assert isinstance(body, TransactionPayloadEvent)
            yield from body.opened()
        yield event


def _is_counted(event: Event) -> bool:
    body = event.body
    if isinstance(body, QueryEvent):
        return statement_of(body).kind not in _UNCOUNTED
    return transaction_bounds.ROLE_OF_TYPE[event.type_code] == transaction_bounds.ROLE_ROWS


def _ends(event: Event) -> bool:
    body = event.body
    if isinstance(body, QueryEvent):
        return statement_of(body).kind in _ENDS
    return transaction_bounds.ROLE_OF_TYPE[event.type_code] == transaction_bounds.ROLE_XID


# Events that are in no transaction.
_BETWEEN = frozenset(
    {
        EventType.ROTATE_EVENT,
        EventType.STOP_EVENT,
        EventType.FORMAT_DESCRIPTION_EVENT,
        EventType.PREVIOUS_GTIDS_LOG_EVENT,
        EventType.GTID_LIST_EVENT,
        EventType.BINLOG_CHECKPOINT_EVENT,
        EventType.START_ENCRYPTION_EVENT,
    }
)


@dataclass(frozen=True, slots=True)
class ClientPosition:
    """How far the other client has read."""

    file: str
    position: int  # of the open transaction's BEGIN, else of the first byte that was not read
    gtids: str | None = None  # the complete transactions
    events: int = 0  # of the open transaction, that were read to their end
    rows: int = 0  # of the event after them
    annotated: bool = False  # whether the client gets MariaDB's ANNOTATE_ROWS events

    @property
    def is_inside(self) -> bool:
        """Whether a part of a transaction was read."""
        return bool(self.events or self.rows)

    def __str__(self) -> str:
        inside = f" and {self.events} events and {self.rows} rows" if self.is_inside else ""
        return f"{self.file}:{self.position}{inside}"


@dataclass(frozen=True, slots=True)
class _Group:
    """The transaction of a position: the one that the position is in, else the one before it."""

    start: int  # of the transaction that is read next
    gtid: Gtid | MariadbGtid | None = None
    before: Gtid | MariadbGtid | None = None  # of the transaction before it
    is_read: bool = False  # whether the position comes after it


def start_after(server: MysqlServer, read: ClientPosition) -> str:
    """Return the `source.start` that goes on after `read` without a gap and without a repeat.

    Raises SourceRefused if the server does not have this position, or if its log is not the one
    that the client has read; SourceUnavailable if the connection breaks.
    """
    gtids = None
    if read.gtids and server.identity.gtid:
        gtids = parse_gtid_set(read.gtids, server.identity.flavour)
    if gtids is not None and not read.is_inside:
        return f"gtid:{_with_statement(server, read, gtids)}"
    require_position(server, read.file, read.position)
    with file_dump(server, read.file) as log:
        group, rest = _found(server, read, log)
        start = f"position:{read.file}:{group.start}"
        if gtids is not None:
            if not _ends_before(gtids, group):
                raise _other_log(server, read)
            start = f"gtid:{gtids}"
        if read.is_inside:
            counted = count_as_assembler(rest, read.events, read.rows, annotated=read.annotated)
            if counted is None:
                raise _other_log(server, read)
            if any(counted):
                start += f"+{counted[0]}+{counted[1]}"
    return start


def _with_statement(
    server: MysqlServer, read: ClientPosition, gtids: GtidSet | MariadbGtidSet
) -> GtidSet | MariadbGtidSet:
    """Add the transaction before the position, if it alone is missing in the set.

    The client adds the GTID of a statement such as TRUNCATE only when the next transaction begins.
    """
    if read.position > binary_logs(server).get(read.file, 0):
        return gtids
    with file_dump(server, read.file) as log:
        try:
            group, _ = _found(server, read, log)
        except SourceRefused as error:
            if error.code is not dump_errors.NO_EVENT:
                raise
            # This is the file of another server; the set alone says what was read.
            return gtids
    if group.is_read and group.gtid is not None and _ends_before(gtids, group):
        add_gtid(gtids, group.gtid)
    return gtids


def _found(
    server: MysqlServer, read: ClientPosition, log: Iterator[Event]
) -> tuple[_Group, Iterator[Event]]:
    """Return the transaction of the position, and the events of the log from the position on."""
    latest, opened, event = _walked(server, read, log)
    here = read.position
    after = replace(latest, start=here, is_read=True)
    if event is None or event.type_code in _BETWEEN:
        return after, iter(())
    rest = chain([event], log)
    if transaction_bounds.ROLE_OF_TYPE[event.type_code] == transaction_bounds.ROLE_GTID:
        if not read.is_inside:
            return after, rest
        if server.identity.flavour == "mariadb":
            return _Group(here, gtid_of(event), latest.gtid), rest
    elif opened:
        return latest, rest
    elif not latest.start and event.begin_thread_id != NO_BEGIN:
        # Servers before MySQL 5.7 write no event before BEGIN.
        return _Group(here), rest
    raise _other_log(server, read)


def _walked(
    server: MysqlServer, read: ClientPosition, log: Iterator[Event]
) -> tuple[_Group, bool, Event | None]:
    """Return the latest transaction that begins before the position, and the event there.

    The second value says whether the event before the position begins the transaction. There is no
    event at the end of the file. Raises SourceRefused if no event starts at the position.
    """
    group, opened, end = _Group(0), False, 0
    for event in log:
        if event.header.artificial:
            continue
        if event.file != read.file:
            break
        if event.position >= read.position:
            if event.position > read.position:
                break
            return group, opened, event
        opened = transaction_bounds.ROLE_OF_TYPE[event.type_code] == transaction_bounds.ROLE_GTID
        if opened:
            group = _Group(event.position, gtid_of(event), group.gtid)
        end = event.next_position
    if end != read.position:
        raise no_event(server.name, read.file, read.position)
    return group, opened, None


def _ends_before(gtids: GtidSet | MariadbGtidSet, group: _Group) -> bool:
    """Return whether the set has the transactions up to the group, and not the group."""
    before = group.before is None or _has(gtids, group.before)
    return before and group.gtid is not None and not _has(gtids, group.gtid)


def _has(gtids: GtidSet | MariadbGtidSet, gtid: Gtid | MariadbGtid) -> bool:
    if isinstance(gtids, GtidSet):
        return isinstance(gtid, Gtid) and gtid in gtids
    return isinstance(gtid, MariadbGtid) and gtid in gtids


def _other_log(server: MysqlServer, read: ClientPosition) -> SourceRefused:
    return SourceRefused(migration_errors.OTHER_LOG, server=server.name, read=str(read))

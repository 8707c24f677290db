"""How far another replication client has read becomes a `source.start`, also in a transaction.

The position of the client is that of BEGIN, or comes after a transaction. Its set of GTIDs decides
where the stream begins; the log shows whether both mean the same. The log is read from the start of
the file, because SQL does not show every event as a client gets it.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.statement import NO_BEGIN
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent
from connector.binlog.framing.event_types import EventType
from connector.changes.event_meaning import GTID, MEANING_OF_TYPE
from connector.errors import SourceRefused, source_start
from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.gtid.either import parse_gtid_set
from connector.source.server.binary_logs import binary_logs, no_event
from connector.source.start.begun_transaction import counted_as_here
from connector.source.start.start_validation import require_position
from connector.source.stream.log_search import dumped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.source.server.mysql_server import MysqlServer

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
class ReadPosition:
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


def start_after(server: MysqlServer, read: ReadPosition) -> str:
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
    with dumped(server, read.file) as log:
        group, rest = _found(server, read, log)
        start = f"position:{read.file}:{group.start}"
        if gtids is not None:
            if not _ends_before(gtids, group):
                raise _other_log(server, read)
            start = f"gtid:{gtids}"
        if read.is_inside:
            counted = counted_as_here(rest, read.events, read.rows, annotated=read.annotated)
            if counted is None:
                raise _other_log(server, read)
            if any(counted):
                start += f"+{counted[0]}+{counted[1]}"
    return start


def _with_statement(
    server: MysqlServer, read: ReadPosition, gtids: GtidSet | MariadbGtidSet
) -> GtidSet | MariadbGtidSet:
    """Add the transaction before the position, if it alone is missing in the set.

    The client adds the GTID of a statement such as TRUNCATE only when the next transaction begins.
    """
    if read.position > binary_logs(server).get(read.file, 0):
        return gtids
    with dumped(server, read.file) as log:
        try:
            group, _ = _found(server, read, log)
        except SourceRefused as error:
            if error.code is not source_start.NO_EVENT:
                raise
            # This is the file of another server; the set alone says what was read.
            return gtids
    if group.is_read and group.gtid is not None and _ends_before(gtids, group):
        _add(gtids, group.gtid)
    return gtids


def _found(
    server: MysqlServer, read: ReadPosition, log: Iterator[Event]
) -> tuple[_Group, Iterator[Event]]:
    """Return the transaction of the position, and the events of the log from the position on."""
    latest, opened, event = _walked(server, read, log)
    here = read.position
    after = replace(latest, start=here, is_read=True)
    if event is None or event.type_code in _BETWEEN:
        return after, iter(())
    rest = chain([event], log)
    if MEANING_OF_TYPE[event.type_code] == GTID:
        if not read.is_inside:
            return after, rest
        if server.identity.flavour == "mariadb":
            return _Group(here, _gtid(event), latest.gtid), rest
    elif opened:
        return latest, rest
    elif not latest.start and event.begin_thread_id != NO_BEGIN:
        # Servers before MySQL 5.7 write no event before BEGIN.
        return _Group(here), rest
    raise _other_log(server, read)


def _walked(
    server: MysqlServer, read: ReadPosition, log: Iterator[Event]
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
        opened = MEANING_OF_TYPE[event.type_code] == GTID
        if opened:
            group = _Group(event.position, _gtid(event), group.gtid)
        end = event.next_position
    if end != read.position:
        raise no_event(server.name, read.file, read.position)
    return group, opened, None


def _gtid(event: Event) -> Gtid | MariadbGtid | None:
    body = event.body
    if isinstance(body, AnonymousGtidEvent):
        return None
    assert isinstance(body, GtidEvent | GtidTaggedEvent | MariadbGtidEvent)
    return body.gtid


def _ends_before(gtids: GtidSet | MariadbGtidSet, group: _Group) -> bool:
    """Return whether the set has the transactions up to the group, and not the group."""
    before = group.before is None or _has(gtids, group.before)
    return before and group.gtid is not None and not _has(gtids, group.gtid)


def _has(gtids: GtidSet | MariadbGtidSet, gtid: Gtid | MariadbGtid) -> bool:
    if isinstance(gtids, GtidSet):
        return isinstance(gtid, Gtid) and gtid in gtids
    return isinstance(gtid, MariadbGtid) and gtid in gtids


def _add(gtids: GtidSet | MariadbGtidSet, gtid: Gtid | MariadbGtid) -> None:
    if isinstance(gtids, GtidSet):
        assert isinstance(gtid, Gtid)
        gtids.add(gtid)
    else:
        assert isinstance(gtid, MariadbGtid)
        gtids.add(gtid)


def _other_log(server: MysqlServer, read: ReadPosition) -> SourceRefused:
    return SourceRefused(source_start.OTHER_LOG, server=server.name, read=str(read))

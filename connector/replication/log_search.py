"""Searches in a server's log: how a file begins, and what was committed at a time.

SQL shows no times of the log, so short dumps read the events: the first ones of a file, or those of
one file up to a transaction. Such a dump does not register as a replica, and its connection ends
with the answer.

*Times.* A file begins after everything in the files before it, by the server's own clock. So the
first transaction at or after a time is not before the last file that began earlier than that time.
If a transaction has its commit time on this server, this counts (MySQL 8.0.1 and later). Otherwise
the time of its first event counts: the start of its last statement, in whole seconds. Both may go
back a little from one transaction to the next. The first transaction of the log that has reached
the time decides, and everything after it is read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import MariadbGtidEvent, MariadbGtidListEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, PreviousGtidsEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import FIRST_POSITION, EventType
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.record_formats import utc_text
from connector.replication import dump_errors
from connector.replication.dump import open_stream
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from connector.replication.start_point import StartPoint

_US = 1_000_000
_PREVIOUS_GTIDS = (EventType.PREVIOUS_GTIDS_LOG_EVENT, EventType.GTID_LIST_EVENT)
_GTIDS = (
    EventType.GTID_LOG_EVENT,
    EventType.ANONYMOUS_GTID_LOG_EVENT,
    EventType.GTID_TAGGED_LOG_EVENT,
    EventType.GTID_EVENT,
)
_HEARTBEATS = (EventType.HEARTBEAT_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2)
# The reader does not register, so no list of replicas shows it.
_REPLICA_NAME = "binlog-search"


@dataclass(frozen=True, slots=True)
class LogHead:
    """The start of a log file."""

    created: int  # creation time, seconds since 1970
    gtid_set: GtidSet | MariadbGtidSet | None  # all committed before; None if not told


def log_head(server: MysqlServer, file: str) -> LogHead:
    """Read the first events of a file of the server.

    Raises SourceUnavailable or SourceRefused.
    """
    created = 0
    with file_dump(server, file) as events:
        for event in events:
            type_code = event.header.type_code
            if type_code == EventType.FORMAT_DESCRIPTION_EVENT:
                created = event.header.timestamp
            elif type_code in _PREVIOUS_GTIDS:
                return LogHead(created, _previous_gtids(event))
            elif type_code in _GTIDS:
                break
    return LogHead(created, None)


def find_time(server: MysqlServer, text: str) -> StartPoint:
    """Return the position before the first transaction that was committed at `text` or later.

    `text` is a time of ISO 8601 with its zone. If nothing has been committed since, the position is
    the end of the log. Raises SourceRefused for another form, for a time before the oldest log, and
    for one in the future.
    """
    time_us = _microseconds(text)
    (row,) = server.query("SELECT UNIX_TIMESTAMP() AS now")
    now = int(str(row["now"]))
    if time_us >= (now + 1) * _US:
        raise SourceRefused(dump_errors.FUTURE, server=server.name, time=text, now=utc_text(now))
    files = list(binary_logs(server))
    first = _last_begun_before(server, files, time_us)
    if first is None:
        created = log_head(server, files[0]).created
        if time_us < created * _US:
            raise SourceRefused(
                dump_errors.BEFORE_LOGS,
                server=server.name,
                time=text,
                file=files[0],
                begins=utc_text(created),
            )
        first = files[0]
    return _first_transaction(server, first, time_us)


def _last_begun_before(server: MysqlServer, files: list[str], time_us: int) -> str | None:
    """Return the last file that certainly began before the time; None if there is none."""
    low, high = 0, len(files)  # all below `low` began before, none from `high` on
    while low < high:
        middle = (low + high) // 2
        # The header has whole seconds: the file may have begun at any moment of this one.
        if (log_head(server, files[middle]).created + 1) * _US <= time_us:
            low = middle + 1
        else:
            high = middle
    return files[low - 1] if low else None


def _first_transaction(server: MysqlServer, file: str, time_us: int) -> StartPoint:
    """Return the position of the first transaction, from `file` on, that is not earlier."""
    flavour = server.identity.flavour
    gtids: GtidSet | MariadbGtidSet | None = None
    end_file, end_position = file, FIRST_POSITION
    with file_dump(server, file) as events:
        for event in events:
            type_code = event.header.type_code
            if type_code in _GTIDS:
                if _latest_us(event) >= time_us:
                    end_file, end_position = event.file, event.position
                    break
                gtid = gtid_of(event)
                if gtids is not None and gtid is not None:
                    add_gtid(gtids, gtid)
            elif type_code in _PREVIOUS_GTIDS and gtids is None:
                gtids = _previous_gtids(event)
            end_file, end_position = event.file, event.next_position
    return StartPoint(flavour, gtids if server.identity.gtid else None, end_file, end_position)


def gtids_before(server: MysqlServer, file: str, position: int) -> GtidSet | MariadbGtidSet | None:
    """Return every transaction before a position of the log, from the events of that file.

    Returns None if the file does not tell which were before it. Raises SourceUnavailable or
    SourceRefused.
    """
    gtids: GtidSet | MariadbGtidSet | None = None
    with file_dump(server, file) as events:
        for event in events:
            type_code = event.header.type_code
            if gtids is None:
                # The first events of a file tell of the files before it, also at position 4.
                if type_code in _PREVIOUS_GTIDS:
                    gtids = _previous_gtids(event)
            elif event.position >= position or event.file != file:
                break
            elif type_code in _GTIDS and (gtid := gtid_of(event)) is not None:
                add_gtid(gtids, gtid)
    return gtids


def _latest_us(event: Event) -> int:
    """Return the latest time, in microseconds since 1970, that the event's timestamp can mean."""
    body = event.body
    if isinstance(body, GtidEvent | GtidTaggedEvent | AnonymousGtidEvent):
        committed = body.immediate_commit_timestamp
        if committed:
            return committed
    return (event.header.timestamp + 1) * _US - 1


def _previous_gtids(event: Event) -> GtidSet | MariadbGtidSet:
    body = event.body
    if isinstance(body, MariadbGtidListEvent):
        return MariadbGtidSet.of(body.gtids)
    assert isinstance(body, PreviousGtidsEvent)
    return body.gtid_set


def gtid_of(event: Event) -> Gtid | MariadbGtid | None:
    """Return the GTID of an event that begins a transaction; None if it has none."""
    body = event.body
    if isinstance(body, AnonymousGtidEvent):
        return None
    assert isinstance(body, GtidEvent | GtidTaggedEvent | MariadbGtidEvent)
    return body.gtid


def add_gtid(gtids: GtidSet | MariadbGtidSet, gtid: Gtid | MariadbGtid) -> None:
    """Add a GTID to the set of the same server."""
    if isinstance(gtids, GtidSet):
        assert isinstance(gtid, Gtid)
        gtids.add(gtid)
    else:
        assert isinstance(gtid, MariadbGtid)
        gtids.add(gtid)


@contextmanager
def file_dump(server: MysqlServer, file: str) -> Iterator[Iterator[Event]]:
    """Yield the events of the log from the start of `file` to the log's end, but no heartbeats."""
    identity, settings = server.identity, server.settings
    flavour = identity.flavour
    point = StartPoint(flavour, None, file, FIRST_POSITION)
    decoder = EventDecoder(file=file, mariadb=flavour == "mariadb")
    with open_stream(
        identity, settings, point, replica_name=_REPLICA_NAME, stop_at_end=True
    ) as stream:

        def events() -> Iterator[Event]:
            while True:
                data = stream.receive(settings.read_timeout_seconds)
                if data is not None:
                    event = decoder.open(data)
                    if event.header.type_code not in _HEARTBEATS:
                        yield event
                elif stream.ended:
                    return
                else:
                    raise SourceUnavailable(
                        dump_errors.DUMP_HANGS,
                        server=server.name,
                        file=file,
                        seconds=settings.read_timeout_seconds,
                    )

        yield events()


def _microseconds(text: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise SourceRefused(dump_errors.NO_TIME_ZONE, time=text)
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _US + since.microseconds

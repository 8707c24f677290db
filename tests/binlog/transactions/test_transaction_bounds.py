"""Where transactions begin and end, in logs of every kind."""

from __future__ import annotations

from uuid import UUID

import pytest

from connector.binlog.event import Event, EventBody
from connector.binlog.events.context import IntvarEvent
from connector.binlog.events.control import RotateEvent, StopEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    CreateFileEvent,
    ExecLoadEvent,
    LoadFlag,
    LoadFormat,
)
from connector.binlog.events.mariadb import FL_STANDALONE, MariadbGtidEvent, PartialRowDataEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsHeader, RowsKind
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.transaction import GtidEvent, XaPrepareEvent, XaXid, XidEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.header import EventHeader, EventType
from connector.binlog.transactions.transaction_bounds import TransactionBounds

LENGTH = 10
# Of the events that are told by their type.
CODES: dict[type, EventType] = {
    GtidEvent: EventType.GTID_LOG_EVENT,
    MariadbGtidEvent: EventType.GTID_EVENT,
    QueryEvent: EventType.QUERY_EVENT,
    RowsEvent: EventType.WRITE_ROWS_EVENT,
    XidEvent: EventType.XID_EVENT,
}
GTID = GtidEvent(0, 1, 2, None, None, None, None, None, None, Gtid(UUID(int=1), 5))
MARIADB = MariadbGtidEvent(MariadbGtid(0, 1, 5), 0, None)
STANDALONE = MariadbGtidEvent(MariadbGtid(0, 1, 5), FL_STANDALONE, None)
FORMAT = LoadFormat(b"", b"", b"", b"", b"", LoadFlag(0))
XA = XaPrepareEvent(False, XaXid(1, b"x", b""))


def query(text: str) -> QueryEvent:
    return QueryEvent(1, 0, 0, "d", StatusVariables(), text.encode(), text)


def rows(*, stmt_end: bool) -> RowsEvent:
    head = RowsHeader(0xFFFFFF, int(stmt_end), ExtraRowInfo())
    return RowsEvent.dummy(head, RowsKind.INSERT, ("f", 4, "WRITE_ROWS_EVENT"))


BEGIN = query("BEGIN")
ROWS = rows(stmt_end=True)


def code_of(body: EventBody) -> int:
    return CODES.get(type(body), EventType.UNKNOWN_EVENT)


def spans(*bodies: EventBody) -> list[tuple[str, int, int]]:
    """Return the id, and the numbers of the first event and of the one behind, of each."""
    bounds = TransactionBounds()
    found = []
    for number, body in enumerate(bodies):
        header = EventHeader(100 + number, code_of(body), 1, LENGTH, 0, 0)
        event = Event("f", number * LENGTH, (number + 1) * LENGTH, header, body, b"")
        if bounds.receive(event):
            span = bounds.span
            assert span is not None
            assert span.last_timestamp - span.first_timestamp == (
                (span.next_position - span.position) // LENGTH - 1
            )
            found.append((span.id, span.position // LENGTH, span.next_position // LENGTH))
    return found


MYSQL = f"{UUID(int=1)}:5"


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([GTID, BEGIN, ROWS, ROWS, XidEvent(1)], [(MYSQL, 0, 5)]),
        ([GTID, query("CREATE TABLE t (i INT)")], [(MYSQL, 0, 2)]),
        ([GTID, BEGIN, query("INSERT INTO t VALUES (1)"), query("COMMIT")], [(MYSQL, 0, 4)]),
        ([GTID, BEGIN, query("SAVEPOINT `s`"), ROWS, query("ROLLBACK")], [(MYSQL, 0, 5)]),
        ([GTID, BEGIN, ROWS, query("ROLLBACK TO `s`"), XidEvent(1)], [(MYSQL, 0, 5)]),
        ([MARIADB, ROWS, ROWS, XidEvent(1)], [("0-1-5", 0, 4)]),
        ([STANDALONE, query("DROP TABLE t")], [("0-1-5", 0, 2)]),
        ([BEGIN, ROWS, query("COMMIT"), query("DROP TABLE t")], [("f:0", 0, 3), ("f:30", 3, 4)]),
        ([IntvarEvent(2, 7), query("INSERT INTO t VALUES (NULL)")], [("f:0", 0, 2)]),
        ([rows(stmt_end=False), ROWS], [("f:0", 0, 2)]),
        (
            [
                CreateFileEvent(1, 0, 0, "d", "t", [], FORMAT, "f", 1, b""),
                AppendBlockEvent(1, b""),
                ExecLoadEvent(1),
            ],
            [("f:0", 0, 3)],
        ),
        (
            [GTID, query("XA START X'78',X'',1"), ROWS, query("XA END X'78',X'',1"), XA],
            [(MYSQL, 0, 5)],
        ),
        ([GTID, query("XA COMMIT X'78',X'',1")], [(MYSQL, 0, 2)]),
        (
            [PartialRowDataEvent(2, 1, 1, 9, b""), PartialRowDataEvent(2, 2, 0, None, b"", ROWS)],
            [("f:0", 0, 2)],
        ),
        ([RotateEvent(4, "f"), StopEvent()], []),
        # Its end is missing.
        ([GTID, BEGIN, ROWS], []),
        ([GTID, BEGIN, ROWS, GTID, query("DROP TABLE t")], [(MYSQL, 3, 5)]),
    ],
)
def test_a_transaction_has_these_bounds(
    bodies: list[EventBody], expected: list[tuple[str, int, int]]
) -> None:
    assert spans(*bodies) == expected


def test_events_between_transactions_belong_to_none() -> None:
    bounds = TransactionBounds()
    for body, inside in ((GTID, True), (query("DROP TABLE t"), True), (StopEvent(), False)):
        header = EventHeader(0, code_of(body), 1, LENGTH, 0, 0)
        bounds.receive(Event("f", 0, LENGTH, header, body, b""))
        assert (bounds.span is not None) is inside

"""How much of a transaction another client has read, counted as this program counts.

Debezium counts the events from BEGIN on, or on MariaDB from the GTID event on, and the rows of the
event after them. The events inside of a compressed transaction count like others. The assembler
counts rows events and statements alone, because nothing else of a transaction reaches the encoder.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.statement import QueryEvent
from connector.binlog.framing.event_types import ANNOTATE_ROWS, EventType
from connector.changes.event_meaning import MEANING_OF_TYPE, ROWS, XID
from connector.changes.statement import StatementKind
from connector.changes.statement_classifier import classify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event

# Statements that the assembler does not count.
_UNCOUNTED = (StatementKind.BEGIN, StatementKind.SAVEPOINT, StatementKind.ROLLBACK_TO)
_ENDS = (StatementKind.COMMIT, StatementKind.ROLLBACK)


def counted_as_here(
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
        return classify(body.query).kind not in _UNCOUNTED
    return MEANING_OF_TYPE[event.type_code] == ROWS


def _ends(event: Event) -> bool:
    body = event.body
    if isinstance(body, QueryEvent):
        return classify(body.query).kind in _ENDS
    return MEANING_OF_TYPE[event.type_code] == XID

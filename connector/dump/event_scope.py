"""The part of an event for a selection: about the log, about a transaction, or a change of tables.

The tables of a row change are known. Those of a statement are known as far as its text names them
(DDL), else by the databases that the server lists with it, else by its default database.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.events.mariadb import AnnotateRowsEvent, MariadbGtidEvent
from connector.binlog.events.partial_row_data import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.statement import QueryEvent, RowsQueryEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, XidEvent
from connector.binlog.events.xa import XaPrepareEvent
from connector.changes.statement import StatementKind
from connector.changes.statement_classifier import classify
from connector.changes.transaction_bounds import rows_of

if TYPE_CHECKING:
    from connector.binlog.event import EventBody
    from connector.changes.table_filter import TableFilter

GTID_EVENTS = (GtidEvent, GtidTaggedEvent, AnonymousGtidEvent, MariadbGtidEvent)


class Scope(Enum):
    """The part that an event plays."""

    LOG = auto()  # about the log: its format, its end, the contents of earlier logs
    OPENS = auto()  # begins a transaction: its GTID, BEGIN
    WITHIN = auto()  # steers the transaction: SAVEPOINT
    PREFIX = auto()  # belongs to the change that follows it
    CHANGE = auto()  # changes something: rows, a statement
    PAYLOAD = auto()  # holds all of these
    CLOSES = auto()  # ends the transaction


# A statement that controls transactions; every other one changes something.
_CONTROL = {
    StatementKind.BEGIN: Scope.OPENS,
    StatementKind.SAVEPOINT: Scope.WITHIN,
    StatementKind.ROLLBACK_TO: Scope.WITHIN,
    StatementKind.COMMIT: Scope.CLOSES,
    StatementKind.ROLLBACK: Scope.CLOSES,
}
_CHANGES = (
    RowsEvent,
    LoadEvent,
    CreateFileEvent,
    AppendBlockEvent,
    BeginLoadQueryEvent,
    ExecLoadEvent,
    DeleteFileEvent,
)
_PREFIXES = (
    TableMapEvent,
    RowsQueryEvent,
    AnnotateRowsEvent,
    IntvarEvent,
    RandEvent,
    UserVarEvent,
)


def scope_of(body: EventBody) -> Scope:
    """Return the part that an event with this body plays."""
    if isinstance(body, _CHANGES):
        return Scope.CHANGE
    if isinstance(body, PartialRowDataEvent):
        # The last fragment completes the rows; only then the table is known.
        return Scope.PREFIX if body.rows_event is None else Scope.CHANGE
    if isinstance(body, _PREFIXES):
        return Scope.PREFIX
    if isinstance(body, GTID_EVENTS):
        return Scope.OPENS
    if isinstance(body, QueryEvent):
        return _scope_of_statement(body.query)
    if isinstance(body, (XidEvent, XaPrepareEvent)):
        return Scope.CLOSES
    if isinstance(body, TransactionPayloadEvent):
        return Scope.PAYLOAD
    return Scope.LOG


def _scope_of_statement(query: str) -> Scope:
    kind = classify(query).kind
    if kind is not StatementKind.XA:
        return _CONTROL.get(kind, Scope.CHANGE)
    # XA START and XA END are around the rows, XA COMMIT and XA ROLLBACK are alone.
    verb = query.split(maxsplit=2)[1].upper()
    return {"START": Scope.OPENS, "END": Scope.WITHIN}.get(verb, Scope.CLOSES)


def touches(body: EventBody, tables: TableFilter) -> bool:
    """Return whether the change or the table map concerns one of `tables`.

    The blocks of a file of LOAD DATA name no table, so they always do.
    """
    rows = rows_of(body)
    if rows is not None:
        return tables.follows(rows.table_map.schema, rows.table_map.table)
    if isinstance(body, (TableMapEvent, LoadEvent, CreateFileEvent)):
        return tables.follows(body.schema, body.table)
    if isinstance(body, QueryEvent):
        return _statement_touches(body, tables)
    return True


def _statement_touches(body: QueryEvent, tables: TableFilter) -> bool:
    named = classify(body.query).tables
    if named:
        return any(
            tables.follows(database or body.schema, table)
            if table
            else tables.may_follow_database(database)
            for database, table in named
        )
    databases = body.updated_databases
    return any(map(tables.may_follow_database, [body.schema] if databases is None else databases))

"""Events become the SQL that undoes their row changes, newest first.

::

    events ──▶ BEGIN row row COMMIT │ BEGIN row COMMIT ──▶ spool ──read backwards──▶ SQL

Each row becomes a statement at once and goes into a temporary file, which is read backwards after
the last event. So memory holds the rows of one event, and the input is read once: standard input
and compressed files work, too.

*Completeness.* A change without rows (a statement, DDL) that follows the rows of its table cannot
be undone; it is an error. So is a group that was rolled back, and an XA transaction, because its
outcome is elsewhere in the log. A transaction that does not end is left out: the server rolls it
back.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import CreateFileEvent, LoadEvent
from connector.binlog.events.statement import QueryEvent
from connector.binlog.events.xa import XaPrepareEvent
from connector.changes.statement import StatementKind
from connector.changes.statement_classifier import classify
from connector.changes.transaction_bounds import TransactionBounds, rows_of, with_inner_events
from connector.errors import DecodeError, UnsupportedChange, log_undo
from connector.flashback.table_undo import TableUndo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.changes.statement import Statement
    from connector.changes.transaction_bounds import TransactionSpan
    from connector.flashback.spool import Spool

# The session must accept values that a strict server refuses but that were stored (zero dates, the
# error value of an ENUM), and only the rows may change.
SESSION = (
    "SET NAMES utf8mb4;",
    "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';",
    "SET SESSION time_zone = '+00:00';",
    "SET SESSION foreign_key_checks = 0;",
)


class Undo:
    """Takes the selected events of logs, in their order, and returns the SQL."""

    def __init__(self, spool: Spool, omitted: frozenset[str] = frozenset()) -> None:
        """Keep statements in `spool`; leave out columns named `database.table.column`."""
        self._spool = spool
        self._omitted = omitted
        self._bounds = TransactionBounds()
        # The transaction whose statements end the spool, and the offset where they begin.
        self._span: TransactionSpan | None = None
        self._mark = 0
        self._tables: dict[tuple[str, str], tuple[TableMapEvent, TableUndo]] = {}

    def receive(self, event: Event) -> None:
        """Take the next event.

        Raises UnsupportedChange for a change that cannot be undone, EventError for a row that
        cannot be read.
        """
        for inner in with_inner_events(event):
            self._receive(inner)

    def statements(self) -> Iterator[str]:
        """Yield the SQL, line by line; do not call `receive` afterwards."""
        self._drop_unfinished()
        yield from SESSION
        yield from reversed(self._spool)

    def _receive(self, event: Event) -> None:
        ended = self._bounds.receive(event)
        if self._span is not None and self._bounds.span is not self._span:
            self._drop_unfinished()
        body = event.body
        rows = rows_of(body)
        if rows is not None and not rows.is_dummy:
            self._rows(event, rows)
        elif isinstance(body, QueryEvent):
            self._statement(event, body)
        elif isinstance(body, XaPrepareEvent) and not body.one_phase and self._span is not None:
            raise UnsupportedChange(log_undo.XA, file=event.file, position=event.position)
        elif isinstance(body, (LoadEvent, CreateFileEvent)):
            raise UnsupportedChange(log_undo.LOAD, file=event.file, position=event.position)
        elif isinstance(body, IncidentEvent):
            raise UnsupportedChange(log_undo.INCIDENT, file=event.file, position=event.position)
        if ended and self._span is not None:
            self._spool.append(f"\n{_title(self._span)}\nBEGIN;")
            self._span = None

    def _drop_unfinished(self) -> None:
        if self._span is not None:
            self._spool.cut(self._mark)
            self._span = None

    def _rows(self, event: Event, body: RowsEvent) -> None:
        if self._span is None:
            self._span = self._bounds.span
            self._mark = self._spool.mark()
            self._spool.append("COMMIT;")
        for statement in self._undo_of(event, body.table_map).statements(body):
            self._spool.append(statement)

    def _undo_of(self, event: Event, table_map: TableMapEvent) -> TableUndo:
        name = (table_map.schema, table_map.table)
        known = self._tables.get(name)
        if known is not None and known[0] == table_map:
            return known[1]
        try:
            undo = TableUndo(table_map, self._omitted)
        except DecodeError as error:
            raise UnsupportedChange(
                log_undo.IN_EVENT, file=event.file, position=event.position, why=error
            ) from error
        self._tables[name] = (table_map, undo)
        return undo

    def _statement(self, event: Event, body: QueryEvent) -> None:
        statement = classify(body.query)
        kind = statement.kind
        if kind in (StatementKind.ROLLBACK, StatementKind.ROLLBACK_TO):
            if self._span is not None:
                raise UnsupportedChange(
                    log_undo.ROLLBACK, file=event.file, position=event.position, verb=kind.value
                )
        elif kind is StatementKind.DML:
            raise UnsupportedChange(
                log_undo.STATEMENT,
                file=event.file,
                position=event.position,
                verb=statement.verb,
                database=body.schema,
            )
        else:
            for schema, table in self._changed_by(statement, body):
                raise UnsupportedChange(
                    log_undo.DDL,
                    file=event.file,
                    position=event.position,
                    verb=kind.value,
                    table=f"{schema}.{table}",
                )

    def _changed_by(self, statement: Statement, body: QueryEvent) -> Iterator[tuple[str, str]]:
        """Yield the tables that a statement changes and that have rows to undo."""
        if statement.kind is StatementKind.CREATE_TABLE:
            return
        for database, table in statement.tables:
            for name in self._tables:
                if name[0] == (database or body.schema) and table in ("", name[1]):
                    yield name


def _title(span: TransactionSpan) -> str:
    moment = datetime.fromtimestamp(span.last_timestamp, UTC)
    # A line break would end the comment.
    file = span.file.replace("\n", "\\n")
    title = f"-- {file}:{span.position}, {moment:%Y-%m-%d %H:%M:%S} UTC"
    return title if span.gtid is None else f"{title}, {span.gtid}"

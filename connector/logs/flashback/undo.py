"""The SQL that undoes the row changes of a log, newest first.

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

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, final

from mypy_extensions import i64

from connector.binlog.event import Event, EventBody, TransactionPayloadEvent
from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import CreateFileEvent, LoadEvent
from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.events.query import NO_BEGIN, QueryEvent
from connector.binlog.events.status_variables import zeroes_dates
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import XaPrepareEvent
from connector.binlog.statement import Statement, StatementKind, statement_of
from connector.binlog.transactions import transaction_bounds
from connector.foundation.errors import ConfigError, DecodeError, UnsupportedChange
from connector.foundation.errors.code import ErrorCode
from connector.logs import undo_errors
from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.undo_statements import TableUndo
from connector.logs.output import ByteFormat, LineOutput, encoded

# The session must accept values that a strict server refuses but that were stored (zero dates, the
# error value of an ENUM), and only the rows may change.
SESSION = (
    "SET NAMES utf8mb4;",
    "SET SESSION sql_mode = 'ANSI_QUOTES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';",
    "SET SESSION time_zone = '+00:00';",
    "SET SESSION foreign_key_checks = 0;",
)


@final
class Undo(ByteFormat):
    """Takes the selected events of logs, in their order, and writes the SQL at the end."""

    def __init__(self, spool: ReverseSpool, omitted: frozenset[str] = frozenset()) -> None:
        """Keep statements in `spool`; leave out columns named `database.table.column`."""
        self._spool = spool
        self._omitted = omitted
        self._left_out: set[str] = set()  # of these, the columns that occurred
        self._bounds = transaction_bounds.TransactionBounds()
        # The transaction whose statements end the spool, and the offset where they begin.
        self._span: transaction_bounds.TransactionSpan | None = None
        self._mark: i64 = 0
        self._second = -1  # of the last title, since the epoch,
        self._moment = ""  # and how it is written
        self._tables: dict[tuple[str, str], tuple[TableMapEvent, TableUndo]] = {}
        # Of the latest rows, because the next ones mostly change the same table.
        self._table_map: TableMapEvent | None = None
        self._undo: TableUndo | None = None

    def put(self, event: Event, output: LineOutput) -> None:
        """Take the next event; nothing is written yet.

        Raises UnsupportedChange for a change that cannot be undone, EventError for a row that
        cannot be read.
        """
        del output
        self._take(event)
        if transaction_bounds.ROLE_OF_TYPE[event.type_code] == transaction_bounds.ROLE_OTHER:
            body = event.body
            if isinstance(body, TransactionPayloadEvent):
                for inner in body.events():
                    self._take(inner)

    def put_statements(self, output: LineOutput) -> None:
        """Write the SQL; do not call `put` afterwards.

        Raises ConfigError for a column to leave out that no version of its table has, or whose
        table the log has under a name in other letter case.
        """
        self._drop_unfinished()
        for name in sorted(self._omitted - self._left_out):
            for database, table in self._tables:
                full_name = f"{database}.{table}"
                # A server with lower_case_table_names=1 logs rows under the name in lower case.
                if name.lower().startswith(f"{full_name}.".lower()):
                    raise ConfigError(undo_errors.NO_SUCH_COLUMN, name=name, table=full_name)
        output.write(SESSION)
        self._spool.put_reversed(output)

    def _take(self, event: Event) -> None:
        ended = self._bounds.receive(event)
        if self._span is not None and self._bounds.span is not self._span:
            self._drop_unfinished()
        meaning: i64 = transaction_bounds.ROLE_OF_TYPE[event.type_code]
        if meaning == transaction_bounds.ROLE_ROWS:
            self._rows(event, event.body)
        elif meaning == transaction_bounds.ROLE_OTHER or (
            meaning == transaction_bounds.ROLE_QUERY and event.begin_thread_id == NO_BEGIN
        ):
            self._other(event)
        if ended and self._span is not None:
            self._spool.append(self._title(self._span))
            self._span = None

    def _other(self, event: Event) -> None:
        body = event.body
        if isinstance(body, PartialRowDataEvent):
            self._rows(event, body)
        elif isinstance(body, QueryEvent):
            self._statement(event, body)
        elif isinstance(body, XaPrepareEvent) and not body.one_phase and self._span is not None:
            raise _refused(undo_errors.XA, event)
        elif isinstance(body, (LoadEvent, CreateFileEvent)):
            raise _refused(undo_errors.LOAD, event)
        elif isinstance(body, IncidentEvent):
            raise _refused(undo_errors.INCIDENT, event)

    def _drop_unfinished(self) -> None:
        if self._span is not None:
            self._spool.cut(self._mark)
            self._span = None

    def _rows(self, event: Event, body: EventBody) -> None:
        rows = transaction_bounds.rows_event_of(body)
        if rows is None or rows.is_dummy:
            return
        if self._span is None:
            self._span = self._bounds.span
            self._mark = self._spool.mark()
            self._spool.append(b"COMMIT;")
        undo = self._undo
        if undo is None or rows.table_map is not self._table_map:
            undo = self._undo = self._undo_of(event, rows.table_map)
            self._table_map = rows.table_map
        undo.put(rows, self._spool)

    def _undo_of(self, event: Event, table_map: TableMapEvent) -> TableUndo:
        name = (table_map.schema, table_map.table)
        known = self._tables.get(name)
        if known is not None:
            if known[0] is table_map:
                return known[1]
            if known[0] == table_map:
                # Each file has an object of its own; comparing them takes longer than the row.
                self._tables[name] = (table_map, known[1])
                return known[1]
        try:
            undo = TableUndo(table_map, self._omitted)
        except DecodeError as error:
            raise _refused(undo_errors.IN_EVENT, event, why=error) from error
        self._left_out |= undo.left_out
        self._tables[name] = (table_map, undo)
        return undo

    def _statement(self, event: Event, body: QueryEvent) -> None:
        statement = statement_of(body)
        kind = statement.kind
        if kind in (StatementKind.ROLLBACK, StatementKind.ROLLBACK_TO):
            if self._span is not None:
                raise _refused(undo_errors.ROLLBACK, event, verb=kind.value)
        elif kind is StatementKind.DML:
            raise _refused(undo_errors.STATEMENT, event, verb=statement.verb)
        else:
            for schema, table in self._changed_by(statement, body):
                table_name = f"{schema}.{table}"
                raise _refused(undo_errors.DDL, event, verb=kind.value, table=table_name)

    def _changed_by(self, statement: Statement, body: QueryEvent) -> Iterator[tuple[str, str]]:
        """Yield the tables that a statement changes and that have rows to undo.

        A server with lower_case_table_names=1 logs a statement as the client wrote it, and rows
        under the name in lower case.
        """
        if not _changes_rows(statement.kind, body):
            return
        statement.resolve(body.schema, lower_case=True)
        for database, table in statement.tables:
            for name in self._tables:
                if name[0].lower() == database and table in ("", name[1].lower()):
                    yield name

    def _title(self, span: transaction_bounds.TransactionSpan) -> bytes:
        """Return the comment and the BEGIN before the statements of a transaction."""
        second = span.last_timestamp
        if second != self._second:
            self._second = second
            self._moment = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S} UTC"
        # A line break would end the comment.
        file = span.file.replace("\n", "\\n")
        title = f"\n-- {file}:{span.position}, {self._moment}"
        if span.gtid is not None:
            title = f"{title}, {span.gtid}"
        return encoded(f"{title}\nBEGIN;")


def _changes_rows(kind: StatementKind, body: QueryEvent) -> bool:
    """Return whether DDL of this kind changes or removes rows, or their columns."""
    if kind is StatementKind.INDEX:
        # It may rebuild the table.
        return zeroes_dates(body.status_variables.sql_mode or 0)
    return kind.empties_tables or kind is StatementKind.ALTER_TABLE


def _refused(code: ErrorCode, event: Event, **facts: Any) -> UnsupportedChange:
    return UnsupportedChange(code, file=event.file, position=event.position, **facts)

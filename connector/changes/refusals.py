"""Changes of followed tables that are logged as statements, and what the user can do about each.

The log says that such a statement ran, but not which rows it changed. If the stream continued, the
mirror would differ from the source without a warning.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import CreateFileEvent, LoadEvent
from connector.changes.statement import Statement, StatementKind
from connector.errors import UnsupportedChange

if TYPE_CHECKING:
    from connector.binlog.event import Event, EventBody
    from connector.binlog.events.statement import QueryEvent
    from connector.changes.table_filter import TableFilter
    from connector.changes.tokens import Token
    from connector.changes.transaction import SourceTransaction


class Refusal(NamedTuple):
    """Why a change cannot be replicated, and what to do about it."""

    what: str
    fix: str
    # Advice if the change is kept in quarantine and its table must be copied.
    fix_kept_back: str = ""
    # What was changed, if that is known completely.
    database: str | None = None
    table: str | None = None


_ROW_FORMAT = (
    "a session ran with binlog_format=STATEMENT or MIXED: SET GLOBAL binlog_format=ROW, take the "
    "right to change it from the application, repair the rows it touched, and continue behind it: "
    "give the pipeline a new name and set source.start"
)
_ROW_FORMAT_KEPT_BACK = (
    "a session ran with binlog_format=STATEMENT or MIXED: SET GLOBAL binlog_format=ROW, and take "
    "the right to change it from the application"
)

# Advice for the parts of transactions that `assembler` refuses.
ASCII_SAVEPOINTS = (
    "which savepoint is meant cannot be told for certain: give savepoints names in ASCII, repair "
    "the rows it touched, and continue behind it: give the pipeline a new name and set source.start"
)
PLAIN_TRANSACTIONS = "use plain transactions on followed tables"
XA_BEFORE = (
    "where they are of followed tables, repair these; then continue behind it: give the pipeline a "
    "new name and set source.start"
)

_COPY = (
    "changes may be missing from its log, so copy the followed tables anew, and continue behind "
    "it: give the pipeline a new name and set source.start"
)


def unsupported_event(body: EventBody, tables: TableFilter) -> Refusal | None:
    """Return why an event without a rule of its own cannot be replicated, None if it can."""
    if isinstance(body, IncidentEvent):
        message = f" ({body.message})" if body.message else ""
        return Refusal(f"the server's report of an incident, {body.name}{message},", _COPY)
    if isinstance(body, (LoadEvent, CreateFileEvent)) and tables.follows(body.schema, body.table):
        what = f"LOAD DATA into {body.schema}.{body.table}, logged as a statement,"
        return Refusal(what, _ROW_FORMAT, _ROW_FORMAT_KEPT_BACK, body.schema, body.table)
    return None


def unsupported(statement: Statement, body: QueryEvent, tables: TableFilter) -> Refusal | None:
    """Return why the statement cannot be replicated, None if it can.

    The text does not name all changed tables: triggers and functions may change others.
    """
    # `ddl` handles CREATE TABLE … SELECT and other DDL on followed tables.
    if statement.kind is StatementKind.DML and not statement.tables:
        return _statement_format(statement, body, tables)
    return None


def _statement_format(
    statement: Statement, body: QueryEvent, tables: TableFilter
) -> Refusal | None:
    if body.status_variables.too_many_databases:
        what = f"{statement.verb} in more databases than the log names, logged as a statement,"
        return Refusal(what, _ROW_FORMAT)
    databases = body.updated_databases
    if databases is None:
        # MariaDB does not list them: the text names all databases but the session's own.
        databases = [body.schema, *_qualifiers(statement.tokens)]
    touched = [name for name in databases if tables.may_follow_database(name)]
    if not touched:
        return None
    what = f"{statement.verb} in database {touched[0]}, logged as a statement,"
    known = body.updated_databases is not None and len(set(touched)) == 1
    return Refusal(what, _ROW_FORMAT, _ROW_FORMAT_KEPT_BACK, touched[0] if known else None)


def _qualifiers(tokens: list[Token]) -> list[str]:
    """Return the names before a dot: databases, and tables and aliases with their columns."""
    return [token.name for token, dot in pairwise(tokens) if dot.text == "." and token.is_name]


def refused_change(
    refusal: Refusal, transaction: SourceTransaction | None, event: Event
) -> UnsupportedChange:
    """Return the error for `event` in `transaction`, or outside of a transaction."""
    name = transaction.id if transaction is not None else "none"
    what = (
        f"{event.file}:{event.position}: {refusal.what} cannot be carried without loss "
        f"(transaction {name})"
    )
    return UnsupportedChange(
        f"{what}: {refusal.fix}. Nothing from this transaction was published",
        database=refusal.database,
        table=refusal.table,
        event=event.data,
        kept_back=f"{what}: {refusal.fix_kept_back}" if refusal.fix_kept_back else "",
        passable=True,
    )

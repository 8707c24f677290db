"""Changes of followed tables that are logged as statements, and what to do about each.

The log tells that such a statement ran, but not which rows it changed. Carrying on would make the
mirror differ from the source without anyone knowing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from connector.binlog.control_events import IncidentEvent
from connector.binlog.load_events import CreateFileEvent, LoadEvent
from connector.changes.statement import Statement, StatementKind

if TYPE_CHECKING:
    from connector.binlog.event import EventBody
    from connector.binlog.statement_events import QueryEvent
    from connector.changes.table_filter import TableFilter
    from connector.changes.tokens import Token

_ROW_FORMAT = (
    "a session ran with binlog_format=STATEMENT or MIXED: SET GLOBAL binlog_format=ROW, take the "
    "right to change it from the application, repair the rows it touched, and continue behind it: "
    "give the pipeline a new name and set source.start"
)

# What to do about the parts of transactions that `assembler` refuses.
NO_MIXING = (
    "the group mixes engines with and without transactions, and which rows stayed is not in the "
    "log: use InnoDB for followed tables"
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


def unsupported_event(body: EventBody, tables: TableFilter) -> tuple[str, str] | None:
    """Return (what it is, what to do) for an event that no other rule is about, else None."""
    if isinstance(body, IncidentEvent):
        message = f" ({body.message})" if body.message else ""
        return f"the server's report of an incident, {body.name}{message},", _COPY
    if isinstance(body, (LoadEvent, CreateFileEvent)) and tables.follows(body.schema, body.table):
        return f"LOAD DATA into {body.schema}.{body.table}, logged as a statement,", _ROW_FORMAT
    return None


def unsupported(
    statement: Statement, body: QueryEvent, tables: TableFilter
) -> tuple[str, str] | None:
    """Return (what it is, what to do) when the statement cannot be carried, else None."""
    # What CREATE TABLE … SELECT and other DDL do to followed tables is carried: see `ddl`.
    if statement.kind is StatementKind.DML and not statement.tables:
        return _statement_format(statement, body, tables)
    return None


def _statement_format(
    statement: Statement, body: QueryEvent, tables: TableFilter
) -> tuple[str, str] | None:
    if body.status_variables.too_many_databases:
        what = f"{statement.verb} in more databases than the log names, logged as a statement,"
        return what, _ROW_FORMAT
    databases = body.updated_databases
    if databases is None:
        # MariaDB does not list them: the text names those that are not the session's own.
        databases = [body.schema, *_qualifiers(statement.tokens)]
    touched = [name for name in databases if tables.may_follow_database(name)]
    if not touched:
        return None
    return f"{statement.verb} in database {touched[0]}, logged as a statement,", _ROW_FORMAT


def _qualifiers(tokens: list[Token]) -> list[str]:
    """Return what stands before a dot: databases, and tables and aliases with their columns."""
    return [token.name for token, dot in pairwise(tokens) if dot.text == "." and token.is_name]

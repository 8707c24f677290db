"""Changes of followed tables that are logged as statements, and what the user can do about each.

The log says that such a statement ran, but not which rows it changed. If the stream continued, the
mirror would differ from the source without a warning.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import CreateFileEvent, LoadEvent
from connector.changes.statement import Statement, StatementKind
from connector.errors import UnsupportedChange, table_statements
from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.binlog.event import Event, EventBody
    from connector.binlog.events.statement import QueryEvent
    from connector.changes.table_filter import TableFilter
    from connector.changes.tokens import Token
    from connector.changes.transaction import SourceTransaction
    from connector.errors.code import ErrorCode

# What older servers write for a MEMORY table that a restart has emptied.
_OF_A_RESTART: Final = re.compile(r"DELETE FROM `(?:[^`]|``)+`\.`(?:[^`]|``)+`")


def unsupported_event(
    event: Event, body: EventBody, tables: TableFilter, transaction: SourceTransaction | None
) -> UnsupportedChange | None:
    """Return why an event that no other rule is about cannot be published, None if it can."""
    if isinstance(body, IncidentEvent):
        if not body.message:
            return refused_change(table_statements.INCIDENT, transaction, event, incident=body.name)
        return refused_change(
            table_statements.INCIDENT_TOLD,
            transaction,
            event,
            incident=body.name,
            told=body.message,
        )
    if isinstance(body, (LoadEvent, CreateFileEvent)) and tables.follows(body.schema, body.table):
        return refused_change(
            table_statements.LOAD_DATA,
            transaction,
            event,
            body.schema,
            body.table,
            rule=Message(table_statements.BY_EITHER_FORMAT, {}),
        )
    return None


def unsupported(
    statement: Statement,
    body: QueryEvent,
    tables: TableFilter,
    transaction: SourceTransaction,
    event: Event,
) -> UnsupportedChange | None:
    """Return why the statement cannot be published, None if it can.

    The text does not name all changed tables: triggers and functions may change others.
    """
    # What CREATE TABLE … SELECT and other DDL do to followed tables is published: see `ddl`.
    if statement.kind is not StatementKind.DML or statement.tables:
        return None
    if body.status_variables.too_many_databases:
        return refused_change(
            table_statements.STATEMENT_OF_MANY,
            transaction,
            event,
            verb=statement.verb,
            rule=_rule(body),
        )
    databases = body.updated_databases
    if databases is None:
        # MariaDB does not list them: the text names all databases but the session's own.
        databases = [body.schema, *_qualifiers(statement.tokens)]
    touched = [name for name in databases if tables.may_follow_database(name)]
    if not touched:
        return None
    known = body.updated_databases is not None and len(set(touched)) == 1
    return refused_change(
        table_statements.STATEMENT,
        transaction,
        event,
        touched[0] if known else None,
        verb=statement.verb,
        schema=touched[0],
        rule=_rule(body),
    )


def _rule(body: QueryEvent) -> Message:
    """Return by which rule the server has logged a statement, without its values."""
    from connector.logging_rules.stated_text import (  # noqa: PLC0415 - it loads a parser of SQL
        reasons_in_text,
    )

    if _OF_A_RESTART.fullmatch(body.query):
        return Message(table_statements.BY_RESTART, {})
    # Of the servers, only MySQL lists databases.
    variables = body.status_variables
    mysql = variables.updated_databases is not None or variables.too_many_databases
    reasons = reasons_in_text(body.query, mysql=mysql)
    if not reasons:
        either = table_statements.BY_EITHER_FORMAT
        return Message(either if mysql else table_statements.BY_FORMAT_OR_VERSIONS, {})
    shown = {"reasons": sorted(reason.value for reason in reasons)}
    by_format = table_statements.BY_STATEMENT_FORMAT
    return Message(by_format if mysql else table_statements.BY_STATEMENT_OR_VERSIONS, shown)


def _qualifiers(tokens: list[Token]) -> list[str]:
    """Return the names before a dot: databases, and tables and aliases with their columns."""
    return [token.name for token, dot in pairwise(tokens) if dot.text == "." and token.is_name]


def refused_change(
    code: ErrorCode,
    transaction: SourceTransaction | None,
    event: Event,
    database: str | None = None,
    table: str | None = None,
    **facts: object,
) -> UnsupportedChange:
    """Return the error for what `event` did in `transaction`, if one has begun.

    `database` and `table` name the changed object, if nothing else can have changed.
    """
    return UnsupportedChange(
        code,
        log_position=f"{event.file}:{event.position}",
        transaction=transaction.id if transaction is not None else "none",
        database=database,
        table=table,
        event=event.data,
        **facts,
    )

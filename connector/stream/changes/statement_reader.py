"""The statements of one stream: kinds, and effects on tables or the reason why unsupported.

DDL has effects on followed tables (`ddl_effects`). A change of a followed table that is logged as
a statement is unsupported: the log says that the statement ran, but not which rows it changed. If
the stream continued, the mirror would differ from the source without a warning. The error says
what the user can do about it.
"""

import re
from collections.abc import Iterable
from typing import Final, final

from mypy_extensions import i64

from connector.binlog.event import Event, EventBody
from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import CreateFileEvent, LoadEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.status_variables import UNKNOWN_MODE
from connector.binlog.gtid import MariadbGtid
from connector.binlog.statement import (
    Statement,
    StatementKind,
    may_be_temporary,
    named_databases,
    statement_of,
)
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import UnsupportedChange
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.stream.changes import changes_errors
from connector.stream.changes.column_lists import PublishedColumns, column_list_edits
from connector.stream.changes.ddl_effects import statement_changes
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import ChangeReceiver
from connector.stream.changes.transaction import LoggedStatement, SourceTransaction

# What older servers write for a MEMORY table that a restart has emptied.
_OF_A_RESTART: Final = re.compile(r"DELETE FROM `(?:[^`]|``)+`\.`(?:[^`]|``)+`")


def unsupported_event(
    event: Event, body: EventBody, tables: TableFilter, transaction: SourceTransaction | None
) -> UnsupportedChange | None:
    """Return why an event that no other rule is about cannot be published, None if it can."""
    if isinstance(body, IncidentEvent):
        if not body.message:
            return unsupported_change(
                changes_errors.INCIDENT, transaction, event, incident=body.name
            )
        return unsupported_change(
            changes_errors.INCIDENT_TOLD,
            transaction,
            event,
            incident=body.name,
            told=body.message,
        )
    if isinstance(body, (LoadEvent, CreateFileEvent)) and tables.follows(body.schema, body.table):
        return unsupported_change(
            changes_errors.LOAD_DATA,
            transaction,
            event,
            body.schema,
            body.table,
            rule=Message(changes_errors.BY_EITHER_FORMAT, {}),
        )
    return None


def unsupported_statement(
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
        return unsupported_change(
            changes_errors.STATEMENT_OF_MANY,
            transaction,
            event,
            verb=statement.verb,
            rule=_rule(body),
        )
    databases: Iterable[str] | None = body.updated_databases
    if databases is None:
        # MariaDB does not list them: the text names all databases but the session's own.
        databases = named_databases(body)
    touched = list(dict.fromkeys(name for name in databases if tables.may_follow_database(name)))
    if not touched:
        return None
    known = body.updated_databases is not None and len(touched) == 1
    return unsupported_change(
        changes_errors.STATEMENT,
        transaction,
        event,
        touched[0] if known else None,
        verb=statement.verb,
        schema=touched[0],
        rule=_rule(body),
    )


def _rule(body: QueryEvent) -> Message:
    """Return by which rule the server has logged a statement, without its values."""
    from connector.rules.sql_parser import reasons_in_text  # noqa: PLC0415

    if _OF_A_RESTART.fullmatch(body.query):
        return Message(changes_errors.BY_RESTART, {})
    # Of the servers, only MySQL lists databases.
    variables = body.status_variables
    mysql = variables.updated_databases is not None or variables.too_many_databases
    reasons = reasons_in_text(body.query, mysql=mysql)
    if not reasons:
        either = changes_errors.BY_EITHER_FORMAT
        return Message(either if mysql else changes_errors.BY_FORMAT_OR_VERSIONS, {})
    shown = {"reasons": sorted(reason.value for reason in reasons)}
    by_format = changes_errors.BY_STATEMENT_FORMAT
    return Message(by_format if mysql else changes_errors.BY_STATEMENT_OR_VERSIONS, shown)


def unsupported_change(
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


@final
class StatementReader:
    """Reads statements, and gives their effects to the receiver."""

    def __init__(
        self,
        tables: TableFilter,
        receiver: ChangeReceiver,
        online: OnlineSchemaChanges,
        columns: PublishedColumns,
        *,
        lower_case_names: bool,
    ) -> None:
        """Give effects on `tables` to `receiver`.

        `online`, `columns` and `lower_case_names` as in `TransactionAssembler`.
        """
        self._columns = columns
        self._tables = tables
        self._receiver = receiver
        self._online = online
        self._lower_case_names = lower_case_names

    def read(self, body: QueryEvent) -> Statement:
        """Return the classified statement."""
        statement = statement_of(body)
        statement.resolve(body.schema, lower_case=self._lower_case_names)
        return statement

    def hand_on(
        self,
        statement: Statement,
        body: QueryEvent,
        transaction: SourceTransaction,
        number: i64,
        event: Event,
    ) -> None:
        """Give the receiver the effects of a statement, event `number` of `transaction`.

        Raises the receiver's errors: UnsupportedChange for rows that are not in the log, unless it
        can do without these rows.
        """
        refusal = unsupported_statement(statement, body, self._tables, transaction, event)
        if refusal is not None:
            self._receiver.refusal(refusal, transaction, number, event)
        self._receiver.any_statement(statement, body.query, event)
        mode = body.status_variables.sql_mode
        is_mariadb = isinstance(transaction.gtid, MariadbGtid)
        changes = statement_changes(
            statement,
            LoggedStatement(transaction, number, event, body.query),
            self._tables,
            self._online,
            self._columns,
            UNKNOWN_MODE if mode is None else mode,
            in_doubt=may_be_temporary(statement, event.header.flags, is_mariadb=is_mariadb),
        )
        if changes:
            edits = column_list_edits(statement, body, event.header.flags, is_mariadb=is_mariadb)
            for change in changes:
                change.edits = edits
            self._receiver.ddl(changes)
        for change in changes:
            self._receiver.statement(change)

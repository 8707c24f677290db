"""DDL becomes changes of the followed tables that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.changes.added_columns import added_columns
from connector.changes.statement import Statement, StatementKind
from connector.changes.transaction import StatementChange

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.binlog.statement_events import QueryEvent
    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import Transaction


def statement_changes(
    statement: Statement,
    body: QueryEvent,
    tables: TableFilter,
    transaction: Transaction,
    number: i64,
    event: Event,
) -> list[StatementChange]:
    """Return what `statement`, the text of `body`, changes in `tables`.

    `number` counts the event in `transaction`.
    """
    kind = statement.kind
    if kind is StatementKind.CREATE_TABLE:
        # The rows of a new table come as events.
        return []
    added = (
        added_columns(statement, event.header.timestamp)
        if kind is StatementKind.ALTER_TABLE
        else []
    )
    changes: list[StatementChange] = []
    for named_database, table in statement.tables:
        database = named_database or body.schema
        followed = (
            tables.may_follow_database(database)
            if kind is StatementKind.DROP_DATABASE
            else tables.follows(database, table)
        )
        if followed:
            changes.append(
                StatementChange(
                    transaction, number, event, kind, database, table, added, body.query
                )
            )
    return changes

"""Statements of one stream: the kind of each, and its effects on followed tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.changes.ddl import statement_changes
from connector.changes.list_edits import list_edits
from connector.changes.refusals import unsupported
from connector.changes.sql_mode import UNKNOWN_MODE
from connector.changes.statement_classifier import classify
from connector.changes.temporary_tables import may_be_temporary
from connector.gtid import MariadbGtid

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.binlog.events.statement import QueryEvent
    from connector.changes.known_columns import PublishedColumns
    from connector.changes.online_schema_change import OnlineChanges
    from connector.changes.receiver import ChangeReceiver
    from connector.changes.statement import Statement
    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import SourceTransaction


@final
class StatementReader:
    """Reads statements, and gives their effects to the receiver."""

    def __init__(
        self,
        tables: TableFilter,
        receiver: ChangeReceiver,
        online: OnlineChanges,
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
        statement = classify(body.query)
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
        refusal = unsupported(statement, body, self._tables, transaction, event)
        if refusal is not None:
            self._receiver.refused(refusal, transaction, number, event)
        self._receiver.any_statement(statement, body.query, event)
        mode = body.status_variables.sql_mode
        is_mariadb = isinstance(transaction.gtid, MariadbGtid)
        changes = statement_changes(
            statement,
            body.query,
            self._tables,
            self._online,
            self._columns,
            UNKNOWN_MODE if mode is None else mode,
            transaction,
            number,
            event,
            in_doubt=may_be_temporary(statement, event.header.flags, is_mariadb=is_mariadb),
        )
        if changes:
            edits = list_edits(statement, body, event.header.flags, is_mariadb=is_mariadb)
            for change in changes:
                change.edits = edits
            self._receiver.ddl(changes)
        for change in changes:
            self._receiver.statement(change)

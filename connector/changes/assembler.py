"""Events become transactions.

::

    OUTSIDE ──GTID──▶ OPENED ──BEGIN──▶ INSIDE ──rows, statements──▶ INSIDE
       ▲                 │                 │
       └────statement────┴──XID, COMMIT────┘  XA_PREPARE

MySQL writes GTID (or ANONYMOUS_GTID), then BEGIN … XID for row changes, or a single QUERY for DDL.
MariaDB's GTID event implies BEGIN unless it is flagged standalone. Servers without either write
BEGIN alone. What MySQL has compressed comes inside a TRANSACTION_PAYLOAD_EVENT behind the GTID.

*Completeness.* Nothing that could have changed a followed table passes without a `Change` or an
error: rows of a group that ends in ROLLBACK, ROLLBACK TO SAVEPOINT or XA PREPARE, and changes
logged as statements are refused here by name. XA COMMIT passes where XA PREPARE was seen to hold no
followed rows.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NoReturn

from connector.binlog.event_types import event_name
from connector.binlog.gtid_tagged_event import GtidTaggedEvent
from connector.binlog.mariadb_events import (
    FL_ROLLBACK_ALTER_E1,
    FL_START_ALTER_E1,
    MariadbGtidEvent,
)
from connector.binlog.partial_row_data import PartialRowDataEvent
from connector.binlog.rows_event import RowsEvent
from connector.binlog.statement_events import QueryEvent
from connector.binlog.transaction_events import AnonymousGtidEvent, GtidEvent, XidEvent
from connector.binlog.transaction_payload import TransactionPayloadEvent
from connector.binlog.xa_event import XaPrepareEvent
from connector.changes.added_columns import added_columns
from connector.changes.refusals import (
    NO_MIXING,
    PLAIN_TRANSACTIONS,
    XA_BEFORE,
    unsupported,
    unsupported_event,
)
from connector.changes.statement import Statement, StatementKind, classify
from connector.changes.transaction import (
    Change,
    Committed,
    RowsChange,
    StatementChange,
    Transaction,
)
from connector.errors import ProtocolError, UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.changes.table_filter import TableFilter
    from connector.gtid import Gtid, MariadbGtid

MICROSECONDS = 1_000_000


class State(Enum):
    """Where the stream is with respect to transactions."""

    OUTSIDE = auto()
    OPENED = auto()  # behind a GTID event that does not imply BEGIN
    INSIDE = auto()


class TransactionAssembler:
    """Groups the events of one stream; tables that are not followed only count."""

    def __init__(self, tables: TableFilter, *, lower_case_names: bool = False) -> None:
        """Hand on changes of `tables` only.

        With `lower_case_names` (lower_case_table_names=1) the server has names in lower case,
        however a statement writes them.
        """
        self._tables = tables
        self._lower_case_names = lower_case_names
        self._state = State.OUTSIDE
        self._transaction: Transaction | None = None
        self._event_number = 0
        self._has_rows = False
        # ALTER TABLE in two phases (MariaDB): the statement is not in force, it only may be.
        self._without_effect = False
        # XA transactions that are prepared and hold no followed rows.
        self._prepared: set[str] = set()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._state is not State.OUTSIDE

    def receive(self, event: Event) -> Iterator[Change]:
        """Take the next event and yield what it completes.

        Raises UnsupportedChange for a change that cannot be carried, ProtocolError for an order
        of events that no server writes.
        """
        body = event.body
        if isinstance(body, RowsEvent):
            yield from self._rows(event, body)
        elif isinstance(body, XidEvent):
            yield self._commit(event)
        elif isinstance(body, QueryEvent):
            yield from self._query(event, body)
        elif isinstance(body, TransactionPayloadEvent):
            for inside in body.events():
                yield from self.receive(inside)
        elif isinstance(body, PartialRowDataEvent):
            if body.rows_event is not None:
                yield from self._rows(event, body.rows_event)
        elif isinstance(body, XaPrepareEvent):
            yield self._prepare(event, body)
        elif isinstance(body, (GtidEvent, GtidTaggedEvent, AnonymousGtidEvent, MariadbGtidEvent)):
            self._open(event, body)
        else:
            self._pass(event)

    def _pass(self, event: Event) -> None:
        refusal = unsupported_event(event.body, self._tables)
        if refusal is not None:
            self._refuse(event, *refusal)

    def _open(
        self,
        event: Event,
        body: GtidEvent | GtidTaggedEvent | AnonymousGtidEvent | MariadbGtidEvent,
    ) -> None:
        if self._transaction is not None and self._state is not State.OUTSIDE:
            reason = (
                f"{event.file}:{event.position}: a transaction starts inside the one that started "
                f"at {self._transaction.file}:{self._transaction.position} and has not ended"
            )
            raise ProtocolError(reason)
        gtid = None if isinstance(body, AnonymousGtidEvent) else body.gtid
        committed_us = event.header.timestamp * MICROSECONDS
        if not isinstance(body, MariadbGtidEvent):
            committed_us = body.original_commit_timestamp or committed_us
        self._begin(event, gtid, committed_us)
        self._state = State.OPENED
        if isinstance(body, MariadbGtidEvent):
            self._without_effect = (
                body.flags_extra & (FL_START_ALTER_E1 | FL_ROLLBACK_ALTER_E1) != 0
            )
            if not body.standalone:
                self._state = State.INSIDE

    def _begin(self, event: Event, gtid: Gtid | MariadbGtid | None, committed_us: int) -> None:
        self._transaction = Transaction(
            file=event.file,
            position=event.position,
            gtid=gtid,
            committed_us=committed_us,
            server_id=event.header.server_id,
        )
        self._event_number = 0
        self._has_rows = False
        self._without_effect = False

    def _rows(self, event: Event, body: RowsEvent) -> Iterator[Change]:
        transaction = self._require_transaction(event)
        number = self._count()
        table = body.table_map
        if self._tables.follows(table.schema, table.table):
            self._has_rows = True
            yield RowsChange(transaction, number, event, body)

    def _query(self, event: Event, body: QueryEvent) -> Iterator[Change]:
        statement = self._classify(body)
        kind = statement.kind
        if kind is StatementKind.BEGIN:
            if self._state is State.OUTSIDE:
                self._begin(event, None, event.header.timestamp * MICROSECONDS)
            self._require_transaction(event).thread_id = body.thread_id
            self._state = State.INSIDE
        elif kind is StatementKind.COMMIT:
            yield self._commit(event)
        elif kind is StatementKind.ROLLBACK:
            if self._has_rows:
                self._refuse(event, "a group of row changes that ends in ROLLBACK", NO_MIXING)
            yield self._commit(event)
        elif kind is StatementKind.ROLLBACK_TO:
            if self._has_rows:
                self._refuse(event, "ROLLBACK TO SAVEPOINT behind row changes", NO_MIXING)
        elif kind is StatementKind.XA:
            yield from self._xa(event, body)
        elif kind is not StatementKind.SAVEPOINT:
            yield from self._statement(event, body, statement)

    def _classify(self, body: QueryEvent) -> Statement:
        statement = classify(body.query)
        if self._lower_case_names:
            statement.tables = [(name[0].lower(), name[1].lower()) for name in statement.tables]
        return statement

    def _xa(self, event: Event, body: QueryEvent) -> Iterator[Change]:
        """Take a statement as the server words it: `XA COMMIT X'6f6e65',X'',1`."""
        _, verb, xid = [*body.query.split(None, 2), "", ""][:3]
        if verb == "START":
            self._require_transaction(event).thread_id = body.thread_id
            self._state = State.INSIDE
        elif verb in ("COMMIT", "ROLLBACK"):
            if verb == "COMMIT" and xid not in self._prepared:
                self._refuse(
                    event, "XA COMMIT of rows that came before the stream began", XA_BEFORE
                )
            self._prepared.discard(xid)
            yield self._commit(event)
        elif verb != "END":
            self._refuse(event, f"XA {verb}", PLAIN_TRANSACTIONS)

    def _prepare(self, event: Event, body: XaPrepareEvent) -> Committed:
        if not body.one_phase:
            if self._has_rows:
                self._refuse(event, "an XA transaction", PLAIN_TRANSACTIONS)
            self._prepared.add(str(body.xid))
        return self._commit(event)

    def _statement(self, event: Event, body: QueryEvent, statement: Statement) -> Iterator[Change]:
        if self._state is State.OUTSIDE:
            self._begin(event, None, event.header.timestamp * MICROSECONDS)
        transaction = self._require_transaction(event)
        transaction.thread_id = body.thread_id
        number = self._count()
        if self._without_effect:
            yield self._commit(event)
            return
        refusal = unsupported(statement, body, self._tables)
        if refusal is not None:
            self._refuse(event, *refusal)
        added = (
            added_columns(statement, event.header.timestamp)
            if statement.kind is StatementKind.ALTER_TABLE
            else []
        )
        # The rows of a new table come as events.
        changed = [] if statement.kind is StatementKind.CREATE_TABLE else statement.tables
        for named_database, table in changed:
            database = named_database or body.schema
            if statement.kind is StatementKind.DROP_DATABASE:
                if self._tables.may_follow_database(database):
                    yield StatementChange(
                        transaction, number, event, statement.kind, database, "", [], body.query
                    )
            elif self._tables.follows(database, table):
                yield StatementChange(
                    transaction, number, event, statement.kind, database, table, added, body.query
                )
        if self._state is not State.INSIDE:
            yield self._commit(event)

    def _commit(self, event: Event) -> Committed:
        transaction = self._require_transaction(event)
        self._transaction = None
        self._state = State.OUTSIDE
        return Committed(transaction, event.file, event.next_position)

    def _count(self) -> int:
        number = self._event_number
        self._event_number += 1
        return number

    def _require_transaction(self, event: Event) -> Transaction:
        if self._transaction is None:
            reason = (
                f"{event.file}:{event.position}: {event_name(event.header.type_code)} outside of "
                "a transaction; the stream must start at a transaction's first event"
            )
            raise ProtocolError(reason)
        return self._transaction

    def _refuse(self, event: Event, what: str, fix: str) -> NoReturn:
        transaction = self._transaction
        name = transaction.id if transaction is not None else "none"
        reason = (
            f"{event.file}:{event.position}: {what} cannot be carried without loss "
            f"(transaction {name}): {fix}. Nothing from this transaction was published"
        )
        raise UnsupportedChange(reason)

"""The assembler: it turns the events of a log into source transactions.

::

    OUTSIDE ──GTID──▶ OPENED ──BEGIN──▶ INSIDE ──rows, statements──▶ INSIDE
       ▲                 │                 │
       └────statement────┴──XID, COMMIT────┘  XA_PREPARE

MySQL writes GTID (or ANONYMOUS_GTID), then BEGIN … XID for row changes, or a single QUERY for DDL.
MariaDB's GTID event implies BEGIN unless it is flagged standalone. Servers without either write
only BEGIN. Compressed events of MySQL are inside a TRANSACTION_PAYLOAD_EVENT after the GTID.

*Completeness.* Every event that could change a followed table gives a change to the receiver, or
an error: changes logged as statements are refused by name, and so is XA COMMIT without a known XA
PREPARE. Rows after XA PREPARE wait for its outcome (`xa_transactions`). Rows that a ROLLBACK takes
back are left out (`GroupRows`), and so are rows that an earlier run has delivered
(`RedeliveryFilter`).
"""

from typing import Final, final

from mypy_extensions import i64

from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events import mariadb
from connector.binlog.events.control import IgnorableEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.query import NO_BEGIN, QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, XaPrepareEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.header import GTID_LOG, event_name
from connector.binlog.log_errors import ProtocolError
from connector.binlog.statement import Statement, StatementKind
from connector.binlog.table_filter import TableFilter
from connector.binlog.transactions import transaction_bounds
from connector.stream.changes import changes_errors, xa_transactions
from connector.stream.changes.column_lists import PublishedColumns
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import ChangeReceiver, GroupRows, TransactionEnd
from connector.stream.changes.row_buffer import SpoolFolder
from connector.stream.changes.statement_reader import (
    StatementReader,
    unsupported_change,
    unsupported_event,
)
from connector.stream.changes.transaction import RowsChange, SourceTransaction

_MICROSECONDS: Final = 1_000_000

# The state of the stream between and inside of transactions.
_OUTSIDE: Final = 0
_OPENED: Final = 1  # after a GTID event that does not imply BEGIN
_INSIDE: Final = 2


@final
class TransactionAssembler:
    """Groups the events of one stream; changes of tables that are not read are only counted."""

    def __init__(
        self,
        tables: TableFilter,
        receiver: ChangeReceiver,
        folder: SpoolFolder,
        *,
        lower_case_names: bool = False,
        online: OnlineSchemaChanges | None = None,
        columns: PublishedColumns | None = None,
        earlier: xa_transactions.EarlierGroups | None = None,
    ) -> None:
        """Hand on changes of `tables` only, to `receiver`; rows that wait may go to `folder`.

        `online` is the state of online schema changes after the earlier events. `columns` are the
        columns that consumers know; without them, they know none for certain.
        With `lower_case_names` (lower_case_table_names=1) the server has names in lower case,
        whatever the case in a statement. `earlier` are the groups of earlier runs.
        """
        self._tables = tables
        self._receiver = receiver
        self._statements = StatementReader(
            tables,
            receiver,
            OnlineSchemaChanges() if online is None else online,
            PublishedColumns() if columns is None else columns,
            lower_case_names=lower_case_names,
        )
        self._state: i64 = _OUTSIDE
        self._transaction: SourceTransaction | None = None
        self._event_number: i64 = 0
        self._rows = GroupRows(receiver, folder)
        # ALTER TABLE in two phases (MariaDB): the statement is not in force, it only may be.
        self._without_effect = False
        earlier_groups = xa_transactions.EarlierGroups() if earlier is None else earlier
        # XA transactions that wait for their outcome.
        self._prepared = xa_transactions.PreparedGroups(earlier_groups.prepared)
        self._earlier = xa_transactions.RedeliveryFilter(earlier_groups)
        # In a group that begins with XA START: the changed tables that are not followed.
        self._other_tables: dict[tuple[str, str], None] | None = None
        # The previous rows event, because the next one mostly has the same table.
        self._table_map: TableMapEvent | None = None
        self._table_is_read = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._state != _OUTSIDE

    @property
    def transaction(self) -> SourceTransaction | None:
        """The transaction that has begun and not ended."""
        return self._transaction

    def forget_table(self) -> None:
        """Ask again whether the next table is read."""
        self._table_map = None

    def close(self) -> None:
        """Close the files that hold waiting rows."""
        self._rows.close()
        self._prepared.close()

    def receive(self, event: Event) -> None:
        """Take the next event, and give the receiver the changes that it completes.

        For most events the type is enough, so their bodies are not decoded here.
        Raises UnsupportedChange for a change that cannot be published, ProtocolError for an order
        of events that no server writes, EventError for an event that cannot be read.
        """
        meaning: i64 = transaction_bounds.ROLE_OF_TYPE[event.type_code]
        if meaning == transaction_bounds.ROLE_ROWS:
            if self._is_followed(event, event.table_map):
                rows = event.body
                assert isinstance(rows, RowsEvent)
                self._add(event, rows)
        elif meaning == transaction_bounds.ROLE_XID:
            self._commit(event)
        elif meaning == transaction_bounds.ROLE_GTID:
            self._open(event)
        elif (
            meaning == transaction_bounds.ROLE_QUERY
            and (thread_id := event.begin_thread_id) != NO_BEGIN
        ):
            self._begin_inside(event, thread_id)
        elif meaning != transaction_bounds.ROLE_ABOUT_ROWS:
            self._receive_body(event)

    def _receive_body(self, event: Event) -> None:
        body = event.body
        if isinstance(body, QueryEvent):
            self._query(event, body)
        elif isinstance(body, TransactionPayloadEvent):
            for inside in body.opened():
                self.receive(inside)
        elif isinstance(body, mariadb.PartialRowDataEvent):
            rows = body.rows_event
            if rows is not None and self._is_followed(event, rows.table_map):
                self._add(event, rows)
        elif isinstance(body, XaPrepareEvent):
            self._prepare(event, body)
        elif isinstance(body, IgnorableEvent):
            self._receiver.ignorable_event(event)
        else:
            refusal = unsupported_event(event, body, self._tables, self._transaction)
            if refusal is not None:
                raise refusal

    def _open(self, event: Event) -> None:
        opened = self._transaction
        if opened is not None and self._state != _OUTSIDE:
            raise ProtocolError(
                changes_errors.NESTED_TRANSACTION,
                log_position=f"{event.file}:{event.position}",
                file=opened.file,
                position=opened.position,
            )
        if event.type_code == GTID_LOG:
            gtid, committed_us = event.opening()
            self._begin(event, gtid, committed_us or _started_us(event))
            self._state = _OPENED
            return
        body = event.body
        committed_us = _started_us(event)
        if isinstance(body, mariadb.MariadbGtidEvent):
            self._begin(event, body.gtid, committed_us, while_short=True)
            if body.prepared_xa:
                self._begin_xa()
            self._without_effect = (
                body.flags_extra & (mariadb.FL_START_ALTER_E1 | mariadb.FL_ROLLBACK_ALTER_E1) != 0
            )
            self._state = _OPENED if body.standalone else _INSIDE
            return
        assert isinstance(body, (GtidTaggedEvent, AnonymousGtidEvent))
        original_us = body.original_commit_timestamp
        if original_us:
            committed_us = original_us
        self._begin(
            event, None if isinstance(body, AnonymousGtidEvent) else body.gtid, committed_us
        )
        self._state = _OPENED

    def _begin(
        self,
        event: Event,
        gtid: Gtid | MariadbGtid | None,
        committed_us: i64,
        *,
        while_short: bool = False,
    ) -> None:
        transaction = SourceTransaction(
            event.file, event.position, gtid, committed_us, event.server_id
        )
        self._transaction = transaction
        self._event_number = 0
        self._without_effect = False
        self._other_tables = None
        self._rows.begin(while_short=while_short)
        self._earlier.begin(transaction)

    def _begin_xa(self) -> None:
        """Hold the rows, because their outcome comes later."""
        self._rows.hold()
        self._other_tables = {}

    def _begin_without_gtid(self, event: Event) -> None:
        if self._state == _OUTSIDE:
            self._begin(event, None, _started_us(event))

    def _begin_inside(self, event: Event, thread_id: i64) -> None:
        self._begin_without_gtid(event)
        self._require_transaction(event).thread_id = thread_id
        self._state = _INSIDE

    def _is_followed(self, event: Event, table_map: TableMapEvent | None) -> bool:
        """Count a rows event, and return whether it changes rows of a table that is read."""
        self._require_transaction(event)
        self._event_number += 1
        if table_map is None:
            # It only ends a statement.
            return False
        if table_map is not self._table_map:
            self._table_is_read = self._tables.reads_rows(table_map)
            self._table_map = table_map
        if self._table_is_read:
            return not self._earlier.left_out
        if self._other_tables is not None:
            self._other_tables[table_map.schema, table_map.table] = None
        return False

    def _add(self, event: Event, rows: RowsEvent) -> None:
        transaction = self._require_transaction(event)
        self._rows.add(RowsChange(transaction, self._event_number - 1, event, rows))

    def _query(self, event: Event, body: QueryEvent) -> None:
        statement = self._statements.read(body)
        kind = statement.kind
        if kind is StatementKind.BEGIN:
            self._begin_inside(event, body.thread_id)
        elif kind is StatementKind.COMMIT:
            self._commit(event)
        elif kind is StatementKind.ROLLBACK:
            self._rows.roll_back(self._require_transaction(event))
            self._end(event)
        elif kind is StatementKind.ROLLBACK_TO:
            if not self._rows.roll_back_to(statement.savepoint):
                raise unsupported_change(changes_errors.SAVEPOINT, self._transaction, event)
        elif kind is StatementKind.XA:
            self._xa(event, body)
        elif kind is StatementKind.SAVEPOINT:
            if statement.savepoint:
                self._rows.set_savepoint(statement.savepoint)
        else:
            self._statement(event, body, statement)

    def _xa(self, event: Event, body: QueryEvent) -> None:
        """Take an XA statement in the server's words: `XA COMMIT X'6f6e65',X'',1`."""
        _, verb, xid = [*body.query.split(None, 2), "", ""][:3]
        if verb == "START":
            self._require_transaction(event).thread_id = body.thread_id
            self._begin_xa()
            self._state = _INSIDE
        elif verb in ("COMMIT", "ROLLBACK"):
            self._begin_without_gtid(event)
            transaction = self._require_transaction(event)
            transaction.thread_id = body.thread_id
            if not self._earlier.delivered and not self._prepared.complete(
                xid, transaction, self._tables, self._receiver, commits=verb == "COMMIT"
            ):
                raise unsupported_change(changes_errors.XA_UNSEEN, transaction, event)
            self._end(event, outcome=xid)
        elif verb != "END":
            raise unsupported_change(changes_errors.XA_VERB, self._transaction, event, verb=verb)

    def _prepare(self, event: Event, body: XaPrepareEvent) -> None:
        if body.one_phase:
            self._commit(event)
            return
        group = xa_transactions.PreparedGroup(
            str(body.xid), self._rows.take(), list(self._other_tables or ())
        )
        if not (self._earlier.delivered and self._earlier.left_out):
            self._prepared.add(group)
        self._end(event, prepared=group)

    def _statement(self, event: Event, body: QueryEvent, statement: Statement) -> None:
        self._begin_without_gtid(event)
        transaction = self._require_transaction(event)
        transaction.thread_id = body.thread_id
        number = self._event_number
        self._event_number = number + 1
        if self._without_effect or self._earlier.delivered:
            if self._state != _INSIDE:
                self._end(event)
            return
        self._statements.hand_on(statement, body, transaction, number, event)
        if self._state != _INSIDE:
            self._commit(event)

    def _commit(self, event: Event) -> None:
        transaction = self._require_transaction(event)
        self._earlier.check_commit(transaction, event)
        self._rows.hand_on(transaction)
        self._end(event)

    def _end(
        self,
        event: Event,
        *,
        prepared: xa_transactions.PreparedGroup | None = None,
        outcome: str = "",
    ) -> None:
        """Leave the group: it is `prepared`, or the `outcome` of another group, or neither."""
        transaction = self._require_transaction(event)
        self._transaction = None
        self._state = _OUTSIDE
        if self._earlier.delivered:
            return
        self._receiver.transaction_end(
            TransactionEnd(transaction, event.file, event.next_position, prepared, outcome)
        )

    def _require_transaction(self, event: Event) -> SourceTransaction:
        transaction = self._transaction
        if transaction is None:
            raise ProtocolError(
                changes_errors.OUTSIDE_TRANSACTION,
                log_position=f"{event.file}:{event.position}",
                event_name=event_name(event.type_code),
            )
        return transaction


def _started_us(event: Event) -> i64:
    """Return the start time of the statement, in microseconds since the epoch."""
    seconds: i64 = event.timestamp
    return seconds * _MICROSECONDS

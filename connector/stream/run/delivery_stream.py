"""Events become records for Kafka: this compiled module holds all work per event.

::

    EventSource ──▶ EventDecoder ──▶ TransactionAssembler ──▶ RecordEncoder ──▶ BatchingTarget

The pipeline gives it received bytes and decides when to commit. Only the target waits for a peer,
and nothing reads a clock.
"""

from typing import Final, final

from mypy_extensions import i64

from connector.binlog import header
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.control import RotateEvent
from connector.binlog.events.mariadb import MariadbGtidListEvent
from connector.binlog.events.rows_header import INSERT
from connector.binlog.events.transaction import PreviousGtidsEvent
from connector.binlog.gtid import MariadbGtidSet
from connector.binlog.statement import Statement, StatementKind
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import UnsupportedChange
from connector.foundation.errors.code import Scope
from connector.foundation.record_batch import BatchingTarget
from connector.stream.changes import changes_errors
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.cascades import Cascades
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import ChangeReceiver, StreamListener, TransactionEnd
from connector.stream.changes.row_buffer import SpoolFolder
from connector.stream.changes.signal_table import SignalTable
from connector.stream.changes.statement_reader import unsupported_change
from connector.stream.changes.transaction import RowsChange, SourceTransaction, StatementChange
from connector.stream.changes.xa_transactions import EarlierGroups
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.progress_record import Progress
from connector.stream.progress.stream_position import Instance, StreamPosition
from connector.stream.quarantine.guard import Guard
from connector.stream.run import delivery_parts, run_errors
from connector.stream.run.delivery_parts import CommitTimes, LargeTransactions

# For so long a server is not asked again for columns that it has refused to show: each time is a
# login, and other tables wait.
_REFUSED_US: Final = 10_000_000

# Other statements that need a copy bring other rows to a name.
_REWRITING: Final = (StatementKind.ALTER_TABLE, StatementKind.INDEX)


@final
class DeliveryStream(ChangeReceiver):
    """Delivers the events of one stream in order, and keeps the stream's position."""

    def __init__(
        self,
        decoder: EventDecoder,
        tables: TableFilter,
        output: delivery_parts.RecordOutput,
        position: StreamPosition,
        folder: SpoolFolder,
        options: delivery_parts.DeliveryOptions,
        handlers: delivery_parts.ChangeHandlers,
    ) -> None:
        """Deliver changes of `tables` to `output` and `handlers`, from `position` on.

        Waiting rows may go to a file in `folder`.
        """
        self._decoder = decoder
        self._encoder: RecordEncoder = output.encoder
        self._target: BatchingTarget = output.target
        self._transactions: TransactionRecords | None = output.transactions
        self._guard: Guard | None = handlers.guard
        self._listener: StreamListener = handlers.listener
        self._cascades: Cascades | None = handlers.cascades
        self._signals: SignalTable | None = handlers.signals
        self._on_rewrite: str = options.on_rewrite
        self._online: OnlineSchemaChanges = options.online
        self._position = position
        self._assembler = TransactionAssembler(
            tables,
            self,
            folder,
            lower_case_names=options.lower_case_names,
            online=self._online,
            columns=self._encoder.schemas,
            earlier=EarlierGroups(
                position.prepared_xa.without_rows(), position.reread(), options.rolled_back
            ),
        )
        self._now_us: i64 = 0
        # The latest transaction that has records.
        self._published: SourceTransaction | None = None
        # Complete source transactions that are not committed yet.
        self.waiting: i64 = 0
        # When the source committed those that have rows.
        self.times = CommitTimes()
        self._large = LargeTransactions(self._target, self._listener)
        # By table, why the server has not shown its columns, and when it is asked again.
        self._refused: dict[tuple[str, str], tuple[UnsupportedChange, int]] = {}

    @property
    def in_transaction(self) -> bool:
        """Whether a source transaction has begun and not ended."""
        return self._assembler.in_transaction

    @property
    def latest_id(self) -> str:
        """Id of the current transaction, else of the latest one with records; "" without one."""
        latest = self._assembler.transaction or self._published
        return "" if latest is None else latest.id

    def with_fix(self, refused: UnsupportedChange) -> UnsupportedChange:
        """Return `refused` with one more fix: `source.start` after its transaction, or a fence."""
        transaction = self._assembler.transaction
        if not refused.code.passable or transaction is None:
            if refused.code.scope is Scope.PROCESS:
                return refused
            return UnsupportedChange(run_errors.ASIDE, why=refused)
        start = self._position.start_after(transaction)
        if start:
            return UnsupportedChange(run_errors.CONTINUE_BY_GTID, why=refused, start=start)
        return UnsupportedChange(
            run_errors.CONTINUE_BY_POSITION,
            why=refused,
            file=transaction.file,
            position=transaction.position,
        )

    def close(self) -> None:
        """Drop what waits for the end of its transaction."""
        self._assembler.close()

    def run(self, events: header.EventSource, batch_bytes_max: i64, now_us: i64) -> bool:
        """Deliver the received events; return whether all of them were delivered.

        It stops early, and returns False, at the end of a source transaction if the batch has
        `batch_bytes_max` bytes of records. `now_us` is the time of encoding, microseconds since the
        epoch. Raises ProtocolError, EventError, LogRefused or UnsupportedChange; RolledBack if
        records must be taken back; TransientError without room for what waits; and the target's
        errors.
        """
        self._now_us = now_us
        decoder = self._decoder
        assembler = self._assembler
        target = self._target
        while True:
            data = events.next_event()
            if data is None:
                return True
            event = decoder.open(data)
            type_code = event.type_code
            if type_code == header.FORMAT_DESCRIPTION:
                self._position.begin_file(event.file, event.header.timestamp)
            elif (
                type_code in (header.ROTATE, header.PREVIOUS_GTIDS, header.GTID_LIST)
                and not event.header.artificial
            ):
                self._next_file(event)
            assembler.receive(event)
            if target.bytes >= batch_bytes_max and self.waiting and not assembler.in_transaction:
                return False

    def _next_file(self, event: Event) -> None:
        """Note the end of a file, or what was before it."""
        body = event.body
        if isinstance(body, RotateEvent):
            self._position.end_file(body.next_file)
        elif isinstance(body, PreviousGtidsEvent):
            self._position.check_history(event.file, body.gtid_set)
        elif isinstance(body, MariadbGtidListEvent):
            self._position.check_history(event.file, MariadbGtidSet.of(body.gtids))

    @property
    def has_news(self) -> bool:
        """Whether the next progress record differs from the last one."""
        return self.waiting > 0 or self._position.is_changed

    def progress(self, instance: Instance, now_ms: int) -> Progress:
        """Return the progress record for the current position, which is between transactions."""
        published = self._published
        seq = "" if published is None else str(self._encoder.sequence(published))
        progress = self._position.progress(
            instance, seq, self._encoder.schemas.added_columns, now_ms
        )
        progress.online_changes = self._online.to_record()
        progress.current_schemas = dict(self._encoder.schemas.current)
        progress.stated_schemas = dict(self._encoder.schemas.stated)
        schemas = self._encoder.server_schemas
        if schemas is not None:
            progress.changed_tables = sorted(schemas.changed)
        if self._cascades is not None:
            progress.cascaded_rows = self._cascades.rows.to_record()
        return progress

    def rows(self, change: RowsChange) -> None:
        """Encode changed rows; rows that cannot be published go to the guard, if there is one."""
        first: i64 = 0
        if self._position.has_begun:
            first = self._position.begun_rows(change.event_number)
            if first < 0:
                return
        cascades = self._cascades
        publishes = cascades is None or cascades.publishes(change.rows.table_map)
        named = not publishes or change.rows.table_map.named or self._has_names(change)
        if cascades is not None:
            cascades.take(change.rows)
        if not publishes or not named or not self._has_values(change):
            return
        if self._signals is not None:
            self._signals.take(change.rows)
        self._large.enter(change.transaction, self._now_us)
        if self._transactions is not None:
            table_map = change.rows.table_map
            self._transactions.enter(change.transaction, table_map.schema, table_map.table)
        guard = self._guard
        if first:
            # The rows before it were delivered before this stream.
            if guard is None:
                self._encoder.rows_from(change, first, self._now_us)
            else:
                guard.rows_from(change, first, self._now_us)
        elif guard is None:
            self._encoder.rows(change, self._now_us)
        else:
            guard.rows(change, self._now_us)

    def any_statement(self, statement: Statement, query: str, event: Event) -> None:
        """Note what a statement may do to foreign keys."""
        if self._cascades is not None:
            number = header.file_number(event.file)
            self._cascades.statement(statement, query, number, event.position)

    def ddl(self, changes: list[StatementChange]) -> None:
        schemas = self._encoder.server_schemas
        if schemas is not None:
            for change in changes:
                schemas.forget(change.database, change.table)
                self._refused.pop((change.database, change.table), None)
        self._encoder.ddl(changes, self._now_us)

    def _has_names(self, change: RowsChange) -> bool:
        """Get the column names that the log lacks; False if the server lacks them too."""
        schemas = self._encoder.server_schemas
        if schemas is None:
            # The encoder decides what to do then.
            return True
        table_map = change.rows.table_map
        table = table_map.schema, table_map.table
        refused = self._refused.get(table)
        if refused is not None and self._now_us < refused[1]:
            self._keep_unnamed(change, refused[0])
            return False
        try:
            completed = schemas.completed(change)
        except UnsupportedChange as error:
            self._refused[table] = error, self._now_us + _REFUSED_US
            self._keep_unnamed(change, error)
            return False
        if completed is None:
            return False
        change.rows.table_map = completed
        return True

    def _has_values(self, change: RowsChange) -> bool:
        """Return whether the rows are published; False if their table is copied instead."""
        encoder = self._encoder
        schemas = encoder.server_schemas
        if schemas is None:
            return True
        if schemas.has_lost and schemas.is_lost(change):
            return False
        unlogged = encoder.tables.unlogged
        if change.rows.kind is INSERT or unlogged is None or not unlogged.leaves_out_generated:
            return True
        try:
            return not encoder.lacks_values(change) or not schemas.lose(change)
        except UnsupportedChange as error:
            self._keep_unnamed(change, error)
            return False

    def _keep_unnamed(self, change: RowsChange, error: UnsupportedChange) -> None:
        """Put rows of a table whose columns the server does not give into quarantine, or raise."""
        if self._guard is None:
            raise error
        self._guard.fence_unnamed(change, error, self._now_us)

    def statement(self, change: StatementChange) -> None:
        """Deliver the records that DDL causes: rows that are gone.

        Raises UnsupportedChange if an ALTER TABLE that may have changed rows ends the run.
        """
        self._encoder.watch.changed(change.kind, change.database, change.table)
        rewritten = change.resync != "" and change.kind in _REWRITING
        if rewritten and self._on_rewrite != delivery_parts.COPY_REWRITTEN:
            self._refuse_rewritten(change)
            return
        listener = self._listener
        listener.statement_seen(change)
        if self._guard is None:
            self._encoder.statement(change, self._now_us)
        else:
            self._guard.statement(change, self._now_us)
        if change.resync:
            listener.resync_wanted(change.database, change.table, change.resync)
        elif change.kind.ends_tables:
            listener.table_ended(change.database, change.table)
            if self._cascades is not None:
                self._cascades.rows.forget(change.database, change.table)

    def _refuse_rewritten(self, change: StatementChange) -> None:
        """Fence the table of an ALTER TABLE that may have changed rows, or raise."""
        refusal = unsupported_change(
            changes_errors.REWRITTEN,
            change.transaction,
            change.event,
            change.database,
            change.table,
            reason=change.resync,
        )
        if self._guard is None or self._on_rewrite == delivery_parts.STOP_REWRITTEN:
            raise refusal
        self._guard.fence_rewritten(change, refusal, self._now_us)

    def _doubted(self, transaction: SourceTransaction) -> None:
        """Have the tables copied whose rows in `transaction` show that consumers have wrong ones.

        Raises UnsupportedChange if that ends the run.
        """
        for database, table, reason in self._encoder.doubts:
            if self._on_rewrite == delivery_parts.STOP_REWRITTEN:
                raise UnsupportedChange(
                    changes_errors.REWRITTEN,
                    log_position=f"{transaction.file}:{transaction.position}",
                    transaction=transaction.id,
                    database=database,
                    table=table,
                    reason=reason,
                )
            self._listener.resync_wanted(database, table, reason)
        self._encoder.doubts.clear()

    def transaction_end(self, end: TransactionEnd) -> None:
        """Move the position after a transaction.

        Raises UnsupportedChange as `statement` does, and the errors of reading foreign keys.
        """
        transaction = end.transaction
        if self._encoder.doubts:
            self._doubted(transaction)
        if self._encoder.has_published(transaction):
            self._published = transaction
            self.times.add(transaction.committed_us)
        if self._transactions is not None:
            self._transactions.leave(transaction)
        self._large.leave(end, self._now_us)
        self._position.advance(end)
        self.waiting += 1
        cascades = self._cascades
        if cascades is not None and cascades.outdated:
            cascades.learn()
            self._assembler.forget_table()

    def refusal(
        self,
        refusal: UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
    ) -> None:
        """Put a refused statement into quarantine, or raise."""
        if self._guard is None:
            raise refusal
        self._guard.fence_refused(refusal, transaction, event_number, event, self._now_us)

    def ignorable_event(self, event: Event) -> None:
        self._listener.event_skipped(event)

"""Changes become Kafka records: rows, after their schema records, and rows that are gone."""

from typing import Final, NoReturn, final

from mypy_extensions import i64

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT, UPDATE, RowsKind
from connector.binlog.statement import StatementKind
from connector.foundation import contract
from connector.foundation.errors import UnsupportedChange
from connector.foundation.kafka_records import RecordTarget
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.transaction import RowsChange, SourceTransaction, StatementChange
from connector.stream.envelope import record_errors, table_registry
from connector.stream.envelope.event_encoder import HALVES, US_PER_MS, EventEncoder
from connector.stream.envelope.key_windows import KeyWindows
from connector.stream.envelope.metadata_topics import write_ddl
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.row_images import FilterGate
from connector.stream.envelope.schemas.schema_records import SchemaRecords, SchemaState
from connector.stream.envelope.schemas.server_schemas import ServerSchemas, UnloggedColumns
from connector.stream.envelope.schemas.table_schema import TableSchema, every_column
from connector.stream.progress.sequences import GapSequence, TransactionOrder

_ROWS_MAX: Final = 10**contract.SEQ_ROW_DIGITS // HALVES
_EVENTS_MAX: Final = 10**contract.SEQ_EVENT_DIGITS

_KINDS: Final = {contract.OP_CREATE: INSERT, contract.OP_UPDATE: UPDATE, contract.OP_DELETE: DELETE}


@final
class RecordEncoder:
    """Encodes the changes of one stream, in order."""

    def __init__(
        self,
        options: EnvelopeOptions,
        order: TransactionOrder,
        target: RecordTarget,
        earlier: SchemaState | None = None,
        *,
        server_schemas: ServerSchemas | None = None,
        unlogged: UnloggedColumns | None = None,
        listener: StreamListener | None = None,
    ) -> None:
        """Give records to `target`, and continue after the column lists of `earlier` runs.

        `server_schemas` are those of tables that the log does not describe; without them, it
        describes all. `unlogged` and `listener` as in `TableRegistry`.
        """
        self.options = options
        self._order = order
        self._target = target
        self._skipped: tuple[RowsKind, ...] = ()
        self._takes_back = True  # whether records say that rows are gone
        if options.debezium is not None:
            skipped = options.debezium.skipped_operations
            self._skipped = tuple(kind for op, kind in _KINDS.items() if op in skipped)
            self._takes_back = contract.OP_TRUNCATE not in skipped
        # Told which rows have records; None if all have.
        self._gate: FilterGate | None = None
        if options.debezium is not None and options.debezium.filters is not None:
            self._gate = FilterGate(target)
        self._events = EventEncoder(options, target if self._gate is None else self._gate)
        self.schemas = SchemaRecords(
            options.prefix,
            target,
            SchemaState() if earlier is None else earlier,
            contract.EXACT if options.debezium is None else contract.DEBEZIUM,
        )
        # Tables whose rows show that they must be copied again: database, table, reason.
        self.doubts: list[tuple[str, str, str]] = []
        self.watch = KeyWindows()
        self.tables = table_registry.TableRegistry(options, self.watch, unlogged, listener)
        self.tables.claim(self.schemas.published())
        self.server_schemas = server_schemas
        self._transaction: SourceTransaction | None = None
        self._start: tuple[int, int, int] = (0, 0, 0)
        # For the current event: the number of rows that have been written.
        self.rows_written: i64 = 0

    def rows(self, change: RowsChange, now_us: i64) -> None:
        """Write the records of a rows event; `now_us` is the time of encoding.

        Raises UnsupportedChange for a row that the envelope cannot hold, EventError for a row that
        cannot be read, and the target's errors. `rows_written` rows before that row have been
        written, and no part of that row.
        """
        self.rows_written = 0
        rows = change.rows
        if rows.kind in self._skipped:
            return
        table = self.open_rows(change, now_us)
        gate = self._gate
        images = table.images(rows) if gate is None else table.judged_images(rows, gate)
        events = self._events
        kind = rows.kind
        number: i64 = 0
        try:
            while images.next_row():
                if number >= _ROWS_MAX:
                    _refuse_rows()
                events.row(kind, images, number)
                number += 1
                self.rows_written = number
        except UnsupportedChange as error:
            raise table_registry.with_event_position(
                change.event, table.schema.name, error
            ) from error

    def rows_from(self, change: RowsChange, first: i64, now_us: i64) -> None:
        """Write the rows of an event from number `first` on; otherwise as `rows`."""
        self.rows_written = first
        rows = change.rows
        if rows.kind in self._skipped:
            return
        table = self.open_rows(change, now_us)
        number = first
        try:
            for row in rows.split(first):
                self.row(table, row, number)
                number += 1
                self.rows_written = number
        except UnsupportedChange as error:
            raise table_registry.with_event_position(
                change.event, table.schema.name, error
            ) from error

    def open_rows(self, change: RowsChange, now_us: i64) -> table_registry.PublishedTable:
        """Open the rows of an event, after writing the schema that they need.

        Raises UnsupportedChange or EventError for a table that cannot be published, and the
        target's errors.
        """
        event = change.event
        table = self.tables.of(change.rows.table_map, event)
        self._enter(change.transaction, change.event_number, event)
        schemas = self.schemas
        if not table.announced or (
            (schemas.altered or schemas.added_columns) and schemas.waits(table.schema.name)
        ):
            doubt = schemas.doubt(table.schema)
            if doubt:
                self.doubts.append((table.schema.database, table.schema.table, doubt))
            self._announce(table, change.transaction, self._start, change.event_number)
        self._events.begin(
            change.transaction, event, table.parts, self._start, change.event_number, now_us
        )
        return table

    def lacks_values(self, change: RowsChange) -> bool:
        """Return whether the log leaves out values that the records of an event need.

        False also for a table that cannot be published: `rows` says why.
        """
        try:
            table = self.tables.of(change.rows.table_map, change.event)
        except UnsupportedChange:
            return False
        return table.lacks_values(change.rows)

    def schema_id(self, change: RowsChange) -> str:
        """Return the id of the column list of an event's rows.

        Raises UnsupportedChange if the column list is unknown.
        """
        return self.tables.schema_id(change.rows.table_map, change.event)

    def row(self, table: table_registry.PublishedTable, row: RowsEvent, number: i64) -> None:
        """Write row `number` of the opened event; `row` is an event with only this row.

        Raises as `rows` does; then nothing of it has been written.
        """
        if row.kind in self._skipped:
            return
        gate = self._gate
        images = table.images(row) if gate is None else table.judged_images(row, gate)
        images.next_row()
        self._events.row(row.kind, images, number)

    def repeat(
        self,
        change: RowsChange,
        row: RowsEvent,
        number: i64,
        sequence: GapSequence,
        now_us: i64,
    ) -> None:
        """Write row `number` of an earlier event with `sequence`.

        `row` is an event with only this row. The sequence has room for `HALVES` records. Raises as
        `rows` does; then nothing of the row has been written.
        """
        table = self.tables.of(change.rows.table_map, change.event)
        at = (sequence.epoch, sequence.file, sequence.position)
        awaited = self.schemas.awaits(table.schema)
        if not table.announced or awaited:
            self._announce(table, change.transaction, at, sequence.event, takes_up=awaited)
        self._events.begin(
            change.transaction,
            change.event,
            table.parts,
            at,
            sequence.event,
            now_us,
            sequence.row - number * HALVES,
        )
        self.row(table, row, number)

    def repeat_truncate(self, change: StatementChange, sequence: GapSequence, now_us: i64) -> None:
        """Write with `sequence` that all earlier rows of a published table are gone."""
        newest = self.schemas.newest_id(f"{change.database}.{change.table}")
        if not newest or not self._is_written(change):
            return
        self._events.begin(
            change.transaction,
            change.event,
            self._parts(change.database, change.table, newest),
            (sequence.epoch, sequence.file, sequence.position),
            sequence.event,
            now_us,
            sequence.row,
        )
        self._events.truncate()

    def ddl(self, changes: list[StatementChange], now_us: i64) -> None:
        """Write the text of a statement for consumers of DDL."""
        change = changes[0]
        self._enter(change.transaction, change.event_number, change.event)
        sequence = self.sequence(change.transaction, change.event_number)
        write_ddl(self._target, self.options, changes, sequence, now_us)

    def statement(self, change: StatementChange, now_us: i64) -> None:
        """Write the effect of DDL on followed tables for consumers: rows that are gone.

        For a table that must be copied again, the copy itself writes this.
        """
        schemas = self.schemas
        name = f"{change.database}.{change.table}"
        if change.kind.changes_columns and change.table:
            schemas.change(name, ends=change.kind.ends_tables)
        if change.resync:
            schemas.added_columns.pop(name, None)
            schemas.forget(name)
            return
        if change.kind is StatementKind.ALTER_TABLE:
            if change.added_columns:
                schemas.add_columns(name, change.added_columns)
            self._state(change)
            return
        if not change.kind.empties_tables:
            schemas.doubt_list(name)
            return
        tables = [change.table]
        if change.kind is StatementKind.DROP_DATABASE:
            tables = sorted(schemas.tables(change.database))
        for table in tables:
            name = f"{change.database}.{table}"
            newest = schemas.newest_id(name)
            # If nothing of a table was ever published, there is nothing to take back.
            if newest:
                self._put_truncate(change, self._parts(change.database, table, newest), now_us)
            if change.kind.ends_tables:
                schemas.added_columns.pop(name, None)
                schemas.change(name, ends=True)

    def _state(self, change: StatementChange) -> None:
        """Write the column list that ALTER TABLE states."""
        chosen = self.options.columns
        if chosen is not None and chosen.hides(change.database, change.table):
            # The list would have values, and columns that records leave out.
            return
        sequence = self.sequence(change.transaction, change.event_number)
        time_ms = change.transaction.committed_us // US_PER_MS
        self.schemas.state(change.database, change.table, change.edits, sequence, time_ms)

    def has_published(self, transaction: SourceTransaction) -> bool:
        """Return whether `transaction`, the latest one, has had records."""
        return transaction is self._transaction

    def sequence(
        self, transaction: SourceTransaction, event_number: i64 = 0, row: i64 = 0
    ) -> contract.Sequence:
        """Return the sequence of a row of a transaction, by default in its first event."""
        if transaction is not self._transaction:
            self._start = self._order.of_transaction(transaction.file, transaction.position)
            self._transaction = transaction
        return contract.Sequence(*self._start, event_number, row * HALVES)

    def _enter(self, transaction: SourceTransaction, number: int, event: Event) -> None:
        """Go to event `number` of a transaction."""
        if number >= _EVENTS_MAX:
            raise UnsupportedChange(
                record_errors.MANY_EVENTS,
                log_position=f"{event.file}:{event.position}",
                limit=_EVENTS_MAX,
            )
        if transaction is not self._transaction:
            self._start = self._order.of_transaction(transaction.file, transaction.position)
            self._transaction = transaction

    def _is_written(self, change: StatementChange) -> bool:
        """Return whether a record says that a statement took the rows; Debezium has TRUNCATE."""
        form = self.options.debezium
        if form is None:
            return True
        outbox = self.options.outbox
        if outbox is not None and outbox.takes(change.database, change.table):
            # Events that were sent are not taken back.
            return False
        # A row without an envelope cannot say that all others are gone.
        return self._takes_back and change.kind is StatementKind.TRUNCATE and not form.is_flat

    def _parts(self, database: str, table: str, schema_id: str) -> table_registry.TableParts:
        """Return what the records of a table share that belong to no row.

        `schema_id` names its newest column list.
        """
        schema = None
        form = self.options.debezium
        if form is not None and form.value_has_schema:
            record = self.schemas.newest(f"{database}.{table}")
            schema = TableSchema.of_columns(
                database,
                table,
                tuple(every_column(record)),
                frozenset(column["column"]["name"] for column in record.get("unlogged", ())),
                record.get("kinds", {}),
                self.options.columns,
            )
        return self.tables.parts(database, table, schema_id, schema)

    def _put_truncate(
        self, change: StatementChange, parts: table_registry.TableParts, now_us: i64
    ) -> None:
        if not self._is_written(change):
            return
        number = change.event_number
        self._enter(change.transaction, number, change.event)
        self._events.begin(change.transaction, change.event, parts, self._start, number, now_us)
        self._events.truncate()

    def _announce(
        self,
        table: table_registry.PublishedTable,
        transaction: SourceTransaction,
        start: tuple[int, int, int],
        event_number: i64,
        takes_up: bool = True,
    ) -> None:
        watched = table.parts.watched
        if table.parts.outbox is None and self._gate is None:
            # Before the schema of a table that has no topic.
            self._target.require_topic(table.parts.topic)
        if watched.keys is not None and watched.schema_id != table.schema.schema_id:
            # Not all statements that change a column list are distinguished.
            watched.changes += 1
        sequence = contract.Sequence(*start, event_number, 0)
        server_schemas = self.server_schemas
        anchor = "" if server_schemas is None else server_schemas.take_anchor(table.schema.name)
        self.schemas.write(
            table.schema, sequence, transaction.committed_us // US_PER_MS, takes_up, anchor
        )
        table.announced = True


def _refuse_rows() -> NoReturn:
    raise UnsupportedChange(record_errors.MANY_ROWS, limit=_ROWS_MAX)

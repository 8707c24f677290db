"""The records that the pipeline has to write for a range of one server's log.

The changes of the log go through the pipeline's own encoder, so the records have the same bytes.
What depends on the moment at which the pipeline ran is not made again: copies, replays and
quarantine. The topics say what there was of these.
"""

import time
from collections.abc import Callable

from mypy_extensions import i64

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import file_number
from connector.binlog.log_errors import EventError
from connector.binlog.statement import StatementKind
from connector.binlog.table_filter import TableFilter
from connector.foundation import errors
from connector.foundation.contract import Sequence
from connector.foundation.kafka_records import RecordTarget
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.settings.sections import Settings
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import ChangeReceiver, TransactionEnd
from connector.stream.changes.transaction import RowsChange, SourceTransaction, StatementChange
from connector.stream.changes.xa_transactions import EarlierGroups
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.source.record_options import record_options
from verification import verify_errors
from verification.topics.comparison import Comparison
from verification.topics.log_ranges import LogRange
from verification.topics.outcome import UNNAMED, Place
from verification.topics.schema_history import SchemaHistory


class ExpectedRecords(ChangeReceiver):
    """Encodes the changes of the log into a `Comparison`."""

    def __init__(
        self,
        encoder: RecordEncoder,
        comparison: Comparison,
        schemas: SchemaHistory,
        position: StreamPosition,
        transactions: TransactionRecords | None,
        delivered: Place,
    ) -> None:
        """Encode with `encoder`, which writes to `comparison`, in the order of `position`.

        `schemas` are the schema records of the topics. The encoder writes by way of `transactions`,
        if there is one. Nothing after `delivered` is expected.
        """
        self._topics = encoder.options.topics
        self._encoder = encoder
        self._comparison = comparison
        self._schemas = schemas
        self._position = position
        self._transactions = transactions
        self._delivered = delivered
        self._last = file_number(delivered.file), delivered.position
        self._current: SourceTransaction | None = None
        # Complete transactions.
        self.count = 0

    def rows(self, change: RowsChange) -> None:
        """Expect the records of rows."""
        first: i64 = 0
        if self._position.has_begun:
            first = self._position.begun_rows(change.event_number)
            if first < 0:
                return
        self._enter(change.transaction, change.event_number)
        table_map = change.rows.table_map
        topic = self._topics.of(table_map.schema, table_map.table)
        if self._transactions is not None:
            self._transactions.enter(change.transaction, table_map.schema, table_map.table)
        if table_map.named:
            self._encode(change, topic, first)
            return
        completed = self._completed(change)
        missing = self._comparison.missing
        if completed is None:
            missing.leave_out(topic, UNNAMED, change.rows.count())
            return
        change.rows.table_map = completed
        name = f"{table_map.schema}.{table_map.table}"
        missing.begin_unnamed(name)
        self._encode(change, topic, first)
        missing.end_unnamed(name)

    def _completed(self, change: RowsChange) -> TableMapEvent | None:
        """Return the table map with the names of its columns; None if no schema record has them."""
        try:
            return self._schemas.server_schemas.completed(change)
        except errors.UnsupportedChange:
            # The newest list is older than the rows: the pipeline has never had theirs.
            return None

    def _encode(self, change: RowsChange, topic: str, first: i64) -> None:
        try:
            if first:
                self._encoder.rows_from(change, first, 0)
            else:
                self._encoder.rows(change, 0)
        except (errors.UnsupportedChange, EventError, errors.RecordTooLarge):
            written = self._encoder.rows_written
            sequence = self._encoder.sequence(change.transaction, change.event_number, written)
            self._comparison.unpublishable(topic, sequence)

    def ddl(self, changes: list[StatementChange]) -> None:
        """Expect the text of a statement."""
        self._enter(changes[0].transaction, changes[0].event_number)
        for change in changes:
            self._schemas.server_schemas.forget(change.database, change.table)
            self._comparison.missing.forget(change.database, change.table)
        self._encoder.ddl(changes, 0)

    def statement(self, change: StatementChange) -> None:
        """Expect the record that rows are gone."""
        self._enter(change.transaction, change.event_number)
        if change.kind.empties_tables and not change.resync:
            # The topics may have lost the schema record that made the pipeline write one.
            tables = [change.table]
            if change.kind is StatementKind.DROP_DATABASE:
                tables = self._schemas.tables(change.database)
            sequence = self._encoder.sequence(change.transaction, change.event_number)
            for table in tables:
                topic = self._topics.of(change.database, table)
                self._comparison.missing.settle(topic)
                if not self._encoder.schemas.newest_id(f"{change.database}.{table}"):
                    self._comparison.optional(topic, sequence)
        # What an earlier run did not know decides whether a statement says the columns.
        change.edits = None
        self._encoder.statement(change, 0)

    def transaction_end(self, end: TransactionEnd) -> None:
        """Move past a transaction."""
        self._enter(end.transaction, 0)
        self._encoder.doubts.clear()
        if self._transactions is not None:
            self._transactions.leave(end.transaction)
        self._position.advance(end)
        self._comparison.leave(self.end)
        self._current = None
        self.count += 1

    def refusal(
        self,
        refusal: errors.UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
    ) -> None:
        """Expect a statement whose rows are not in the log in quarantine.

        Raises `refusal` if it says of no table: no pipeline gets past it.
        """
        del event
        self._enter(transaction, event_number)
        database, table = refusal.database, refusal.table
        if database is None:
            raise refusal
        topic = self._topics.prefix if table is None else self._topics.of(database, table)
        sequence = str(self._encoder.sequence(transaction, event_number)).encode()
        self._comparison.missing.stated(topic, database, table, sequence, transaction.id)

    @property
    def end(self) -> Sequence:
        """The lowest sequence of a record between the last transaction and the next one."""
        position = self._position
        number = file_number(position.file) if position.file else 0
        return Sequence(position.order.epoch, number, position.position - 1, 0, 0)

    def _enter(self, transaction: SourceTransaction, event_number: int) -> None:
        sequence = self._encoder.sequence(transaction, event_number)
        if transaction is not self._current:
            if (sequence.file, sequence.position) >= self._last:
                raise errors.TransientError(
                    verify_errors.NOT_DELIVERED,
                    file=self._delivered.file,
                    position=self._delivered.position,
                    wanted=f"{transaction.file}:{transaction.position}",
                )
            self._current = transaction
            first = Sequence(sequence.epoch, sequence.file, sequence.position, 0, 0)
            self._comparison.enter(first)
        self._schemas.learn(sequence)


_RECEIVE_SECONDS = 1.0
_SHOW_SECONDS = 0.2


class LogReader:
    """The encoder of the pipeline, with a comparison as its target."""

    def __init__(
        self,
        settings: Settings,
        span: LogRange,
        tables: TableFilter,
        comparison: Comparison,
        schemas: SchemaHistory,
        rolled_back: frozenset[str],
    ) -> None:
        """Read `span`; groups in `rolled_back` are known to end in a rollback."""
        self._span = span
        # Without the GTIDs that were passed.
        self._until = span.until
        self._comparison = comparison
        source, last, prefix = span.source, span.last, settings.kafka.topic_prefix
        flavour = source.identity.flavour
        self._position = position = StreamPosition(
            source.identity, source.point, last, source=source.address, first_epoch=span.epoch
        )
        target: RecordTarget = comparison
        transactions = None
        if settings.delivery.transaction_records:
            target = transactions = TransactionRecords(prefix, target)
        options = record_options(settings, flavour, comparison.values)
        encoder = RecordEncoder(options, position.order, target, unlogged=schemas.unlogged)
        schemas.attach(encoder.schemas)
        self._expected = ExpectedRecords(
            encoder, comparison, schemas, position, transactions, span.delivered
        )
        point = source.point
        self._decoder = EventDecoder(
            file=point.file, position=point.position, mariadb=flavour == "mariadb"
        )
        self._assembler = TransactionAssembler(
            tables,
            self._expected,
            TemporaryFolder(),
            lower_case_names=source.lower_case_names,
            online=OnlineSchemaChanges.of_record(
                last.online_changes if last is not None else {},
                keeps_rows=settings.schema.on_cut_over == "keep",
            ),
            columns=encoder.schemas,
            earlier=EarlierGroups(
                position.prepared_xa.without_rows(), position.reread(), rolled_back
            ),
        )

    @property
    def count(self) -> int:
        """The transactions that were read."""
        return self._expected.count

    @property
    def place(self) -> Place:
        """The end of what was read."""
        position = self._position
        gtids = None if position.gtid_set is None else str(position.gtid_set)
        return Place(position.file, position.position, gtids)

    def read(self, show: Callable[[int, int], None]) -> None:
        """Read to the end of the range; tell `show` the bytes that were read, and all bytes.

        Raises SourceUnavailable, SourceRefused or TransientError; RolledBack for a group whose
        rows were expected before its end was known.
        """
        if self._span.follows:
            self._comparison.go_on(self._expected.end)
        elif self._position.file:
            self._comparison.begin(self._expected.end)
        try:
            self._until = self._until.rest(self._position)
            if not self._until.reached(self._position):
                self._read(show)
        finally:
            self._assembler.close()
        end = self._expected.end
        self._comparison.end(Sequence(end.epoch, end.file, end.position + 1, 0, 0))

    def _read(self, show: Callable[[int, int], None]) -> None:
        position, expected, span = self._position, self._expected, self._span
        all_bytes = self._bytes_to(span.delivered.file, span.delivered.position)
        first = self._bytes_to(position.file, position.position)
        count = 0
        shown_at = time.monotonic()
        with span.source.open_stream("binlog-verify", stop_at_end=True) as stream:
            while True:
                data = stream.events.next_event()
                if data is None:
                    if stream.ended:
                        raise self._ended()
                    stream.fill(_RECEIVE_SECONDS)
                    continue
                self._assembler.receive(self._decoder.open(data))
                if expected.count == count:
                    continue
                count = expected.count
                self._until = self._until.rest(position)
                if self._until.reached(position):
                    return
                if time.monotonic() - shown_at > _SHOW_SECONDS:
                    shown_at = time.monotonic()
                    read = self._bytes_to(position.file, position.position)
                    show(read - first, all_bytes - first)

    def _ended(self) -> Exception:
        """Return the error for a log that ends before the range does."""
        position, delivered = self._position, self._span.delivered
        if position.file and (file_number(position.file), position.position) >= (
            file_number(delivered.file),
            delivered.position,
        ):
            return errors.TransientError(
                verify_errors.NOT_DELIVERED,
                file=delivered.file,
                position=delivered.position,
                wanted=self._span.until.text,
            )
        return errors.DefiniteError(
            verify_errors.LOG_ENDS,
            source=self._span.source.address,
            found=f"{position.file}:{position.position}",
            file=delivered.file,
            position=delivered.position,
        )

    def _bytes_to(self, file: str, position: int) -> int:
        """Return the bytes of the log before a position."""
        before = 0
        for name, size in self._span.logs.items():
            if name == file or not file:
                break
            before += size
        return before + position

"""The changes of the log become the records that the pipeline has to write.

They come from the same encoder, so they have the same bytes. What depends on the moment at which
the pipeline ran is not made again: copies, replays and quarantine. The topics say what of these
there was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import file_number
from connector.changes.receiver import ChangeReceiver
from connector.changes.statement import StatementKind
from connector.contract import Sequence
from connector.errors import EventError, RecordTooLarge, TransientError, UnsupportedChange, proof
from connector.proof.outcome import STATED, UNNAMED

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.receiver import Committed
    from connector.changes.transaction import RowsChange, SourceTransaction, StatementChange
    from connector.envelope.record_encoder import RecordEncoder
    from connector.envelope.transaction_records import TransactionRecords
    from connector.progress.stream_position import StreamPosition
    from connector.proof.comparison import Comparison
    from connector.proof.known_schemas import KnownSchemas
    from connector.proof.outcome import Place


class ExpectedChanges(ChangeReceiver):
    """Encodes the changes of the log into a `Comparison`."""

    def __init__(
        self,
        encoder: RecordEncoder,
        comparison: Comparison,
        schemas: KnownSchemas,
        standing: StreamPosition,
        transactions: TransactionRecords | None,
        delivered: Place,
    ) -> None:
        """Encode with `encoder`, which writes to `comparison`, in the order of `standing`.

        `schemas` are the schema records of the topics. The encoder writes by way of `transactions`,
        if there is one. Nothing after `delivered` is expected.
        """
        self._topics = encoder.options.topics
        self._encoder = encoder
        self._comparison = comparison
        self._schemas = schemas
        self._standing = standing
        self._transactions = transactions
        self._delivered = delivered
        self._last = file_number(delivered.file), delivered.position
        self._current: SourceTransaction | None = None
        # Complete transactions.
        self.count = 0

    def rows(self, change: RowsChange) -> None:
        """Expect the records of rows."""
        first: i64 = 0
        if self._standing.has_begun:
            first = self._standing.begun_rows(change.event_number)
            if first < 0:
                return
        self._enter(change.transaction, change.event_number)
        table_map = change.rows.table_map
        topic = self._topics.of(table_map.schema, table_map.table)
        if self._transactions is not None:
            self._transactions.enter(change.transaction, table_map.schema, table_map.table)
        if not table_map.named:
            self._comparison.absences.unnamed.add(topic)
            completed = self._schemas.anchored.completed(change)
            if completed is None:
                self._comparison.absences.leave_out(topic, UNNAMED, change.rows.count())
                return
            change.rows.table_map = completed
        try:
            if first:
                self._encoder.rest(change, first, 0)
            else:
                self._encoder.rows(change, 0)
        except (UnsupportedChange, EventError, RecordTooLarge):
            written = self._encoder.rows_written
            sequence = self._encoder.sequence(change.transaction, change.event_number, written)
            self._comparison.unpublishable(topic, sequence)

    def ddl(self, changes: list[StatementChange]) -> None:
        """Expect the text of a statement."""
        self._enter(changes[0].transaction, changes[0].event_number)
        for change in changes:
            self._schemas.anchored.forget(change.database, change.table)
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
                if not self._encoder.schemas.newest_id(f"{change.database}.{table}"):
                    self._comparison.optional(topic, sequence)
        # What an earlier run did not know decides whether a statement says the columns.
        change.edits = None
        self._encoder.statement(change, 0)

    def committed(self, committed: Committed) -> None:
        """Move past a transaction."""
        self._enter(committed.transaction, 0)
        self._encoder.doubts.clear()
        if self._transactions is not None:
            self._transactions.leave(committed.transaction)
        self._standing.advance(committed)
        self._comparison.leave(self.end)
        self._current = None
        self.count += 1

    def refused(
        self,
        refusal: UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
    ) -> None:
        """Count a statement whose rows are not in the log; the pipeline has kept it back."""
        del event
        self._enter(transaction, event_number)
        topic = self._topics.prefix
        if refusal.database is not None and refusal.table is not None:
            topic = self._topics.of(refusal.database, refusal.table)
        self._comparison.absences.leave_out(topic, STATED, 1)

    @property
    def end(self) -> Sequence:
        """The lowest sequence of a record between the last transaction and the next one."""
        standing = self._standing
        number = file_number(standing.file) if standing.file else 0
        return Sequence(standing.order.epoch, number, standing.position - 1, 0, 0)

    def _enter(self, transaction: SourceTransaction, event_number: int) -> None:
        sequence = self._encoder.sequence(transaction, event_number)
        if transaction is not self._current:
            if (sequence.file, sequence.position) >= self._last:
                raise TransientError(
                    proof.NOT_DELIVERED,
                    file=self._delivered.file,
                    position=self._delivered.position,
                    wanted=f"{transaction.file}:{transaction.position}",
                )
            self._current = transaction
            first = Sequence(sequence.epoch, sequence.file, sequence.position, 0, 0)
            self._comparison.enter(first)
        self._schemas.learn(sequence)

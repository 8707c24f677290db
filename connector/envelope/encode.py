"""Transactions become Kafka records: rows, the schemas that they use, and rows that are gone.

*Schemas.* The first row of a column list is preceded by its schema record. A column list is known
again after a restart, because the keys of all schema records are read back before the stream
opens; one that is written twice is the same record with the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from connector.changes.statement import StatementKind
from connector.envelope.added_default import with_added_default
from connector.envelope.contract import SEQ_EVENT_DIGITS, SEQ_ROW_DIGITS, Sequence, row_topic
from connector.envelope.event_encoder import HALVES, US_PER_MS, EnvelopeOptions, EventEncoder
from connector.envelope.row_encoder import RowEncoder
from connector.envelope.table_schema import TableSchema
from connector.errors import UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event
    from connector.binlog.table_map_event import TableMapEvent
    from connector.changes.added_columns import AddedColumn
    from connector.changes.transaction import RowsChange, StatementChange, Transaction
    from connector.envelope.order import TransactionOrder
    from connector.envelope.record import Record

_ROWS_MAX = 10**SEQ_ROW_DIGITS // HALVES
_EVENTS_MAX = 10**SEQ_EVENT_DIGITS
# Table maps are small and few; a table that is altered all the time must not fill the memory.
_ENCODERS_MAX = 10_000


class RecordEncoder:
    """Encodes the changes of one stream, in its order."""

    def __init__(
        self,
        options: EnvelopeOptions,
        order: TransactionOrder,
        schema_keys: Iterable[str] = (),
        added_columns: dict[str, list[AddedColumn]] | None = None,
    ) -> None:
        """Continue where the schema records `schema_keys` have been written.

        `added_columns` are those whose table has had no rows since ALTER TABLE.
        """
        self._options = options
        self._order = order
        self.added_columns = dict(added_columns or {})
        # The ids of each table's column lists, the newest last.
        self._schema_ids: dict[str, dict[str, None]] = {}
        for key in schema_keys:
            name, _, schema_id = key.rpartition("/")
            self._schema_ids.setdefault(name, {})[schema_id] = None
        # The decoder gives the same object for equal table maps, so identity tells them apart;
        # the map is kept beside its encoder so that the identity is not reused.
        self._encoders: dict[int, tuple[TableMapEvent, RowEncoder]] = {}
        self._topics: dict[str, str] = {}
        self._transaction: Transaction | None = None
        self._place = (0, 0, 0)

    def rows(self, change: RowsChange, now_us: int) -> Iterator[Record]:
        """Yield the records of a rows event; `now_us` is the time of encoding.

        Raises UnsupportedChange for a row that cannot be represented, EventError for one that
        cannot be read.
        """
        encoder = self._encoder(change.rows.table_map, change.event)
        schema = encoder.schema
        first = self._sequence(change.transaction, change.event_number, change.event)
        yield from self._schema(schema, first, change.transaction)
        event_encoder = EventEncoder(
            self._options,
            change.transaction,
            change.event,
            (schema.database, schema.table),
            schema.schema_id,
            encoder.topic,
            first,
            now_us,
        )
        for number, row in enumerate(change.rows.rows(apply_diffs=True)):
            if number >= _ROWS_MAX:
                self._refuse(change.event, f"a rows event with more than {_ROWS_MAX} rows")
            yield from event_encoder.rows(encoder, number, row)

    def statement(self, change: StatementChange, now_us: int) -> Iterator[Record]:
        """Yield what DDL on followed tables means to consumers: rows that are gone."""
        name = f"{change.database}.{change.table}"
        if change.kind is StatementKind.ALTER_TABLE:
            if change.added_columns:
                self.added_columns[name] = [
                    *self.added_columns.get(name, ()),
                    *change.added_columns,
                ]
            return
        names = [name]
        if change.kind is StatementKind.DROP_DATABASE:
            names = sorted(known for known in self._schema_ids if known.startswith(name))
        for gone in names:
            # A table of which nothing was ever published has nothing to take back.
            if gone in self._schema_ids:
                yield self._truncate(change, gone, now_us)

    def has_published(self, transaction: Transaction) -> bool:
        """Return whether records of `transaction`, the latest one, have been made."""
        return transaction is self._transaction

    def sequence(self, transaction: Transaction) -> Sequence:
        """Return the sequence of a transaction's first event."""
        if transaction is not self._transaction:
            self._place = self._order.place(transaction.file, transaction.position)
            self._transaction = transaction
        return Sequence(*self._place, 0, 0)

    def _sequence(self, transaction: Transaction, number: int, event: Event) -> Sequence:
        if number >= _EVENTS_MAX:
            self._refuse(event, f"a transaction with more than {_EVENTS_MAX} events")
        first = self.sequence(transaction)
        return Sequence(first.epoch, first.file, first.position, number, 0)

    def _truncate(self, change: StatementChange, name: str, now_us: int) -> Record:
        database, table = change.database, name[len(change.database) + 1 :]
        return EventEncoder(
            self._options,
            change.transaction,
            change.event,
            (database, table),
            next(reversed(self._schema_ids[name])),
            self._topic(database, table),
            self._sequence(change.transaction, change.event_number, change.event),
            now_us,
        ).truncate()

    def _encoder(self, table_map: TableMapEvent, event: Event) -> RowEncoder:
        known = self._encoders.get(id(table_map))
        if known is not None:
            return known[1]
        schema = TableSchema.from_table_map(table_map, f"{event.file}:{event.position}")
        if len(self._encoders) >= _ENCODERS_MAX:
            self._encoders.clear()
        encoder = RowEncoder(schema, self._topic(schema.database, schema.table))
        self._encoders[id(table_map)] = (table_map, encoder)
        return encoder

    def _topic(self, database: str, table: str) -> str:
        name = f"{database}.{table}"
        topic = row_topic(self._options.prefix, database, table)
        other = self._topics.setdefault(topic, name)
        if other != name:
            reason = (
                f"tables {other} and {name} would share topic {topic}: exclude one of them in "
                "source.exclude_tables, or carry it in a pipeline with another kafka.topic_prefix"
            )
            raise UnsupportedChange(reason)
        return topic

    def _schema(
        self, schema: TableSchema, sequence: Sequence, transaction: Transaction
    ) -> Iterator[Record]:
        known = self._schema_ids.setdefault(schema.name, {})
        added = {column.name: column for column in self.added_columns.pop(schema.name, ())}
        if schema.schema_id in known and not added:
            return
        known.pop(schema.schema_id, None)
        known[schema.schema_id] = None
        columns = [
            with_added_default(column, added[column["name"]]) if column["name"] in added else column
            for column in schema.columns
        ]
        timestamp_ms = transaction.committed_us // US_PER_MS
        yield schema.record(self._options.prefix, sequence, columns, timestamp_ms)

    def _refuse(self, event: Event, what: str) -> NoReturn:
        reason = (
            f"{event.file}:{event.position}: {what} cannot be numbered: split the change into "
            "smaller transactions"
        )
        raise UnsupportedChange(reason)

"""Changes become Kafka records: rows, the schemas that they use, and rows that are gone.

*Schemas.* The first row of a column list is preceded by its schema record. A column list is known
again after a restart, because the keys of all schema records are read back before the stream
opens; one that is written twice is the same record with the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, final

from connector.changes.statement import StatementKind
from connector.envelope.added_default import with_added_default
from connector.envelope.contract import SEQ_EVENT_DIGITS, SEQ_ROW_DIGITS, Sequence, row_topic
from connector.envelope.ddl_record import write_ddl
from connector.envelope.event_encoder import HALVES, US_PER_MS, EventEncoder
from connector.envelope.key_watch import KeyWatch
from connector.envelope.published_table import PublishedTable, TableParts
from connector.envelope.record import NO_HEADERS
from connector.envelope.table_schema import TableSchema, schema_topic
from connector.errors import UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.binlog.rows_event import RowsEvent
    from connector.binlog.table_map_event import TableMapEvent
    from connector.changes.added_columns import AddedColumn
    from connector.changes.transaction import RowsChange, StatementChange, Transaction
    from connector.envelope.anchored_tables import AnchoredTables
    from connector.envelope.between import BetweenPlace
    from connector.envelope.event_encoder import EnvelopeOptions
    from connector.envelope.order import TransactionOrder
    from connector.envelope.record import RecordTarget

_ROWS_MAX: Final = 10**SEQ_ROW_DIGITS // HALVES
_EVENTS_MAX: Final = 10**SEQ_EVENT_DIGITS
# Table maps are small and few; a table that is altered all the time must not fill the memory.
_ENCODERS_MAX: Final = 10_000
# Statements behind which a name has no rows any longer.
_GONE: Final = (
    StatementKind.TRUNCATE,
    StatementKind.DROP_TABLE,
    StatementKind.DROP_DATABASE,
    StatementKind.RENAME_TABLE,
)


@final
class RecordEncoder:
    """Encodes the changes of one stream, in its order."""

    def __init__(
        self,
        options: EnvelopeOptions,
        order: TransactionOrder,
        target: RecordTarget,
        schema_keys: Iterable[str] = (),
        added_columns: dict[str, list[AddedColumn]] | None = None,
    ) -> None:
        """Continue where the schema records `schema_keys` have been written.

        `target` takes the records. `added_columns` are those whose table has had no rows since
        ALTER TABLE.
        """
        self._options = options
        self._order = order
        self._target = target
        self._events = EventEncoder(options, target)
        self.added_columns = dict(added_columns or {})
        self.watch = KeyWatch()
        # Tables that the log does not describe; None where it has to.
        self.anchored: AnchoredTables | None = None
        # The ids of each table's column lists, the newest last.
        self._schema_ids: dict[str, dict[str, None]] = {}
        for key in schema_keys:
            name, _, schema_id = key.rpartition("/")
            self._schema_ids.setdefault(name, {})[schema_id] = None
        self._tables: dict[int, PublishedTable] = {}
        self._last: PublishedTable | None = None  # of the event before
        self._topics: dict[str, str] = {}
        self._transaction: Transaction | None = None
        self._place: tuple[int, int, int] = (0, 0, 0)
        # Of an event whose rows could not all be written: those before the first that could not.
        self.rows_written: i64 = 0

    def rows(self, change: RowsChange, now_us: i64) -> None:
        """Write the records of a rows event; `now_us` is the time of encoding.

        Raises UnsupportedChange for a row that cannot be represented, EventError for one that
        cannot be read, and what the target raises; `rows_written` rows before it have been written,
        and nothing of it.
        """
        self.rows_written = 0
        rows = change.rows
        table = self.open_rows(change, now_us)
        images = table.images(rows)
        events = self._events
        kind = rows.kind
        number: i64 = 0
        try:
            while images.next_row():
                if number >= _ROWS_MAX:
                    _refuse_count(f"a rows event with more than {_ROWS_MAX} rows")
                events.row(kind, images, number)
                number += 1
        except UnsupportedChange as error:
            self.rows_written = number
            raise _placed(change.event, table.schema.name, error) from error
        except Exception:
            self.rows_written = number
            raise

    def open_rows(self, change: RowsChange, now_us: i64) -> PublishedTable:
        """Stand before the rows of an event, behind the schema that they need.

        Raises UnsupportedChange or EventError for a table that cannot be published, and what the
        target raises.
        """
        event = change.event
        table = self._table(change.rows.table_map, event)
        self._enter(change.transaction, change.event_number, event)
        if not table.announced or self.added_columns:
            self._announce(table, change.transaction, self._place, change.event_number)
        self._events.begin(
            change.transaction, event, table.parts, self._place, change.event_number, now_us
        )
        return table

    def schema_id(self, change: RowsChange) -> str:
        """Return the id of the column list of an event's rows.

        Raises UnsupportedChange where it is not known.
        """
        return self._table(change.rows.table_map, change.event).schema.schema_id

    def row(self, table: PublishedTable, row: RowsEvent, number: i64) -> None:
        """Write row `number` of the event that was opened, which `row` has alone.

        Raises as `rows` does; then nothing of it has been written.
        """
        images = table.images(row)
        images.next_row()
        self._events.row(row.kind, images, number)

    def repeat(
        self, change: RowsChange, row: RowsEvent, number: i64, place: BetweenPlace, now_us: i64
    ) -> None:
        """Write row `number` of an earlier event, which `row` has alone, at `place`.

        Its place has room for `HALVES` records. Raises as `rows` does; then nothing of it has been
        written.
        """
        table = self._table(change.rows.table_map, change.event)
        at = (place.epoch, place.file, place.position)
        awaited = self._awaited_by(table.schema)
        if not table.announced or awaited:
            self._announce(table, change.transaction, at, place.event, takes_up=awaited)
        self._events.begin(
            change.transaction,
            change.event,
            table.parts,
            at,
            place.event,
            now_us,
            place.row - number * HALVES,
        )
        self.row(table, row, number)

    def repeat_gone(self, change: StatementChange, place: BetweenPlace, now_us: i64) -> None:
        """Write at `place` that all earlier rows of a table are gone, which has been published."""
        name = f"{change.database}.{change.table}"
        newest = self.newest_schema_id(name)
        if not newest:
            return
        topic = self.topic(change.database, change.table)
        watched = self.watch.table(name)
        parts = TableParts(change.database, change.table, newest, topic, watched)
        self._events.begin(
            change.transaction,
            change.event,
            parts,
            (place.epoch, place.file, place.position),
            place.event,
            now_us,
            place.row,
        )
        self._events.truncate()

    def published_tables(self, database: str) -> list[str]:
        """Return the tables of a database that have been published."""
        start = f"{database}."
        return [name[len(start) :] for name in self._schema_ids if name.startswith(start)]

    def ddl(self, changes: list[StatementChange], now_us: i64) -> None:
        """Write the text of a statement, for consumers of DDL."""
        change = changes[0]
        self._enter(change.transaction, change.event_number, change.event)
        sequence = self.sequence(change.transaction, change.event_number)
        write_ddl(self._target, self._options, changes, sequence, now_us)

    def statement(self, change: StatementChange, now_us: i64) -> None:
        """Write what DDL on followed tables means to consumers: rows that are gone.

        Of a table that is to be copied anew, whoever copies it says so.
        """
        name = f"{change.database}.{change.table}"
        if change.resync:
            self.added_columns.pop(name, None)
            return
        if change.kind is StatementKind.ALTER_TABLE:
            if change.added_columns:
                self.added_columns[name] = [
                    *self.added_columns.get(name, ()),
                    *change.added_columns,
                ]
            return
        if change.kind not in _GONE:
            return
        names = [name]
        if change.kind is StatementKind.DROP_DATABASE:
            names = sorted(known for known in self._schema_ids if known.startswith(name))
        for gone in names:
            # A table of which nothing was ever published has nothing to take back.
            if gone in self._schema_ids:
                self._truncate(change, gone, now_us)
            if change.kind is not StatementKind.TRUNCATE:
                self.added_columns.pop(gone, None)

    def has_published(self, transaction: Transaction) -> bool:
        """Return whether records of `transaction`, the latest one, have been made."""
        return transaction is self._transaction

    def sequence(self, transaction: Transaction, event_number: i64 = 0, row: i64 = 0) -> Sequence:
        """Return the sequence of a row of a transaction, by default of its first event."""
        if transaction is not self._transaction:
            self._place = self._order.place(transaction.file, transaction.position)
            self._transaction = transaction
        return Sequence(*self._place, event_number, row * HALVES)

    def _enter(self, transaction: Transaction, number: int, event: Event) -> None:
        """Stand at event `number` of a transaction."""
        if number >= _EVENTS_MAX:
            place = f"{event.file}:{event.position}: "
            _refuse_count(f"{place}a transaction with more than {_EVENTS_MAX} events")
        if transaction is not self._transaction:
            self._place = self._order.place(transaction.file, transaction.position)
            self._transaction = transaction

    def _truncate(self, change: StatementChange, name: str, now_us: i64) -> None:
        database, table = change.database, name[len(change.database) + 1 :]
        self._enter(change.transaction, change.event_number, change.event)
        parts = TableParts(
            database,
            table,
            self.newest_schema_id(name),
            self.topic(database, table),
            self.watch.table(name),
        )
        self._events.begin(
            change.transaction, change.event, parts, self._place, change.event_number, now_us
        )
        self._events.truncate()

    def _table(self, table_map: TableMapEvent, event: Event) -> PublishedTable:
        last = self._last
        if last is not None and last.table_map is table_map:
            return last
        table = self._tables.get(id(table_map))
        if table is None:
            schema = TableSchema.from_table_map(table_map, f"{event.file}:{event.position}")
            if len(self._tables) >= _ENCODERS_MAX:
                self._tables.clear()
            topic = self.topic(schema.database, schema.table)
            watched = self.watch.table(schema.name)
            try:
                table = PublishedTable(table_map, schema, topic, watched)
            except UnsupportedChange as error:
                raise _placed(event, schema.name, error) from error
            self._tables[id(table_map)] = table
            self.watch.published.add((schema.database, schema.table))
        self._last = table
        return table

    def newest_schema_id(self, name: str) -> str:
        """Return the id of the column list of `database.table` that was written last.

        "" where nothing of the table was ever published.
        """
        ids = self._schema_ids.get(name)
        return next(reversed(ids)) if ids else ""

    def topic(self, database: str, table: str) -> str:
        """Return the topic of a table's rows.

        Raises UnsupportedChange where two tables would share it.
        """
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

    def _awaited_by(self, schema: TableSchema) -> bool:
        """Return whether a column list has columns that were added to a table without rows since.

        One of before has not.
        """
        awaited = {column.name for column in self.added_columns.get(schema.name, ())}
        return bool(awaited) and any(column["name"] in awaited for column in schema.columns)

    def _announce(
        self,
        table: PublishedTable,
        transaction: Transaction,
        place: tuple[int, int, int],
        event_number: i64,
        takes_up: bool = True,
    ) -> None:
        watched = table.parts.watched
        if watched.keys is not None and watched.schema_id != table.schema.schema_id:
            # Of statements that change a column list, not all are told apart.
            watched.changes += 1
        sequence = Sequence(*place, event_number, 0)
        anchored = self.anchored
        anchor = "" if anchored is None else anchored.take_anchor(table.schema.name)
        self.announce(
            table.schema, sequence, transaction.committed_us // US_PER_MS, takes_up, anchor
        )
        table.announced = True

    def announce(
        self,
        schema: TableSchema,
        sequence: Sequence,
        timestamp_ms: i64,
        takes_up: bool = True,
        anchor: str = "",
    ) -> None:
        """Write the schema record, where it is not known as it is.

        `sequence` is of the first row that uses it. The columns that were added are of another
        column list unless it `takes_up` them. `anchor` is where the column list was asked for, if
        that is to be known.
        """
        known = self._schema_ids.setdefault(schema.name, {})
        waiting = self.added_columns.get(schema.name, ()) if takes_up else ()
        added = {column.name: column for column in waiting}
        if added or anchor or schema.schema_id not in known:
            columns = [
                with_added_default(column, added[column["name"]])
                if column["name"] in added
                else column
                for column in schema.columns
            ]
            self._target.take(
                schema_topic(self._options.prefix),
                schema.record_key(),
                schema.record_value(sequence, columns, anchor),
                NO_HEADERS,
                timestamp_ms,
            )
            known.pop(schema.schema_id, None)
            known[schema.schema_id] = None
        if takes_up:
            self.added_columns.pop(schema.name, None)


def _refuse_count(what: str) -> NoReturn:
    reason = f"{what} cannot be numbered: split the change into smaller transactions"
    raise UnsupportedChange(reason)


def _placed(event: Event, table: str, error: UnsupportedChange) -> UnsupportedChange:
    """Return an error that says in which event, and of which table, it is."""
    return UnsupportedChange(f"{event.file}:{event.position}: table {table}: {error}")

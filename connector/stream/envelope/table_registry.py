"""The tables of one stream that have had rows: for each table map its topic, schema and row writer.

`TableRegistry` finds the `PublishedTable` of a table map. That holds what all records of one
column list share, and the writer of its rows.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, final

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.changes.receiver import StreamListener
from connector.stream.envelope import record_errors, row_images
from connector.stream.envelope.cells.writers import require_form
from connector.stream.envelope.debezium.profile import field_names
from connector.stream.envelope.debezium.row_filter import RowFilter
from connector.stream.envelope.key_windows import KeyWindows, TableWindows
from connector.stream.envelope.options import EnvelopeOptions, TopicClaims
from connector.stream.envelope.outbox_events import OutboxEvents
from connector.stream.envelope.record_frame import RecordFrame
from connector.stream.envelope.record_headers import TableHeaders
from connector.stream.envelope.row_writer import RowWriter
from connector.stream.envelope.schemas.server_schemas import UnloggedColumns, hidden_names
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes
from connector.stream.envelope.source_block import SourceTable


@final
class TableParts:
    """The parts that all records of one column list share."""

    __slots__ = ("form", "headers", "outbox", "source", "topic", "watched")

    def __init__(
        self,
        database: str,
        table: str,
        schema_id: str,
        topic: str,
        watched: TableWindows,
        form: RecordFrame,
        pipeline: str,
    ) -> None:
        """Compose the parts; `schema_id` and `pipeline` as in `TableHeaders`."""
        self.form = form
        # What makes events of rows; None for other tables than those of an outbox.
        self.outbox: OutboxEvents | None = None
        self.topic = topic
        self.watched = watched
        self.source = SourceTable(database, table)
        self.headers = TableHeaders(schema_id, pipeline)


@final
class PublishedTable:
    """One table map, and the writer of its rows."""

    __slots__ = (
        "_debezium",
        "_filter",
        "_writer",
        "announced",
        "parts",
        "schema",
        "table_map",
    )

    def __init__(
        self,
        table_map: TableMapEvent,
        schema: TableSchema,
        topic: str,
        watched: TableWindows,
        options: EnvelopeOptions,
    ) -> None:
        """Compose the parts that all records share.

        Raises UnsupportedChange for a column that the envelope cannot hold, and as
        `RowFilters.of`.
        """
        self.table_map = table_map
        self.schema = schema
        self.parts = TableParts(
            schema.database,
            schema.table,
            schema.schema_id,
            topic,
            watched,
            RecordFrame(options, schema),
            options.pipeline_header(schema.database, schema.table),
        )
        self.announced = False  # whether its schema record has been written
        self._debezium = options.debezium
        for column in schema.columns:
            require_form(column)
        field_names(schema.columns, options.debezium)
        record_key_indexes(schema, options.debezium)
        self._writer: RowWriter | None = None
        self._filter: RowFilter | None = None
        if options.debezium is not None and options.debezium.filters is not None:
            self._filter = options.debezium.filters.of(schema.for_filters)

    def images(self, rows: RowsEvent) -> row_images.RowImages:
        """Return the images of an event; raise EventError for one that cannot be read."""
        writer = self._writer
        try:
            if writer is None:
                writer = self._writer = RowWriter(self.table_map, self.schema, self._debezium)
            writer.begin(rows)
        except DecodeError as error:
            raise rows.unreadable(error) from error
        return writer

    def lacks_values(self, rows: RowsEvent) -> bool:
        """Return whether an image of an event leaves out a column that records have."""
        places = self.schema.places
        return _lacks(rows.before_columns_present, places) or _lacks(
            rows.after_columns_present, places
        )

    def judged_images(self, rows: RowsEvent, gate: row_images.FilterGate) -> row_images.RowImages:
        """Return the images of an event, and tell `gate` which of its rows have records.

        Raises as `images` does.
        """
        images = self.images(rows)
        if self._filter is None:
            gate.open()
            return images
        return row_images.FilteredImages(images, rows, self._filter, gate)


def _lacks(columns_present: bytes | None, places: list[int]) -> bool:
    """Return whether an image lacks one of the columns; None stands for no image at all."""
    if columns_present is None:
        return False
    return any(not columns_present[place >> 3] >> (place & 7) & 1 for place in places)


# Table maps are small and few. The limit is for tables that are altered all the time.
_TABLES_MAX: Final = 10_000


@final
class TableRegistry:
    """The tables of one stream that have had rows."""

    def __init__(
        self,
        options: EnvelopeOptions,
        watch: KeyWindows,
        unlogged: UnloggedColumns | None = None,
        listener: StreamListener | None = None,
    ) -> None:
        """Tell `watch` which tables have rows, and `listener` of updates of outbox tables.

        Records leave out the `unlogged` columns of the log; without them, they have all.
        """
        self._options = options
        self._claims = TopicClaims(options.topics)
        # Only new ones are added, so any thread may look one up.
        self.names = self._claims.names
        self._chosen = options.columns
        self._watch = watch
        self._tables: dict[int, PublishedTable] = {}
        self._last: PublishedTable | None = None  # the table of the last event
        # The column lists of rows that are kept back: a server may have to be asked for one.
        self._kept: dict[int, tuple[TableMapEvent, str]] = {}
        self.unlogged = unlogged
        self._listener = StreamListener() if listener is None else listener

    def of(self, table_map: TableMapEvent, event: Event) -> PublishedTable:
        """Return the table for the rows in `event`, always the same one for the same table map.

        Raises UnsupportedChange for a table that cannot be published, and the errors of `unlogged`.
        """
        last = self._last
        if last is not None and last.table_map is table_map:
            return last
        table = self._tables.get(id(table_map))
        if table is None:
            schema = self._schema(table_map, event)
            if len(self._tables) >= _TABLES_MAX:
                self._tables.clear()
            topic = self.topic(schema.database, schema.table)
            watched = self._watch.table(schema.name)
            try:
                table = PublishedTable(table_map, schema, topic, watched, self._options)
                table.parts.outbox = self.outbox_events(schema)
            except UnsupportedChange as error:
                raise with_event_position(event, schema.name, error) from error
            self._tables[id(table_map)] = table
            self._watch.published.add((schema.database, schema.table))
        self._last = table
        return table

    def _schema(self, table_map: TableMapEvent, event: Event) -> TableSchema:
        database, table = table_map.schema, table_map.table
        unlogged: frozenset[str] = frozenset()
        if self.unlogged is not None and table_map.named:
            unlogged = self.unlogged.of(database, table, hidden_names(table_map))
        position = f"{event.file}:{event.position}"
        try:
            return TableSchema.from_table_map(table_map, position, unlogged, self._chosen)
        except UnsupportedChange as error:
            if error.code in record_errors.COLUMN_CODES:
                raise with_event_position(event, f"{database}.{table}", error) from error
            raise

    def outbox_events(self, schema: TableSchema) -> OutboxEvents | None:
        """Return what makes events of an outbox table's rows; None for other tables.

        Raises UnsupportedChange for a column that records do not have, or that no event can have.
        """
        form = self._options.outbox
        if form is None or not form.takes(schema.database, schema.table):
            return None
        return OutboxEvents(self._options, schema, self.names, self._listener)

    def parts(
        self, database: str, table: str, schema_id: str, schema: TableSchema | None
    ) -> TableParts:
        """Return the shared parts of a table's records that belong to no row.

        `schema_id` names its newest column list; `schema` is that, if its records tell it. Raises
        as `topic` does.
        """
        topic = self.topic(database, table)
        watched = self._watch.table(f"{database}.{table}")
        form = RecordFrame(self._options, schema)
        pipeline = self._options.pipeline_header(database, table)
        return TableParts(database, table, schema_id, topic, watched, form, pipeline)

    def topic(self, database: str, table: str) -> str:
        """Return the topic of a table's rows; raises as `TopicClaims.of` does."""
        return self._claims.of(database, table)

    def claim(self, tables: Iterable[tuple[str, str]]) -> None:
        """Note the topics of tables that have had records, the oldest first."""
        for database, table in tables:
            with suppress(UnsupportedChange):
                # A younger one that was refused.
                self.topic(database, table)

    def schema_id(self, table_map: TableMapEvent, event: Event) -> str:
        """Return the id of a column list; raises as `of` does, except for the table's topic."""
        last = self._last
        if last is not None and last.table_map is table_map:
            return last.schema.schema_id
        kept = self._kept.get(id(table_map))
        if kept is None:
            kept = table_map, self._schema(table_map, event).schema_id
            if len(self._kept) >= _TABLES_MAX:
                self._kept.clear()
            self._kept[id(table_map)] = kept
        return kept[1]


def with_event_position(event: Event, table: str, error: UnsupportedChange) -> UnsupportedChange:
    """Return `error` with the position of its event and its table."""
    return UnsupportedChange(
        record_errors.IN_EVENT,
        log_position=f"{event.file}:{event.position}",
        table=table,
        why=error,
    )

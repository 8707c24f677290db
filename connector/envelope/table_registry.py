"""Table maps become published tables, each with its topic."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, final

from connector.changes.stream_listener import StreamListener
from connector.envelope.outbox_events import OutboxEvents
from connector.envelope.published_table import PublishedTable, TableParts
from connector.envelope.record_form import RecordForm
from connector.envelope.schemas.table_schema import TableSchema
from connector.envelope.schemas.unlogged_columns import hidden_names
from connector.envelope.topics import TopicClaims
from connector.errors import UnsupportedChange, table_columns, table_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event
    from connector.binlog.events.table_map import TableMapEvent
    from connector.envelope.key_watch import KeyWatch
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.schemas.unlogged_columns import UnloggedColumns

# Table maps are small and few. The limit is for tables that are altered all the time.
_TABLES_MAX: Final = 10_000


@final
class PublishedTables:
    """The tables of one stream that have had rows."""

    def __init__(self, options: EnvelopeOptions, watch: KeyWatch) -> None:
        """Tell `watch` which tables have rows."""
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
        # Columns of the log that records leave out; None if they have all.
        self.unlogged: UnloggedColumns | None = None
        # Hears of updates of outbox tables.
        self.listener = StreamListener()

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
                raise in_event(event, schema.name, error) from error
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
            if error.code in table_columns.CODES:
                raise in_event(event, f"{database}.{table}", error) from error
            raise

    def outbox_events(self, schema: TableSchema) -> OutboxEvents | None:
        """Return what makes events of an outbox table's rows; None for other tables.

        Raises UnsupportedChange for a column that records do not have, or that no event can have.
        """
        form = self._options.outbox
        if form is None or not form.takes(schema.database, schema.table):
            return None
        return OutboxEvents(self._options, schema, self.names, self.listener)

    def parts(
        self, database: str, table: str, schema_id: str, schema: TableSchema | None
    ) -> TableParts:
        """Return the shared parts of a table's records that belong to no row.

        `schema_id` names its newest column list; `schema` is that, if its records tell it. Raises
        as `topic` does.
        """
        topic = self.topic(database, table)
        watched = self._watch.table(f"{database}.{table}")
        form = RecordForm(self._options, schema)
        owner = self._options.owner(database, table)
        return TableParts(database, table, schema_id, topic, watched, form, owner)

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


def in_event(event: Event, table: str, error: UnsupportedChange) -> UnsupportedChange:
    """Return `error` with the position of its event and its table."""
    return UnsupportedChange(
        table_rows.IN_EVENT, log_position=f"{event.file}:{event.position}", table=table, why=error
    )

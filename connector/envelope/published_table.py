"""A column list that has had rows: the shared parts of its records, and the writer of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.bitmap import all_set
from connector.envelope.judged_images import JudgedImages
from connector.envelope.record_form import RecordForm
from connector.envelope.record_headers import TableHeaders
from connector.envelope.rows.row_images import DecodedImages, RowImages
from connector.envelope.rows.row_of_values import RowEncoder
from connector.envelope.rows.row_writer import RowWriter
from connector.envelope.source_block import SourceTable
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.envelope.filters.row_filter import RowFilter
    from connector.envelope.judged_images import FilterGate
    from connector.envelope.key_watch import WatchedTable
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.outbox_events import OutboxEvents
    from connector.envelope.schemas.table_schema import TableSchema


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
        watched: WatchedTable,
        form: RecordForm,
        owner: str,
    ) -> None:
        """Compose the parts; `schema_id` and `owner` as in `TableHeaders`."""
        self.form = form
        # What makes events of rows; None for other tables than those of an outbox.
        self.outbox: OutboxEvents | None = None
        self.topic = topic
        self.watched = watched
        self.source = SourceTable(database, table)
        self.headers = TableHeaders(schema_id, owner)


@final
class PublishedTable:
    """One table map, and the writer of its rows."""

    __slots__ = (
        "_debezium",
        "_encoder",
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
        watched: WatchedTable,
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
            RecordForm(options, schema),
            options.owner(schema.database, schema.table),
        )
        self.announced = False  # whether its schema record has been written
        self._debezium = options.debezium
        self._encoder = RowEncoder(schema, options.debezium)
        self._writer: RowWriter | None = None
        self._filter: RowFilter | None = None
        if options.debezium is not None and options.debezium.filters is not None:
            self._filter = options.debezium.filters.of(schema.for_filters)

    def images(self, rows: RowsEvent) -> RowImages:
        """Return the images of an event, written directly from their bytes if possible.

        Raises EventError for a column that cannot be read.
        """
        columns: i64 = len(self.table_map.columns)
        if (
            rows.partial
            or rows.refused is not None
            or not columns
            or _leaves_out(rows.before_columns_present, columns)
            or _leaves_out(rows.after_columns_present, columns)
        ):
            return DecodedImages(rows, self._encoder)
        writer = self._writer
        if writer is None:
            try:
                writer = self._writer = RowWriter(self.table_map, self.schema, self._debezium)
            except DecodeError as error:
                raise rows.unreadable(error) from error
        writer.begin(rows)
        return writer

    def lacks_values(self, rows: RowsEvent) -> bool:
        """Return whether an image of an event leaves out a column that records have."""
        places = self.schema.places
        return _lacks(rows.before_columns_present, places) or _lacks(
            rows.after_columns_present, places
        )

    def judged_images(self, rows: RowsEvent, gate: FilterGate) -> RowImages:
        """Return the images of an event, and tell `gate` which of its rows have records.

        Raises as `images` does.
        """
        images = self.images(rows)
        if self._filter is None:
            gate.open()
            return images
        return JudgedImages(images, rows, self._filter, gate)


def _lacks(columns_present: bytes | None, places: list[int]) -> bool:
    """Return whether an image lacks one of the columns; None stands for no image at all."""
    if columns_present is None:
        return False
    return any(not columns_present[place >> 3] >> (place & 7) & 1 for place in places)


def _leaves_out(columns_present: bytes | None, columns: i64) -> bool:
    """Return whether an image lacks a column; None stands for no image at all."""
    return columns_present is not None and not all_set(columns_present, columns)

"""Changed rows become Arrow record batches, each for one table with one definition.

Each row image is a row of the batch, so an update is two rows. The columns of the change come
first, then those of the table, whose types are in `batch_columns`:

==============  =================================================================
`_op`           insert, update, delete
`_image`        before, after
`_file`, `_pos`  of the event that holds the row
`_gtid`         of its transaction; null without one
`_timestamp`    when its statement began, UTC
`_seq`          counts the rows of the transaction, from 0; both images have one;
                rows of tables that are not read count if they can be counted
`_absent`       names of the columns that the image leaves out; they are null only
                for this reason; null if no column is absent
==============  =================================================================

Batches of one table come in the order of the log, and a table that is altered begins a new batch.

https://arrow.apache.org/docs/python/generated/pyarrow.RecordBatch.html
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, final

import pyarrow as pa
from mypy_extensions import i64

from connector.binlog import argument_errors
from connector.binlog.arrow import batch_columns
from connector.binlog.arrow.builder import ArrayBuilder, ArrowValueError, VariableWidthBuilder
from connector.binlog.columns.column import ColumnReader
from connector.binlog.columns.json import ABSENT_BEFORE, NULL_BEFORE, changed_document
from connector.binlog.columns.row_images import bitmap_length, column_error
from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.table_filter import TableFilter
from connector.binlog.transactions.transaction import Transaction, changed_rows_in, column_names
from connector.foundation.errors import ConfigError, DecodeError

# Bitmaps of columns that are cached; with binlog_row_image=MINIMAL there may be many.
_LAYOUTS_MAX: Final = 64
# What a table reads between two counts of its bytes: cells, and bytes of the log, which can become
# a thousand times more, because MariaDB compresses columns.
_CELLS_UNCOUNTED: Final = 4096
_BYTES_UNCOUNTED: Final = 4096


@final
class _Layout:
    """Which columns of the table an image holds."""

    def __init__(self, indexes: list[int], columns: list[ArrayBuilder], names: list[str]) -> None:
        self.indexes = indexes
        self.columns = [columns[index] for index in indexes]
        self.nulls_length = bitmap_length(len(indexes))
        absent = sorted(set(range(len(columns))).difference(indexes))
        self.absent = [columns[index] for index in absent]
        self.absent_names = [names[index].encode() for index in absent]


@final
class TableRows:
    """Rows of one table with one definition, stored by column."""

    def __init__(
        self, rows: RowsEvent, *, dates_as_text: bool, names: list[str] | None = None
    ) -> None:
        """Expect rows with the definition of an event's table map.

        `names` are those of the table's columns in the batch, their own by default. Raises
        EventError for a column that Arrow has no type for, or that cannot be read, ConfigError for
        one with a name that every batch has.
        """
        table_map = rows.table_map
        self.database = table_map.schema
        self.name = table_map.table
        self.count: i64 = 0  # images held
        self.bytes: i64 = 0  # bytes that they took when they were counted last
        self.more = False  # whether the current event has rows that have not been read
        self.seq: i64 = 0  # number of the next row
        self._rows = rows
        self._table_map = table_map
        self._names = column_names(table_map) if names is None else names
        types = self._types(dates_as_text=dates_as_text)
        fields = [pa.field(name, kind) for name, kind in zip(self._names, types, strict=True)]
        self._schema = pa.schema([*batch_columns.CHANGE, *fields])
        self._change = batch_columns.ChangeColumns()
        self._columns = self._builders(types)
        self._builders_held = [*self._change.builders, *self._columns]
        self._images_max: i64 = max(1, _CELLS_UNCOUNTED // len(self._builders_held))
        self._images_uncounted: i64 = 0
        self._bytes_uncounted: i64 = 0
        self._layouts: dict[bytes, _Layout] = {}
        self._images = rows.images()
        self._before: _Layout | None = None
        self._after: _Layout | None = None
        # Of a row whose documents may change: where the image before has its values, by column.
        self._documents: dict[int, int] = {}

    def takes(self, table_map: TableMapEvent) -> bool:
        """Return whether rows with this definition fit into the same batch."""
        if table_map is self._table_map:
            return True
        if table_map.columns != self._table_map.columns:
            return False
        self._table_map = table_map
        return True

    def begin(self, event: Event, rows: RowsEvent, gtid: bytes | None, seq: i64) -> None:
        """Expect the rows of an event; its first row is number `seq` of the transaction.

        Raises EventError if no row can be read.
        """
        self._rows = rows
        self._change.begin(event, rows, gtid)
        self._before = self._layout(rows.before_columns_present)
        self._after = self._layout(rows.after_columns_present)
        self._images = rows.images()
        try:
            self.more = rows.has_lone_row() or self._images.offset < self._images.end
        except DecodeError as error:
            raise rows.unreadable(error) from error
        self.seq = seq

    def read(self, limit: i64) -> i64:
        """Read some rows of the event: up to so many images, but at least one row; return how many.

        Raises EventError for a row that cannot be read, or a value that Arrow cannot hold.
        """
        first = self.count
        images = self._images
        start = images.offset
        most = min(limit, self._images_max)
        while self.more:
            self._append_row(images)
            self.more = images.offset < images.end
            if self.count - first >= most or images.offset - start >= _BYTES_UNCOUNTED:
                break
        count = self.count - first
        self._images_uncounted += count
        self._bytes_uncounted += images.offset - start
        if self._images_uncounted >= self._images_max or self._bytes_uncounted >= _BYTES_UNCOUNTED:
            self._count_bytes()
        return count

    def batch(self) -> pa.RecordBatch:
        """Return the rows as a batch, and drop them."""
        arrays = [builder.finish(self.count) for builder in self._builders_held]
        self.count = 0
        self.bytes = 0
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _count_bytes(self) -> None:
        size: i64 = 0
        for builder in self._builders_held:
            size += builder.size()
        self.bytes = size
        self._images_uncounted = 0
        self._bytes_uncounted = 0

    def _types(self, *, dates_as_text: bool) -> list[pa.DataType]:
        types: list[pa.DataType] = []
        for name, column in zip(self._names, self._table_map.columns, strict=True):
            if name in batch_columns.CHANGE_NAMES:
                raise ConfigError(
                    argument_errors.COLUMN_OF_BATCH,
                    table=f"{self._table_map.schema}.{self._table_map.table}",
                    column=name,
                )
            try:
                types.append(batch_columns.arrow_type(column, dates_as_text=dates_as_text))
            except DecodeError as error:
                raise self._refused(name, error) from error
        return types

    def _builders(self, types: list[pa.DataType]) -> list[ArrayBuilder]:
        try:
            readers = self._rows.plan.readers
        except DecodeError as error:
            raise self._rows.unreadable(error) from error
        columns = zip(types, self._table_map.columns, readers, strict=True)
        return [
            batch_columns.array_builder(kind, column, reader) for kind, column, reader in columns
        ]

    def _layout(self, columns_present: bytes | None) -> _Layout | None:
        if columns_present is None:
            return None
        layout = self._layouts.get(columns_present)
        if layout is None:
            indexes = self._table_map.row_plan.indexes(columns_present)
            layout = _Layout(indexes, self._columns, self._names)
            if len(self._layouts) < _LAYOUTS_MAX:
                self._layouts[columns_present] = layout
        return layout

    def _append_row(self, images: PayloadReader) -> None:
        if self._before is not None:
            self._append(b"before", images, self._before, is_after=False)
        if self._after is not None:
            self._append(b"after", images, self._after, is_after=True)
        self.seq += 1

    def _append(
        self, image: bytes, images: PayloadReader, layout: _Layout, *, is_after: bool
    ) -> None:
        row = self.count
        data = images.data
        partial = self._rows.partial
        # Of an image that may have changes of documents.
        readers: list[ColumnReader] | None = None
        number: i64 = -1  # of the columns that the image holds
        try:
            if partial and is_after:
                readers = self._rows.plan.partial_readers(images)
            elif partial:
                self._documents = dict.fromkeys(layout.indexes, NULL_BEFORE)
            nulls = images.take(layout.nulls_length)
            number = 0
            for column in layout.columns:
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                if bits >> (number & 7) & 1:
                    column.append_null(row)
                elif partial:
                    self._append_value(column, layout.indexes[number], readers, images)
                else:
                    column.append(images)
                number += 1
        except DecodeError as error:
            raise self._unread(layout, number, error) from error
        self._end(image, layout)

    def _append_value(
        self,
        column: ArrayBuilder,
        index: int,
        readers: list[ColumnReader] | None,
        images: PayloadReader,
    ) -> None:
        """Append the value of a column in an event that may change documents."""
        own = self._rows.plan.readers[index]
        reader = own if readers is None else readers[index]
        if reader is own:
            if readers is None:
                self._documents[index] = int(images.offset)
            column.append(images)
            return
        assert isinstance(column, VariableWidthBuilder)
        before = self._documents.get(index, ABSENT_BEFORE)
        document = changed_document(images, reader, own, before)
        if not isinstance(document, str):
            raise ArrowValueError(argument_errors.NO_DOCUMENT)
        column.append_bytes(document.encode())

    def _end(self, image: bytes, layout: _Layout) -> None:
        row = self.count
        for column in layout.absent:
            column.append_null(row)
        self._change.append(image, layout.absent_names, self.seq, row)
        self.count = row + 1

    def _unread(self, layout: _Layout, number: i64, error: DecodeError) -> EventError:
        """Return the error for column `number` of an image; below 0, for no column."""
        if number < 0:
            return self._rows.unreadable(error)
        index = layout.indexes[number]
        if isinstance(error, ArrowValueError):
            return self._refused(self._names[index], error)
        return self._rows.unreadable(column_error(self._table_map.columns[index], index, error))

    def _refused(self, column: str, error: DecodeError) -> EventError:
        return self._rows.unreadable(DecodeError(argument_errors.COLUMN, column=column, why=error))


# Bytes of the rows that are held.
_BYTES_MAX = 64 * 1024 * 1024


class ArrowBatch(NamedTuple):
    """Rows of one table."""

    database: str
    table: str
    batch: pa.RecordBatch


def arrow_batches(
    transactions: Iterable[Transaction],
    tables: Sequence[str] | None,
    *,
    batch_rows: int,
    dates_as_text: bool,
) -> Iterator[ArrowBatch]:
    """Yield the changed rows of `tables`; see `BinlogReader.to_arrow`.

    Raises EventError for a value that Arrow cannot hold, ConfigError for a column whose name is one
    of the names above.
    """
    held = _Held(
        None if tables is None else TableFilter(tables, helper_tables=True),
        batch_rows=batch_rows,
        dates_as_text=dates_as_text,
    )
    for transaction in transactions:
        gtid: bytes | None = None
        seq: i64 = 0
        while (event := transaction.next_event()) is not None:
            rows = changed_rows_in(event)
            if rows is None:
                continue
            table = held.table(rows)
            if table is None:
                seq += rows.count_readable()
                continue
            if held.altered is not None:
                yield held.end_altered()
            if gtid is None and transaction.gtid is not None:
                gtid = str(transaction.gtid).encode()
            table.begin(event, rows, gtid, seq)
            while table.more:
                held.read(table)
                if held.full:
                    yield held.largest()
            seq = table.seq
    yield from held.rest()


class _Held:
    """The rows of all tables that are not in a batch yet."""

    def __init__(
        self, followed: TableFilter | None, *, batch_rows: int, dates_as_text: bool
    ) -> None:
        self.rows: i64 = 0  # row images
        self.bytes: i64 = 0  # bytes that they take
        # Rows of tables that have a new definition now; these must be returned first.
        self.altered: TableRows | None = None
        self._followed = followed
        self._batch_rows: i64 = batch_rows
        self._dates_as_text = dates_as_text
        self._tables: dict[tuple[str, str], TableRows] = {}
        self._latest_map: TableMapEvent | None = None
        self._latest: TableRows | None = None

    @property
    def full(self) -> bool:
        """Whether a batch must be returned now."""
        return self.rows >= self._batch_rows or self.bytes >= _BYTES_MAX

    def read(self, table: TableRows) -> None:
        """Read some rows of a table's event; raises what `TableRows.read` does."""
        size = table.bytes
        self.rows += table.read(self._batch_rows - self.rows)
        self.bytes += table.bytes - size

    def table(self, rows: RowsEvent) -> TableRows | None:
        """Return the `TableRows` for `rows`; None for a table that is not followed."""
        table_map = rows.table_map
        if table_map is not self._latest_map:
            self._latest = self._find(rows)
            self._latest_map = table_map
        return self._latest

    def end_altered(self) -> ArrowBatch:
        """Return the rows of the older definition of an altered table."""
        ended = self.altered
        assert ended is not None
        self.altered = None
        return self._batch(ended)

    def largest(self) -> ArrowBatch:
        """Return the largest batch, which frees the most memory."""
        return self._batch(max(self._tables.values(), key=lambda table: (table.bytes, table.count)))

    def rest(self) -> Iterator[ArrowBatch]:
        """Yield the remaining batches."""
        for table in self._tables.values():
            if table.count:
                yield self._batch(table)

    def _find(self, rows: RowsEvent) -> TableRows | None:
        table_map = rows.table_map
        followed = self._followed
        if followed is not None and not followed.follows(table_map.schema, table_map.table):
            return None
        name = (table_map.schema, table_map.table)
        known = self._tables.get(name)
        if known is not None and known.takes(table_map):
            return known
        table = TableRows(rows, dates_as_text=self._dates_as_text)
        if known is not None and known.count:
            self.altered = known
        self._tables[name] = table
        return table

    def _batch(self, table: TableRows) -> ArrowBatch:
        self.rows -= table.count
        self.bytes -= table.bytes
        return ArrowBatch(table.database, table.name, table.batch())

"""Changed rows become Arrow record batches, each of one table with one definition.

An image of a row is a row of the batch, so that an update is two. Before the columns of the table,
of which `arrow_types` has the types, come those of the change:

==============  =================================================================
`_op`           insert, update, delete
`_image`        before, after
`_file`, `_pos`  of the event that holds the row
`_gtid`         of its transaction; null without one
`_timestamp`    when its statement began, UTC
`_seq`          counts the rows of the transaction, from 0; both images have one
`_absent`       names of the columns that the image leaves out, and that are null
                for that alone; null with all of them
==============  =================================================================

Batches of one table come in the order of the log, and a table that is altered begins a new batch.

https://arrow.apache.org/docs/python/generated/pyarrow.RecordBatch.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from connector.binlog.values import ABSENT
from connector.changes.table_filter import TableFilter
from connector.errors import ConfigError, DecodeError, EventError
from connector.reader.arrow_types import arrow_type
from connector.reader.row_change import column_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from connector.binlog.event import Event
    from connector.binlog.rows_event import Row, RowsEvent
    from connector.binlog.table_map_event import TableMapEvent
    from connector.binlog.values import Value
    from connector.reader.arrow_types import Convert
    from connector.reader.transactions import Transaction

# Of the images of the events whose rows are held.
_BYTES_MAX = 64 * 1024 * 1024

_CHANGE = [
    pa.field("_op", pa.string(), nullable=False),
    pa.field("_image", pa.string(), nullable=False),
    pa.field("_file", pa.string(), nullable=False),
    pa.field("_pos", pa.uint64(), nullable=False),
    pa.field("_gtid", pa.string()),
    pa.field("_timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("_seq", pa.uint64(), nullable=False),
    pa.field("_absent", pa.list_(pa.string())),
]
_CHANGE_NAMES = frozenset(field.name for field in _CHANGE)


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
    followed = None if tables is None else TableFilter(tables)
    held = _Held(dates_as_text=dates_as_text)
    for transaction in transactions:
        gtid = None if transaction.gtid is None else str(transaction.gtid)
        seq = 0
        for event, rows in transaction.rows_events():
            table_map = rows.table_map
            if followed is not None and not followed.follows(table_map.schema, table_map.table):
                seq += sum(1 for _ in rows.rows())
                continue
            table, altered = held.table(rows)
            if altered is not None:
                yield altered
            table.begin(event, rows, gtid)
            held.bytes += rows.rows_length
            for row in rows.rows(apply_diffs=True):
                held.rows += table.append(row, seq)
                seq += 1
                if held.rows >= batch_rows or held.bytes >= _BYTES_MAX:
                    yield held.largest()
    yield from held.rest()


class _Held:
    """The rows of all tables that are not in a batch yet."""

    def __init__(self, *, dates_as_text: bool) -> None:
        self.rows = 0
        self.bytes = 0  # of the events that they are from
        self._dates_as_text = dates_as_text
        self._tables: dict[tuple[str, str], _TableRows] = {}

    def table(self, rows: RowsEvent) -> tuple[_TableRows, ArrowBatch | None]:
        """Return where `rows` go, and the batch of another definition of their table."""
        table_map = rows.table_map
        name = (table_map.schema, table_map.table)
        known = self._tables.get(name)
        if known is not None and known.takes(table_map):
            return known, None
        altered = self._batch(known) if known is not None and known.count else None
        table = self._tables[name] = _TableRows(rows, dates_as_text=self._dates_as_text)
        return table, altered

    def largest(self) -> ArrowBatch:
        """Return the batch that frees the most."""
        return self._batch(max(self._tables.values(), key=lambda table: (table.bytes, table.count)))

    def rest(self) -> Iterator[ArrowBatch]:
        """Yield what is left."""
        for table in self._tables.values():
            if table.count:
                yield self._batch(table)

    def _batch(self, table: _TableRows) -> ArrowBatch:
        self.rows -= table.count
        self.bytes -= table.bytes
        return table.batch()


class _TableRows:
    """Rows of one table with one definition, by column."""

    def __init__(self, rows: RowsEvent, *, dates_as_text: bool) -> None:
        self._rows = rows  # of the event at hand
        table_map = self._table_map = rows.table_map
        self._names = column_names(table_map)
        self._types: list[pa.DataType] = []
        self._converts: list[Convert] = []
        for name, column in zip(self._names, table_map.columns, strict=True):
            if name in _CHANGE_NAMES:
                reason = (
                    f"table {table_map.schema}.{table_map.table} has a column {name}, as every "
                    "batch has: leave the table out"
                )
                raise ConfigError(reason)
            try:
                kind, convert = arrow_type(column, dates_as_text=dates_as_text)
            except DecodeError as error:
                raise self._refused(name, error) from error
            self._types.append(kind)
            self._converts.append(convert)
        self._clear()

    def takes(self, table_map: TableMapEvent) -> bool:
        """Return whether rows of this definition can be in the same batch."""
        return table_map is self._table_map or table_map.columns == self._table_map.columns

    def begin(self, event: Event, rows: RowsEvent, gtid: str | None) -> None:
        """Expect rows of this event."""
        self._rows = rows
        timestamp = datetime.fromtimestamp(event.header.timestamp, UTC)
        self._place = (event.file, event.position, gtid, timestamp)
        self.bytes += rows.rows_length

    def append(self, row: Row, seq: int) -> int:
        """Add the images of a row, and return how many there are.

        Raises EventError for a value that Arrow cannot hold.
        """
        before = self.count
        if row.before is not None:
            self._append("before", row.before, seq)
        if row.after is not None:
            self._append("after", row.after, seq)
        return self.count - before

    def batch(self) -> ArrowBatch:
        """Return the rows, and forget them."""
        fields = [*_CHANGE, *map(pa.field, self._names, self._types)]
        changes = zip(*self._changes, strict=True)
        arrays = [
            pa.array(list(values), type=field.type)
            for values, field in zip([*changes, *self._values], fields, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        self._clear()
        return ArrowBatch(self._table_map.schema, self._table_map.table, batch)

    def _clear(self) -> None:
        self.count = 0
        self.bytes = 0  # of the events that they are from
        self._changes: list[tuple[object, ...]] = []
        self._values: list[list[Any]] = [[] for _ in self._names]

    def _append(self, image: str, values: list[Value], seq: int) -> None:
        absent = None
        name = ""
        try:
            for name, value, convert, column in zip(
                self._names, values, self._converts, self._values, strict=True
            ):
                if value is ABSENT:
                    absent = [*(absent or ()), name]
                    column.append(None)
                elif value is None or convert is None:
                    column.append(value)
                else:
                    column.append(convert(value))
        except DecodeError as error:
            raise self._refused(name, error) from error
        self._changes.append((self._rows.kind.value, image, *self._place, seq, absent))
        self.count += 1

    def _refused(self, column: str, error: DecodeError) -> EventError:
        rows = self._rows
        table = f"{self._table_map.schema}.{self._table_map.table}"
        reason = f"table {table}, column {column}: {error}"
        return EventError(rows.file, rows.position, rows.event_name, reason)

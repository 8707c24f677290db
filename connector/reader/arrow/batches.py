"""Changed rows become Arrow record batches, each for one table with one definition.

Each row image is a row of the batch, so an update is two rows. The columns of the change come
first, then those of the table, whose types are in `arrow_types`:

==============  =================================================================
`_op`           insert, update, delete
`_image`        before, after
`_file`, `_pos`  of the event that holds the row
`_gtid`         of its transaction; null without one
`_timestamp`    when its statement began, UTC
`_seq`          counts the rows of the transaction, from 0; both images have one
`_absent`       names of the columns that the image leaves out; they are null only
                for this reason; null if no column is absent
==============  =================================================================

Batches of one table come in the order of the log, and a table that is altered begins a new batch.

https://arrow.apache.org/docs/python/generated/pyarrow.RecordBatch.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.changes.table_filter import TableFilter
from connector.reader.arrow.table_rows import TableRows
from connector.reader.transactions.row_changes import rows_changed_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from mypy_extensions import i64

    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.reader.transactions.transaction import Transaction

# Bytes of the events whose rows are held.
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
        None if tables is None else TableFilter(tables),
        batch_rows=batch_rows,
        dates_as_text=dates_as_text,
    )
    for transaction in transactions:
        gtid: bytes | None = None
        seq: i64 = 0
        while (event := transaction.next_event()) is not None:
            rows = rows_changed_by(event)
            if rows is None:
                continue
            table = held.table(rows)
            if table is None:
                seq += rows.count()
                continue
            if held.altered is not None:
                yield held.end_altered()
            if gtid is None and transaction.gtid is not None:
                gtid = str(transaction.gtid).encode()
            table.begin(event, rows, gtid, seq)
            held.bytes += rows.rows_length
            while table.more:
                held.rows += table.read(held.room)
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
        self.bytes: i64 = 0  # bytes of their events
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

    @property
    def room(self) -> i64:
        """Number of images that fit before a batch is due."""
        return 0 if self.bytes >= _BYTES_MAX else self._batch_rows - self.rows

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

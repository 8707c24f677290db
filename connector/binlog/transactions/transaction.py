"""The events of a log become its transactions, and a transaction's rows events its changed rows.

::

    events   GTID │ BEGIN │ table map │ rows │ … │ XID   GTID │ …
             └─────────────── Transaction ──────────┘   └ …

All transactions read from the same iterator: the next one skips the unread events of the one
before. Unlike the pipeline, this module refuses nothing: groups that were rolled back, or only
prepared, are transactions, too. No event stays in memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import final

from mypy_extensions import i64, mypyc_attr

from connector.binlog import argument_errors
from connector.binlog.columns.column import ABSENT, Value
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.event import Event
from connector.binlog.events.row_reader import NamedImages, Row
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.header import PARTIAL_ROW_DATA
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.transactions.transaction_bounds import ROLE_OF_TYPE, ROLE_ROWS, rows_event_of
from connector.binlog.transactions.transaction_events import EventCursor, TransactionEvents
from connector.foundation.errors import ConfigError, DecodeError

Image = dict[str, "Value"]


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(slots=True, init=False)
class RowChange:
    """One row before and after the change; columns that an image leaves out are missing.

    An insert has no `before`, a delete no `after`. A value that an update did not change may be the
    same object in both.
    """

    database: str
    table: str
    op: str  # "insert", "update" or "delete"
    before: Image | None
    after: Image | None
    gtid: Gtid | MariadbGtid | None
    file: str
    position: int  # of the event that holds the row
    timestamp: datetime  # when the statement began, in UTC
    seq: int  # counts the rows of the transaction, from 0

    def __init__(
        self,
        database: str,
        table: str,
        op: str,
        before: Image | None,
        after: Image | None,
        gtid: Gtid | MariadbGtid | None,
        file: str,
        position: int,
        timestamp: datetime,
        seq: int,
    ) -> None:
        """Set the fields in their order; written out, because it runs for every row."""
        self.database = database
        self.table = table
        self.op = op
        self.before = before
        self.after = after
        self.gtid = gtid
        self.file = file
        self.position = position
        self.timestamp = timestamp
        self.seq = seq


def column_names(
    table_map: TableMapEvent, schemas: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return a table's column names: from the log, else from `schemas`, else @1, @2, ….

    Raises ConfigError if `schemas` has a different number of columns.
    """
    columns = table_map.columns
    table = f"{table_map.schema}.{table_map.table}"
    given = None if schemas is None else schemas.get(table)
    if given is not None and len(given) != len(columns):
        raise ConfigError(
            argument_errors.SCHEMAS_COLUMNS, given=len(given), table=table, count=len(columns)
        )
    return [
        column.name
        if column.name is not None
        else given[index]
        if given is not None
        else f"@{index + 1}"
        for index, column in enumerate(columns)
    ]


@final
class RowChanges:
    """Reads the changed rows of transactions, one after the other."""

    def __init__(self, schemas: Mapping[str, Sequence[str]] | None) -> None:
        """Take column names that the log lacks from `schemas`."""
        self._schemas = schemas
        self._transaction: TransactionEvents | None = None
        self._seq: i64 = 0
        # The table of the last rows, because the next rows mostly have the same table.
        self._table_map: TableMapEvent | None = None
        self._names: list[str] = []
        # The state of the current event.
        self._event: Event | None = None
        self._rows: RowsEvent | None = None
        self._op = ""
        self._timestamp: datetime | None = None
        self._seconds = -1
        self._images: PayloadReader | None = None
        # The latest readers of images, and those of the current event.
        self._latest_before: NamedImages | None = None
        self._latest_after: NamedImages | None = None
        self._before: NamedImages | None = None
        self._after: NamedImages | None = None
        self._lone = False  # there is one row, and its images take no bytes
        self._partial_rows: Iterator[Row] | None = None

    def begin(self, transaction: TransactionEvents) -> None:
        """Continue with the rows of `transaction`, the latest one."""
        self._transaction = transaction
        self._seq = 0
        self._images = None
        self._partial_rows = None

    def next_change(self) -> RowChange | None:
        """Return the next changed row, None after the last one of the transaction.

        Raises EventError for a row that cannot be read, ConfigError if `schemas` does not fit.
        """
        while True:
            images = self._images
            if images is not None:
                if self._lone or images.offset < images.end:
                    self._lone = False
                    return self._read(images)
                self._images = None
            elif self._partial_rows is not None:
                for row in self._partial_rows:
                    return self._change(self._image_of(row.before), self._image_of(row.after))
                self._partial_rows = None
            if not self._open_next():
                return None

    def _open_next(self) -> bool:
        """Open the next event that changes rows; return whether there is one."""
        transaction = self._transaction
        assert transaction is not None
        event = transaction.next_event()
        while event is not None:
            rows = changed_rows_in(event)
            if rows is not None:
                self._open(event, rows)
                return True
            event = transaction.next_event()
        return False

    def _open(self, event: Event, rows: RowsEvent) -> None:
        table_map = rows.table_map
        if table_map is not self._table_map:
            self._names = column_names(table_map, self._schemas)
            self._table_map = table_map
            self._latest_before = self._latest_after = None
        seconds = event.header.timestamp
        if seconds != self._seconds:
            self._timestamp = datetime.fromtimestamp(seconds, UTC)
            self._seconds = seconds
        self._event = event
        self._rows = rows
        self._op = _op(rows.kind)
        if rows.partial:
            self._partial_rows = rows.rows(apply_diffs=True)
            return
        try:
            self._lone = rows.has_lone_row()
            plan = rows.plan
        except DecodeError as error:
            raise rows.unreadable(error) from error
        self._before = self._after = None
        present = rows.before_columns_present
        if present is not None:
            self._before = self._latest_before = self._reader(plan, present, self._latest_before)
        present = rows.after_columns_present
        if present is not None:
            self._after = self._latest_after = self._reader(plan, present, self._latest_after)
        self._images = rows.images()

    def _read(self, images: PayloadReader) -> RowChange:
        of_before, of_after = self._before, self._after
        before: Image | None = None
        after: Image | None = None
        try:
            if of_before is None:
                after = of_after.read(images) if of_after is not None else None
            elif of_after is None:
                before = of_before.read(images)
            elif of_before.indexes is of_after.indexes:
                before, after = of_before.read_update(images)
            else:
                before = of_before.read(images)
                after = of_after.read(images)
        except DecodeError as error:
            rows = self._rows
            assert rows is not None
            raise rows.unreadable(error) from error
        return self._change(before, after)

    def _change(self, before: Image | None, after: Image | None) -> RowChange:
        transaction = self._transaction
        table_map = self._table_map
        event = self._event
        timestamp = self._timestamp
        assert transaction is not None
        assert table_map is not None
        assert event is not None
        assert timestamp is not None
        seq = self._seq
        self._seq = seq + 1
        return RowChange(
            table_map.schema,
            table_map.table,
            self._op,
            before,
            after,
            transaction.gtid,
            event.file,
            event.position,
            timestamp,
            seq,
        )

    def _reader(self, plan: RowPlan, present: bytes, latest: NamedImages | None) -> NamedImages:
        """Return what reads images with the columns whose bit is set; mostly the latest one."""
        indexes = plan.indexes(present)
        if latest is not None and latest.indexes is indexes:
            return latest
        return NamedImages(plan, indexes, self._names)

    def _image_of(self, values: list[Value] | None) -> Image | None:
        """Return the row as a dict by column names, without absent columns."""
        if values is None:
            return None
        cells = zip(self._names, values, strict=True)
        return {name: value for name, value in cells if value is not ABSENT}


def changed_rows_in(event: Event) -> RowsEvent | None:
    """Return the rows of an event that changes rows, else None."""
    type_code = event.type_code
    if ROLE_OF_TYPE[type_code] != ROLE_ROWS and type_code != PARTIAL_ROW_DATA:
        # Its body need not be decoded.
        return None
    rows = rows_event_of(event.body)
    return None if rows is None or rows.is_dummy else rows


def _op(kind: RowsKind) -> str:
    return "insert" if kind is INSERT else "delete" if kind is DELETE else "update"


@final
class Transaction(TransactionEvents):
    """A transaction of the source; its events can be read once, while it is the latest one."""

    def rows_events(self) -> Iterator[tuple[Event, RowsEvent]]:
        """Iterate over its events that change rows, each with its rows."""
        while (event := self.next_event()) is not None:
            rows = changed_rows_in(event)
            if rows is not None:
                yield event, rows

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[RowChange]:
        """Iterate over its changed rows; `schemas` as in `BinlogReader.row_changes`.

        A partial update of a JSON document gives the whole document, or its changes if the log
        lacks the document before.
        """
        return row_changes_of([self], schemas)


def transactions_of(events: Iterable[Event]) -> Iterator[Transaction]:
    """Yield the transactions of `events`; each is read before the next one is yielded."""
    cursor = EventCursor(events)
    while (opened := cursor.next_span()) is not None:
        # Not `*opened`: it would be a call by a list of arguments, for each transaction.
        span, opening = opened
        transaction = Transaction(cursor, span, opening)
        yield transaction
        transaction.pass_over()


def row_changes_of(
    transactions: Iterable[Transaction], schemas: Mapping[str, Sequence[str]] | None
) -> Iterator[RowChange]:
    """Yield the changed rows of `transactions`; `schemas` as in `BinlogReader.row_changes`."""
    changes = RowChanges(schemas)
    for transaction in transactions:
        changes.begin(transaction)
        while (change := changes.next_change()) is not None:
            yield change

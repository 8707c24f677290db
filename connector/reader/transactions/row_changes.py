"""The rows events of a transaction become its changed rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, final

from connector.binlog.columns.named_images import NamedImages
from connector.binlog.columns.values import ABSENT
from connector.binlog.events.rows_head import DELETE, INSERT
from connector.binlog.framing.event_types import PARTIAL_ROW_DATA
from connector.changes.event_meaning import MEANING_OF_TYPE, ROWS
from connector.changes.transaction_bounds import rows_of
from connector.errors import DecodeError
from connector.reader.transactions.row_change import RowChange, column_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mypy_extensions import i64

    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value
    from connector.binlog.event import Event
    from connector.binlog.events.row_reader import Row
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.rows_head import RowsKind
    from connector.binlog.events.table_map import TableMapEvent
    from connector.codec.payload import PayloadReader
    from connector.reader.transactions.row_change import Image
    from connector.reader.transactions.transaction_events import TransactionEvents

_INSERT: Final = "insert"
_UPDATE: Final = "update"
_DELETE: Final = "delete"


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
            rows = rows_changed_by(event)
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


def rows_changed_by(event: Event) -> RowsEvent | None:
    """Return the rows of an event that changes rows, else None."""
    type_code = event.type_code
    if MEANING_OF_TYPE[type_code] != ROWS and type_code != PARTIAL_ROW_DATA:
        # Its body need not be decoded.
        return None
    rows = rows_of(event.body)
    return None if rows is None or rows.is_dummy else rows


def _op(kind: RowsKind) -> str:
    return _INSERT if kind is INSERT else _DELETE if kind is DELETE else _UPDATE

"""WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS and PARTIAL_UPDATE_ROWS become rows, on request.

::

    table_id u48 │ flags u16 │ [v2: extra length u16, with itself │ extra row info] │
    column count lenenc │ columns_present bitmap │ [update: columns_present of the after image] │
    (before image │ after image) …          insert: after only; delete: before only

Version 0, of 5.1 pre-releases, is laid out as v1, with one bitmap also for an update. Its images
start with the null bytes of the server's own record. Their number and order depend on facts that
the log lacks (which columns are NOT NULL, the row format), so they cannot be read for certain.

MySQL writes v2 since 5.6, MariaDB v1. The after images of PARTIAL_UPDATE_ROWS (8.0.3) are partial:
`row_plan` has their layout.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from connector.binlog import log_errors
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.events import rows_header
from connector.binlog.events.row_reader import Row, RowReader, indexes_of, with_whole_documents
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

# Of dummy events. Only the object itself stands for them: a table can have the same id.
_NO_TABLE: Final = TableMapEvent(rows_header.DUMMY_TABLE_ID, 0, "", "", [])


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(slots=True, init=False)
class RowsEvent:
    """Changed rows of one table; `rows()` decodes them."""

    kind: rows_header.RowsKind
    table_map: TableMapEvent
    flags: int
    extra_row_info: rows_header.ExtraRowInfo
    before_columns_present: bytes | None  # bitmaps, the lowest bit first; None without the image
    after_columns_present: bytes | None
    file: str
    position: int
    event_name: str
    _data: bytes
    _start: i64  # of the first row in `_data`
    _end: i64
    partial: bool  # a PARTIAL_UPDATE_ROWS_EVENT
    refused: DecodeError | None  # why the rows cannot be read, if that is known already

    def __init__(
        self,
        kind: rows_header.RowsKind,
        table_map: TableMapEvent,
        flags: int,
        extra_row_info: rows_header.ExtraRowInfo,
        before_columns_present: bytes | None,
        after_columns_present: bytes | None,
        file: str,
        position: int,
        event_name: str,
        _data: bytes,
        _start: i64,
        _end: i64,
        partial: bool = False,
        refused: DecodeError | None = None,
    ) -> None:
        """Set the fields; written out, because it runs for every event."""
        self.kind = kind
        self.table_map = table_map
        self.flags = flags
        self.extra_row_info = extra_row_info
        self.before_columns_present = before_columns_present
        self.after_columns_present = after_columns_present
        self.file = file
        self.position = position
        self.event_name = event_name
        self._data = _data
        self._start = _start
        self._end = _end
        self.partial = partial
        self.refused = refused

    @staticmethod
    def decode(
        body: PayloadReader,
        head: rows_header.RowsHeader,
        kind: rows_header.RowsKind,
        table_map: TableMapEvent,
        origin: tuple[str, int, str],
        *,
        partial: bool = False,
        pre_ga: bool = False,
    ) -> "RowsEvent":
        """Decode what follows `head`; `origin` is file, position and name for error messages.

        Raises DecodeError if the number of columns is not the table map's.
        """
        count = body.read_lenenc()
        columns = len(table_map.columns)
        if count != columns:
            raise DecodeError(
                log_errors.COLUMNS_DIFFER,
                found=count,
                table=f"{table_map.schema}.{table_map.table}",
                count=columns,
            )
        before: bytes | None = None
        after: bytes | None = None
        present = table_map.read_bitmap(body)
        if kind is not rows_header.INSERT:
            before = present
        if kind is not rows_header.DELETE:
            after = present
        if kind is rows_header.UPDATE and not pre_ga:
            after = table_map.read_bitmap(body)
        start = body.take(body.remaining)
        return RowsEvent(
            kind,
            table_map,
            head.flags,
            head.extra_row_info,
            before,
            after,
            origin[0],
            origin[1],
            origin[2],
            body.data,
            start,
            body.end,
            partial,
            DecodeError(log_errors.PRE_GA) if pre_ga else None,
        )

    @staticmethod
    def dummy(
        head: rows_header.RowsHeader, kind: rows_header.RowsKind, origin: tuple[str, int, str]
    ) -> "RowsEvent":
        """Return the event without rows that only ends a statement."""
        return RowsEvent(
            kind,
            _NO_TABLE,
            head.flags,
            head.extra_row_info,
            None,
            None,
            origin[0],
            origin[1],
            origin[2],
            b"",
            0,
            0,
        )

    @property
    def stmt_end(self) -> bool:
        """Whether this is the last rows event of its statement."""
        return self.flags & rows_header.STMT_END_F != 0

    @property
    def is_dummy(self) -> bool:
        """Whether the event names no table and only ends a statement."""
        return self.table_map is _NO_TABLE

    @property
    def rows_length(self) -> int:
        """Bytes of all images, decompressed and joined: may be more than the event itself has."""
        return self._end - self._start

    @property
    def plan(self) -> RowPlan:
        """The reader of the images; raises DecodeError if no column reader fits."""
        if self.refused is not None:
            raise self.refused
        return self.table_map.row_plan

    def images(self) -> PayloadReader:
        """Return a cursor over the images of all rows."""
        return PayloadReader(self._data, self._start, self._end)

    def has_lone_row(self) -> bool:
        """Return whether there is one row, although its images take no bytes.

        That is an INSERT of nothing but defaults with binlog_row_image=MINIMAL. Raises DecodeError
        where no row can be read.
        """
        plan = self.plan
        if (
            self.partial
            or indexes_of(plan, self.before_columns_present)
            or indexes_of(plan, self.after_columns_present)
        ):
            return False
        if self._start < self._end:
            raise DecodeError(log_errors.NO_COLUMN_PRESENT, length=self.rows_length)
        return len(self.table_map.columns) > 0

    def count(self) -> int:
        """Return how many rows there are; their values are not looked at.

        Raises EventError for a row whose end cannot be found.
        """
        try:
            count: i64 = 1 if self.has_lone_row() else 0
            reader = self.reader()
            while reader.has_more():
                reader.skip()
                count += 1
        except DecodeError as error:
            raise self.unreadable(error) from error
        return count

    def count_readable(self) -> int:
        """Return `count`; 0 for rows that cannot be counted, if nobody asked for them."""
        try:
            return self.count()
        except EventError:
            return 0

    def reader(self) -> RowReader:
        """Return what reads or skips the rows one by one; raise DecodeError as `plan` does."""
        return RowReader(
            self.plan,
            self.images(),
            self.before_columns_present,
            self.after_columns_present,
            partial=self.partial,
        )

    def split(self, first: int = 0) -> "Iterator[RowsEvent]":
        """Yield each row from number `first` on as an event with only this row.

        Raises EventError for a row whose end cannot be found.
        """
        try:
            yield from self._split(first)
        except DecodeError as error:
            raise self.unreadable(error) from error

    def rows(self, *, apply_diffs: bool = False) -> Iterator[Row]:
        """Decode the rows one by one, in the order of the event.

        With `apply_diffs` the `JsonDiffs` of a partial update become the whole document, as the
        server prints it, if the before image holds the document that they change.

        Raises EventError for a row that cannot be read.
        """
        try:
            if apply_diffs and self.partial:
                for row in self._rows():
                    yield with_whole_documents(row, self.table_map)
            else:
                yield from self._rows()
        except DecodeError as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: DecodeError) -> EventError:
        """Return the EventError for a row that cannot be read because of `error`."""
        table = f"{self.table_map.schema}.{self.table_map.table}"
        why = DecodeError(log_errors.TABLE, table=table, why=error)
        return EventError(self.file, self.position, self.event_name, why)

    def _rows(self) -> Iterator[Row]:
        lone = self.has_lone_row()
        reader = self.reader()
        while lone or reader.has_more():
            lone = False
            yield reader.read()

    def _split(self, first: int) -> "Iterator[RowsEvent]":
        if self.has_lone_row():
            if not first:
                yield self
            return
        reader = self.reader()
        number = 0
        while reader.has_more():
            start = reader.offset
            reader.skip()
            if number >= first:
                yield self._part(start, reader.offset)
            number += 1

    def _part(self, start: i64, end: i64) -> "RowsEvent":
        return RowsEvent(
            self.kind,
            self.table_map,
            self.flags,
            self.extra_row_info,
            self.before_columns_present,
            self.after_columns_present,
            self.file,
            self.position,
            self.event_name,
            self._data,
            start,
            end,
            self.partial,
            self.refused,
        )

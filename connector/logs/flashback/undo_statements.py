"""The statements that reverse the changes of one table.

::

    INSERT   →  DELETE FROM t WHERE key = … LIMIT 1
    DELETE   →  INSERT INTO t (all columns) VALUES (…)
    UPDATE   →  UPDATE t SET all columns = before WHERE key = after LIMIT 1

The row is found by its primary key, or without one by all of its columns: if rows are equal in all
columns, any of them will do. The statement sets all columns, even unchanged ones, so that ON UPDATE
CURRENT_TIMESTAMP has no effect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NoReturn, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog.columns.column import Column, ColumnReader
from connector.binlog.columns.json import ABSENT_BEFORE, NULL_BEFORE, changed_document
from connector.binlog.columns.row_images import all_set, bitmap_length, column_error, is_set
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import ansi_identifier
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.logs import undo_errors
from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.sql_literals import (
    condition,
    literal_writer,
    raw_columns,
    string_literal,
)

# Columns that a functional index hides; no statement can name them.
_HIDDEN = "!hidden!"

_NULL: Final = b"NULL"
_WHERE: Final = b" WHERE "
_LIMIT: Final = b" LIMIT 1;"


@final
class TableUndo:
    """Undoes row changes of one table, as one table map describes it.

    The cells of a row are found in its images first. Then their bytes become SQL.
    """

    def __init__(self, table_map: TableMapEvent, omitted: frozenset[str]) -> None:
        """Leave out the columns named in `omitted`, as `database.table.column`.

        Raises DecodeError if the log does not name the columns.
        """
        full_name = f"{table_map.schema}.{table_map.table}"
        columns = table_map.columns
        if any(column.name is None for column in columns):
            raise DecodeError(undo_errors.NO_NAMES, table=full_name)
        for quoted in (table_map.schema, table_map.table, *map(_column_name, columns)):
            try:
                ansi_identifier(quoted)
            except ValueError as error:
                raise DecodeError(undo_errors.NAME, table=full_name, name=quoted) from error
        self._columns = columns
        self._raw_map = replace(table_map, columns=raw_columns(columns), _row_plan=None)
        omitted_places = {
            index for index, column in enumerate(columns) if f"{full_name}.{column.name}" in omitted
        }
        self._cells: list[_Cell] = []  # made with the first rows, because not all can be read
        self._omitted = omitted_places
        self._assigned: list[_Cell] = []
        # The columns that find the row: those of the key, or all.
        self._searched: list[_Cell] = []
        by_key = sorted((c.primary_key, index) for index, c in enumerate(columns))
        self._key = [index for part, index in by_key if part]
        self._has_key = bool(self._key)
        self._has_plain_key = self._has_key and self._key == sorted(self._key)
        self._assigned_places = [
            index
            for index, column in enumerate(columns)
            if not _column_name(column).startswith(_HIDDEN) and index not in omitted_places
        ]
        name = f"{ansi_identifier(table_map.schema)}.{ansi_identifier(table_map.table)}"
        names = ", ".join(_quoted(columns[index]) for index in self._assigned_places)
        self._delete_start = f"DELETE FROM {name} WHERE ".encode()  # noqa: S608 - quoted
        self._insert_start = f"INSERT INTO {name} ({names}) VALUES (".encode()  # noqa: S608 - quoted
        self._update_start = f"UPDATE {name} SET ".encode()  # noqa: S608 - quoted

    def put(self, rows: RowsEvent, spool: ReverseSpool) -> None:
        """Add the statement for each row of an event of this table, in the order of the event.

        Raises UnsupportedChange if the images lack needed columns, EventError for a row that cannot
        be read.
        """
        try:
            self._put(rows, spool)
        except DecodeError as error:
            spool.cut(spool.mark())
            raise rows.unreadable(error) from error
        except UnsupportedChange as error:
            spool.cut(spool.mark())
            raise UnsupportedChange(
                undo_errors.ROW,
                file=rows.file,
                position=rows.position,
                table=f"{self._raw_map.schema}.{self._raw_map.table}",
                why=error,
            ) from error

    def _put(self, rows: RowsEvent, spool: ReverseSpool) -> None:
        is_lone = rows.has_lone_row()
        if not self._cells:
            self._choose_writers()
        plan = self._raw_map.row_plan
        before, after = rows.before_columns_present, rows.after_columns_present
        for cell in self._cells:
            cell.before = cell.after = ABSENT_BEFORE
            cell.changes = None
        image = rows.images()
        cursor = rows.images()
        count: i64 = len(self._columns)
        is_plain = (
            self._has_plain_key
            and not rows.partial
            and (before is None or all_set(before, count))
            and (after is None or all_set(after, count))
        )
        while is_lone or image.offset < image.end:
            is_lone = False
            # In the order of the columns, no cell must be found before it is written.
            if before is not None and not is_plain:
                self._find_cells(image, plan.indexes(before), plan.readers, is_after=False)
            if after is not None and not is_plain:
                readers = plan.partial_readers(image) if rows.partial else plan.readers
                self._find_cells(image, plan.indexes(after), readers, is_after=True)
            self._put_statement(
                rows.kind, image if is_plain else cursor, spool.block, is_plain=is_plain
            )
            spool.end_record()

    def _put_cells(
        self, image: PayloadReader, out: BytesWriter, separator: bytes, *, key: bool, named: bool
    ) -> None:
        """Append the cells of one image: those of the key, or those that statements set."""
        data = image.data
        nulls = image.take(bitmap_length(len(self._cells)))
        several = False
        number: i64 = 0
        try:
            for cell in self._cells:
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                is_null = bits >> (number & 7) & 1 != 0
                if cell.is_key if key else cell.is_assigned:
                    if several:
                        out.write(separator)
                    several = True
                    if named:
                        out.write(cell.assignment)
                    if is_null:
                        out.write(_NULL)
                    else:
                        cell.writer.put(image, out)
                elif not is_null:
                    cell.reader.skip(image)
                number += 1
        except DecodeError as error:
            raise column_error(self._columns[number], number, error) from error

    def _put_statement(
        self, kind: RowsKind, image: PayloadReader, out: BytesWriter, *, is_plain: bool
    ) -> None:
        """Append the statement for the row in `image`, in which its cells are found or come."""
        if kind is INSERT:
            out.write(self._delete_start)
            self._put_condition(image, out, is_plain=is_plain)
            out.write(_LIMIT)
        elif kind is DELETE:
            out.write(self._insert_start)
            self._put_values(image, out, named=False, is_plain=is_plain)
            out.write(b");")
        else:
            out.write(self._update_start)
            self._put_values(image, out, named=True, is_plain=is_plain)
            out.write(_WHERE)
            self._put_condition(image, out, is_plain=is_plain)
            out.write(_LIMIT)

    def _choose_writers(self) -> None:
        """Raise DecodeError if a column cannot be read."""
        readers = self._raw_map.row_plan.readers
        cells = [
            _Cell(
                index,
                column,
                reader,
                is_assigned=index in self._assigned_places,
                is_compared=not self._has_key,
            )
            for index, (column, reader) in enumerate(zip(self._columns, readers, strict=True))
        ]
        self._cells = cells
        self._assigned = [cells[index] for index in self._assigned_places]
        if self._has_key:
            self._searched = [cells[index] for index in self._key]
        else:
            self._searched = [
                cell
                for cell, column in zip(cells, self._columns, strict=True)
                if not _column_name(column).startswith(_HIDDEN)
            ]

    def _find_cells(
        self,
        image: PayloadReader,
        indexes: list[int],
        readers: list[ColumnReader],
        *,
        is_after: bool,
    ) -> None:
        """Find the cells of an image, which holds the columns at `indexes`; move past it.

        In an image after a change, some of `readers` may read changes of documents.
        """
        nulls = image.take(bitmap_length(len(indexes)))
        number: i64 = 0
        index = 0
        try:
            for index in indexes:
                cell = self._cells[index]
                reader = readers[index]
                at: i64 = NULL_BEFORE
                if not is_set(image.data, nulls, number):
                    at = image.offset
                    reader.skip(image)
                if is_after:
                    cell.after = at
                    cell.changes = None if reader is cell.reader else reader
                else:
                    cell.before = at
                number += 1
        except DecodeError as error:
            raise column_error(self._columns[index], index, error) from error

    def _put_values(
        self, image: PayloadReader, out: BytesWriter, *, named: bool, is_plain: bool
    ) -> None:
        """Append what an INSERT of the row before sets, or with names, an UPDATE."""
        if is_plain:
            self._put_cells(image, out, b", ", key=False, named=named)
            return
        several = False
        for cell in self._assigned:
            # A column that neither image of an UPDATE holds has not changed (NOBLOB).
            if named and cell.before == ABSENT_BEFORE and cell.after == ABSENT_BEFORE:
                continue
            if several:
                out.write(b", ")
            several = True
            if named:
                out.write(cell.assignment)
            self._put_value(cell, cell.before, image, out)

    def _put_condition(self, image: PayloadReader, out: BytesWriter, *, is_plain: bool) -> None:
        """Append the condition that finds the row after the change."""
        if is_plain:
            self._put_cells(image, out, b" AND ", key=True, named=True)
            return
        several = False
        for cell in self._searched:
            at = cell.before if cell.after == ABSENT_BEFORE else cell.after
            # The other columns determine a generated one, which the log may lack.
            if at == ABSENT_BEFORE and not self._has_key and cell.number in self._omitted:
                continue
            if several:
                out.write(b" AND ")
            several = True
            if self._has_key:
                out.write(cell.assignment)
                self._put_value(cell, at, image, out)
            else:
                self._put_comparison(cell, at, image, out)

    def _put_value(self, cell: _Cell, at: i64, image: PayloadReader, out: BytesWriter) -> None:
        """Append the value of a column whose cell is at `at`."""
        if at == NULL_BEFORE:
            out.write(_NULL)
            return
        if at == ABSENT_BEFORE:
            self._refuse_absent(cell)
        image.offset = at
        try:
            cell.writer.put(image, out)
        except DecodeError as error:
            raise column_error(self._columns[cell.number], cell.number, error) from error

    def _put_comparison(self, cell: _Cell, at: i64, image: PayloadReader, out: BytesWriter) -> None:
        """Append the condition that a column holds exactly the value at `at`."""
        if at == NULL_BEFORE:
            out.write(cell.is_null)
            return
        if at == ABSENT_BEFORE:
            self._refuse_absent(cell)
        image.offset = at
        out.write(cell.condition)
        changes = cell.changes
        try:
            if changes is None:
                cell.compared.put(image, out)
            else:
                document = changed_document(image, changes, cell.reader, cell.before)
                if not isinstance(document, str):
                    self._refuse_absent(cell)
                out.write(string_literal(document).encode())
        except DecodeError as error:
            raise column_error(self._columns[cell.number], cell.number, error) from error

    def _refuse_absent(self, cell: _Cell) -> NoReturn:
        raise UnsupportedChange(
            undo_errors.NOT_IN_IMAGE, column=_column_name(self._columns[cell.number])
        )


@final
class _Cell:
    """One column, and where the row images of the latest row hold it."""

    __slots__ = (
        "after",
        "assignment",
        "before",
        "changes",
        "compared",
        "condition",
        "is_assigned",
        "is_key",
        "is_null",
        "number",
        "reader",
        "writer",
    )

    def __init__(
        self,
        number: i64,
        column: Column,
        reader: ColumnReader,
        *,
        is_assigned: bool,
        is_compared: bool,
    ) -> None:
        self.number: i64 = number
        self.is_assigned = is_assigned
        self.is_key = column.primary_key > 0
        self.assignment = f"{_quoted(column)} = ".encode()
        self.reader = reader
        self.writer = literal_writer(column, reader)
        # Of a table without a key, how the column is compared.
        self.is_null = self.condition = b""
        self.compared = self.writer
        if is_compared:
            self.is_null = f"{_quoted(column)} IS NULL".encode()
            self.condition, self.compared = condition(column, reader)
        self.before: i64 = ABSENT_BEFORE
        self.after: i64 = ABSENT_BEFORE
        # What reads the changes that the image after holds instead of a document.
        self.changes: ColumnReader | None = None


def _column_name(column: Column) -> str:
    assert column.name is not None
    return column.name


def _quoted(column: Column) -> str:
    return ansi_identifier(_column_name(column))

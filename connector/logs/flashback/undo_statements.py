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
from connector.binlog.columns.row_images import all_set, bitmap_length, column_error
from connector.binlog.events.rows import RowsEvent
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
_COMMA: Final = b", "
_AND: Final = b" AND "
_WHERE: Final = b" WHERE "
_LIMIT: Final = b" LIMIT 1;"


@final
class TableUndo:
    """Undoes row changes of one table, as one table map describes it.

    The image before a change becomes SQL while it is read, in the order of its columns. Those of
    the image after are found first: the condition has the order of the key.
    """

    def __init__(self, table_map: TableMapEvent, omitted: frozenset[str]) -> None:
        """Leave out the columns named in `omitted`, as `database.table.column`.

        `left_out` has the names of those that exist; as on a server, the name of a column has no
        letter case. Raises DecodeError if the log does not name the columns.
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
        prefix = f"{full_name}."
        places = {(column.name or "").lower(): index for index, column in enumerate(columns)}
        wanted = {
            name: name.removeprefix(prefix).lower() for name in omitted if name.startswith(prefix)
        }
        self.left_out = {name for name, column in wanted.items() if column in places}
        omitted_places = {places[column] for column in wanted.values() if column in places}
        self._cells: list[_Cell] = []  # made with the first rows, because not all can be read
        self._omitted = omitted_places
        # The columns that find the row: those of the key, or all.
        self._searched: list[_Cell] = []
        by_key = sorted((c.primary_key, index) for index, c in enumerate(columns))
        self._key = [index for part, index in by_key if part]
        self._has_key = bool(self._key)
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
        for cell in self._cells:
            cell.before = cell.after = ABSENT_BEFORE
            cell.changes = None
        before = self._cells_of(rows.before_columns_present)
        after = self._cells_of(rows.after_columns_present)
        lacking = None if before is None else self._lacking(before, after)
        image = rows.images()
        while is_lone or image.offset < image.end:
            is_lone = False
            if lacking is not None:
                self._refuse_absent(lacking)
            out = spool.block
            if before is None:
                assert after is not None
                out.write(self._delete_start)
                self._put_condition(image, after, rows, out)
                out.write(_LIMIT)
            elif after is None:
                out.write(self._insert_start)
                self._put_values(image, before, out, named=False)
                out.write(b");")
            else:
                out.write(self._update_start)
                self._put_values(image, before, out, named=True)
                out.write(_WHERE)
                self._put_condition(image, after, rows, out)
                out.write(_LIMIT)
            spool.end_record()

    def _choose_writers(self) -> None:
        """Raise DecodeError if a column cannot be read."""
        readers = self._raw_map.row_plan.readers
        cells = [
            _Cell(
                index,
                column,
                reader,
                is_assigned=index in self._assigned_places,
                has_key=self._has_key,
            )
            for index, (column, reader) in enumerate(zip(self._columns, readers, strict=True))
        ]
        self._cells = cells
        if self._has_key:
            self._searched = [cells[index] for index in self._key]
        else:
            self._searched = [
                cell
                for cell, column in zip(cells, self._columns, strict=True)
                if not _column_name(column).startswith(_HIDDEN)
            ]

    def _cells_of(self, present: bytes | None) -> list[_Cell] | None:
        """Return the cells of an image that holds the columns whose bit is set."""
        if present is None:
            return None
        if all_set(present, len(self._columns)):
            return self._cells
        return [self._cells[index] for index in self._raw_map.row_plan.indexes(present)]

    def _lacking(self, before: list[_Cell], after: list[_Cell] | None) -> _Cell | None:
        """Return a cell that a statement has to set, and that the image before lacks.

        A column that neither image of an UPDATE holds has not changed (NOBLOB).
        """
        if before is self._cells:
            return None
        for cell in self._cells if after is None else after:
            if cell.is_assigned and cell not in before:
                return cell
        return None

    def _put_values(
        self, image: PayloadReader, cells: list[_Cell], out: BytesWriter, *, named: bool
    ) -> None:
        """Append what an INSERT of the image before sets, or with names, an UPDATE.

        Note where its cells are, and move past it.
        """
        data = image.data
        nulls = image.take(bitmap_length(len(cells)))
        several = False
        number: i64 = 0  # of the columns that the image holds
        index: i64 = 0
        try:
            for cell in cells:
                index = cell.number
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                is_null = bits >> (number & 7) & 1 != 0
                number += 1
                at: i64 = NULL_BEFORE
                if not is_null:
                    at = image.offset
                cell.before = at
                if cell.is_assigned:
                    if several:
                        out.write(_COMMA)
                    several = True
                    if named:
                        out.write(cell.assignment)
                    if is_null:
                        out.write(_NULL)
                    else:
                        cell.writer.put(image, out)
                elif not is_null:
                    cell.reader.skip(image)
        except DecodeError as error:
            raise column_error(self._columns[index], index, error) from error

    def _find_cells(self, image: PayloadReader, cells: list[_Cell], rows: RowsEvent) -> None:
        """Note where the cells of an image after a change are; move past it."""
        readers: list[ColumnReader] | None = None
        if rows.partial:
            readers = self._raw_map.row_plan.partial_readers(image)
        data = image.data
        nulls = image.take(bitmap_length(len(cells)))
        number: i64 = 0
        index: i64 = 0
        try:
            for cell in cells:
                index = cell.number
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                is_null = bits >> (number & 7) & 1 != 0
                number += 1
                if is_null:
                    cell.after = NULL_BEFORE
                    continue
                cell.after = image.offset
                reader = cell.reader
                if readers is not None:
                    reader = readers[index]
                    cell.changes = None if reader is cell.reader else reader
                reader.skip(image)
        except DecodeError as error:
            raise column_error(self._columns[index], index, error) from error

    def _put_condition(
        self, image: PayloadReader, cells: list[_Cell], rows: RowsEvent, out: BytesWriter
    ) -> None:
        """Append the condition that finds the row after the change; move past its image."""
        self._find_cells(image, cells, rows)
        end = image.offset
        several = False
        for cell in self._searched:
            at = cell.before if cell.after == ABSENT_BEFORE else cell.after
            # The other columns determine a generated one, which the log may lack.
            if at == ABSENT_BEFORE and not self._has_key and cell.number in self._omitted:
                continue
            if several:
                out.write(_AND)
            several = True
            if at == ABSENT_BEFORE:
                self._refuse_absent(cell)
            if at == NULL_BEFORE:
                out.write(cell.is_null)
                continue
            out.write(cell.condition)
            image.offset = at
            try:
                self._put_compared(cell, image, out)
            except DecodeError as error:
                raise column_error(self._columns[cell.number], cell.number, error) from error
        image.offset = end

    def _put_compared(self, cell: _Cell, image: PayloadReader, out: BytesWriter) -> None:
        changes = cell.changes
        if changes is None:
            cell.compared.put(image, out)
            return
        document = changed_document(image, changes, cell.reader, cell.before)
        if not isinstance(document, str):
            self._refuse_absent(cell)
        out.write(string_literal(document).encode())

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
        has_key: bool,
    ) -> None:
        self.number: i64 = number
        self.is_assigned = is_assigned
        self.assignment = f"{_quoted(column)} = ".encode()
        self.reader = reader
        self.writer = literal_writer(column, reader)
        # What finds the row: a column of the key as it is set, or else each column exactly.
        if has_key:
            self.is_null = self.assignment + _NULL
            self.condition, self.compared = self.assignment, self.writer
        else:
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

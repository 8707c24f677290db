"""The statements that reverse the changes of one table, and the file that reverses their order.

::

    INSERT   →  DELETE FROM t WHERE key = … LIMIT 1
    DELETE   →  INSERT INTO t (all columns) VALUES (…)
    UPDATE   →  UPDATE t SET all columns = before WHERE key = after LIMIT 1

The row is found by its primary key, or without one by all of its columns: if rows are equal in all
columns, any of them will do. The statement sets all columns, even unchanged ones, so that ON UPDATE
CURRENT_TIMESTAMP has no effect.

The statements go into a temporary file, which is read from its end::

    record │ its length u64 │ record │ its length u64 │ …
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, Final, Self, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import ABSENT, Column, ColumnReader, Value
from connector.binlog.columns.row_images import all_set, bitmap_length
from connector.binlog.events.row_reader import Row
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import ansi_identifier
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.logs import undo_errors
from connector.logs.flashback.sql_literals import literal, literal_writer, matches, raw_columns
from connector.logs.output import NEWLINE, LineOutput

# Columns that a functional index hides; no statement can name them.
_HIDDEN = "!hidden!"


@final
class TableUndo:
    """Undoes row changes of one table, as one table map describes it.

    Bytes become SQL at once if the images are whole and the table has a primary key, in the order
    of its columns. All other rows are read as values first.
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
        self._omitted = frozenset(
            index for index, column in enumerate(columns) if f"{full_name}.{column.name}" in omitted
        )
        self._assigned = [
            index
            for index, column in enumerate(columns)
            if not _column_name(column).startswith(_HIDDEN) and index not in self._omitted
        ]
        by_key = sorted((c.primary_key, index) for index, c in enumerate(columns))
        self._key = [index for part, index in by_key if part]
        self._raw_map = replace(table_map, columns=raw_columns(columns), _row_plan=None)
        self._cells: list[_Cell] | None = None  # chosen with the first rows
        self._has_plain_key = bool(self._key) and self._key == sorted(self._key)
        name = f"{ansi_identifier(table_map.schema)}.{ansi_identifier(table_map.table)}"
        names = ", ".join(_quoted(columns[index]) for index in self._assigned)
        self._delete_start = f"DELETE FROM {name} WHERE ".encode()  # noqa: S608 - quoted
        self._insert_start = f"INSERT INTO {name} ({names}) VALUES (".encode()  # noqa: S608 - quoted
        self._update_start = f"UPDATE {name} SET ".encode()  # noqa: S608 - quoted

    def put(self, rows: RowsEvent, spool: ReverseSpool) -> None:
        """Add the statement for each row of an event of this table, in the order of the event.

        Raises UnsupportedChange if the images lack needed columns, EventError for a row that cannot
        be read.
        """
        mark = spool.mark()
        try:
            if self._put_bytes(rows, spool):
                return
        except DecodeError:
            # The values tell what is wrong with them.
            spool.cut(mark)
        for statement in self._statements(rows):
            spool.append(statement.encode())

    def _put_bytes(self, rows: RowsEvent, spool: ReverseSpool) -> bool:
        """Add the statements without reading values; return False if that cannot be done."""
        count: i64 = len(self._columns)
        before, after = rows.before_columns_present, rows.after_columns_present
        if (
            rows.partial
            or rows.refused is not None
            or not self._has_plain_key
            or not (before is None or all_set(before, count))
            or not (after is None or all_set(after, count))
        ):
            return False
        cells = self._cells
        if cells is None:
            cells = self._cells = self._new_cells()
        image = rows.images()
        while image.offset < image.end:
            out = spool.block
            if rows.kind is INSERT:
                out.write(self._delete_start)
                _put_key(cells, image, out)
                out.write(b" LIMIT 1;")
            elif rows.kind is DELETE:
                out.write(self._insert_start)
                _put_values(cells, image, out, named=False)
                out.write(b");")
            else:
                out.write(self._update_start)
                _put_values(cells, image, out, named=True)
                out.write(b" WHERE ")
                _put_key(cells, image, out)
                out.write(b" LIMIT 1;")
            spool.end_record()
        return True

    def _new_cells(self) -> list[_Cell]:
        """Choose the writers of the columns. Raises DecodeError if one cannot be read."""
        readers = self._raw_map.row_plan.readers
        return [
            _Cell(index, column, reader, assigned=index in self._assigned, key=index in self._key)
            for index, (column, reader) in enumerate(zip(self._columns, readers, strict=True))
        ]

    def _statements(self, rows: RowsEvent) -> Iterator[str]:
        undo = {
            RowsKind.INSERT: self._delete,
            RowsKind.DELETE: self._insert,
            RowsKind.UPDATE: self._update,
        }[rows.kind]
        for row in replace(rows, table_map=self._raw_map).rows(apply_diffs=True):
            try:
                yield undo(row)
            except DecodeError as error:
                raise UnsupportedChange(
                    undo_errors.ROW,
                    file=rows.file,
                    position=rows.position,
                    table=f"{self._raw_map.schema}.{self._raw_map.table}",
                    why=error,
                ) from error

    def _delete(self, row: Row) -> str:
        assert row.after is not None
        return f"{self._delete_start.decode()}{self._where(row.after)} LIMIT 1;"

    def _insert(self, row: Row) -> str:
        image = row.before
        assert image is not None
        values = ", ".join(
            literal(self._columns[index], self._present(image, index)) for index in self._assigned
        )
        return f"{self._insert_start.decode()}{values});"

    def _update(self, row: Row) -> str:
        before, after = row.before, row.after
        assert before is not None
        assert after is not None
        assignments = [
            f"{_quoted(self._columns[index])} = "
            f"{literal(self._columns[index], self._present(before, index))}"
            for index in self._assigned
            # A column that neither image holds has not changed (binlog_row_image=NOBLOB).
            if before[index] is not ABSENT or after[index] is not ABSENT
        ]
        image = [b if a is ABSENT else a for b, a in zip(before, after, strict=True)]
        changes, row_key = ", ".join(assignments), self._where(image)
        return f"{self._update_start.decode()}{changes} WHERE {row_key} LIMIT 1;"

    def _where(self, image: list[Value]) -> str:
        if self._key:
            return " AND ".join(
                f"{_quoted(self._columns[index])} = "
                f"{literal(self._columns[index], self._present(image, index))}"
                for index in self._key
            )
        return " AND ".join(
            matches(column, self._present(image, index))
            for index, column in enumerate(self._columns)
            if not _column_name(column).startswith(_HIDDEN)
            # The other columns determine a generated one, which the log may lack.
            and not (image[index] is ABSENT and index in self._omitted)
        )

    def _present(self, image: list[Value], index: int) -> Value:
        value = image[index]
        if value is ABSENT:
            raise DecodeError(undo_errors.NOT_IN_IMAGE, column=self._columns[index].name)
        return value


@final
class _Cell:
    """One column of whole row images."""

    __slots__ = ("assigned", "assignment", "key", "number", "reader", "writer")

    def __init__(
        self, number: i64, column: Column, reader: ColumnReader, *, assigned: bool, key: bool
    ) -> None:
        self.number: i64 = number
        self.assigned = assigned
        self.key = key
        self.assignment = f"{_quoted(column)} = ".encode()
        self.reader = reader
        self.writer = literal_writer(column, reader)


def _put_values(cells: list[_Cell], image: PayloadReader, out: BytesWriter, *, named: bool) -> None:
    """Append what an INSERT or an UPDATE sets, from one image."""
    _put_cells(cells, image, out, b", ", key=False, named=named)


def _put_key(cells: list[_Cell], image: PayloadReader, out: BytesWriter) -> None:
    """Append the condition that finds the row of one image."""
    _put_cells(cells, image, out, b" AND ", key=True, named=True)


def _put_cells(
    cells: list[_Cell],
    image: PayloadReader,
    out: BytesWriter,
    separator: bytes,
    *,
    key: bool,
    named: bool,
) -> None:
    data = image.data
    nulls = image.take(bitmap_length(len(cells)))
    several = False
    for cell in cells:
        bits: i64 = data[nulls + (cell.number >> 3)]  # `is_set`, without a call for each column
        is_null = bits >> (cell.number & 7) & 1 != 0
        if cell.key if key else cell.assigned:
            if several:
                out.write(separator)
            several = True
            if named:
                out.write(cell.assignment)
            if is_null:
                out.write(b"NULL")
            else:
                cell.writer.put(image, out)
        elif not is_null:
            cell.reader.skip(image)


def _column_name(column: Column) -> str:
    assert column.name is not None
    return column.name


def _quoted(column: Column) -> str:
    return ansi_identifier(_column_name(column))


_LENGTH_BYTES: Final = 8
_BLOCK: Final = 256 * 1024


@final
class ReverseSpool:
    """Takes records and returns them, the last one first.

    A record is appended to `block`, in pieces, and ends with `end_record`; `block` may be another
    object then.
    """

    def __init__(self) -> None:
        """Open a file without a name in the system's folder for temporary files."""
        self.block = BytesWriter()
        self._file = TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - closed by __exit__
        self._written: i64 = 0  # bytes in the file
        self._start: i64 = 0  # of the current record, in the block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: bytes) -> None:
        """Add a whole record."""
        self.block.write(record)
        self.end_record()

    def end_record(self) -> None:
        """End the record that `block` ends with."""
        block = self.block
        end: i64 = len(block)
        write_i64_le(block, end - self._start)
        self._start = end + _LENGTH_BYTES
        if self._start >= _BLOCK:
            self._write_block()

    def mark(self) -> i64:
        """Return the offset after the last record, for `cut`."""
        return self._written + self._start

    def cut(self, mark: i64) -> None:
        """Drop what follows `mark`, also a record that has not ended."""
        if mark < self._written:
            self._file.seek(mark)
            self._file.truncate()
            self._written = mark
        self._start = mark - self._written
        self.block.truncate(self._start)

    def put_reversed(self, output: LineOutput) -> None:
        """Write each record as a line, the last one first; add none afterwards."""
        self._write_block()
        rest = _UnwrittenBytes(self._file, self._written)
        while rest.load(_LENGTH_BYTES):
            length = read_i64_le(rest.data, rest.end - _LENGTH_BYTES)
            rest.load(length + _LENGTH_BYTES)
            end = rest.end - _LENGTH_BYTES
            output.block.write(rest.data[end - length : end])
            output.block.append(u8(NEWLINE))
            output.give_way()
            rest.end = end - length

    def _write_block(self) -> None:
        block = self.block
        self._file.write(block.getvalue())
        self._written += len(block)
        self._start = 0
        if len(block) > 2 * _BLOCK:
            # Frees the memory of a large record.
            self.block = BytesWriter()
        else:
            block.truncate(0)


@final
class _UnwrittenBytes:
    """The bytes that were not written yet; `data[:end]` are the last of them."""

    def __init__(self, file: IO[bytes], length: i64) -> None:
        self.data = b""
        self.end: i64 = 0
        self._file = file
        self._left: i64 = length  # in the file, before `data`

    def load(self, size: i64) -> bool:
        """Return whether there are `size` bytes, and load them."""
        if self.end < size and self._left:
            step = min(self._left, max(size - self.end, _BLOCK))
            self._left -= step
            self._file.seek(self._left)
            self.data = self._file.read(step) + self.data[: self.end]
            self.end = len(self.data)
        return self.end >= size

"""Rows become the comment lines of `mysqlbinlog -vv`.

::

    ### UPDATE `shop`.`orders`
    ### WHERE
    ###   @1=7 /* INT meta=0 nullable=0 is_null=0 */
    ### SET
    ###   @2='new' /* `state` VARSTRING(80) meta=80 nullable=1 is_null=0 */

All but the values is made once for each table map; the values are printed from the bytes of the
row images.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-row-events.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import in_column
from connector.binlog.events.rows_head import INSERT, UPDATE
from connector.codec.quoted_text import ESCAPES
from connector.codec.sql_text import quoted_name
from connector.dump.lines.output import encoded
from connector.dump.lines.writer import LARGE
from connector.dump.text.column_text import column_text
from connector.dump.text.diffs_text import DiffsText
from connector.dump.text.value_texts import value_text
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.codec.payload import PayloadReader
    from connector.dump.lines.output import LineOutput
    from connector.dump.text.value_text import ValueText

# Bitmaps that one table map remembers; with binlog_row_image=MINIMAL there may be many.
_PRESENT_MAX: Final = 64


@final
class _ColumnLine:
    """The line of one column: what comes before and after its value."""

    __slots__ = ("end", "index", "null", "start", "value")

    def __init__(self, index: int, column: Column, value: ValueText) -> None:
        comment = column_text(column)
        self.index = index
        self.value = value
        self.start = f"###   @{index + 1}=".encode()
        self.end = encoded(f" /* {comment} is_null=0 */\n")
        self.null = encoded(f"###   @{index + 1}=NULL /* {comment} is_null=1 */\n")


@final
class TableRows:
    """Writes the rows of one table map."""

    __slots__ = ("_delete", "_diffs", "_insert", "_lines", "_present", "_update", "table_map")

    def __init__(self, table_map: TableMapEvent) -> None:
        """Choose a writer for each column.

        Raises DecodeError for a column that cannot be read.
        """
        self.table_map = table_map
        # Servers that log more than the types also log the signs.
        signs = bool(table_map.metadata_fields)
        readers = table_map.row_plan.readers
        self._lines = [
            _ColumnLine(index, column, value_text(column, readers[index], signs=signs))
            for index, column in enumerate(table_map.columns)
        ]
        # A line break would leave the comment.
        name = quoted_name(table_map.schema, table_map.table).translate(ESCAPES)
        self._insert = _head("INSERT INTO", name)
        self._update = _head("UPDATE", name)
        self._delete = _head("DELETE FROM", name)
        # By bitmap, because statements of one table mostly write the same columns.
        self._present: dict[bytes, list[_ColumnLine]] = {}
        # By column, those of changes of documents.
        self._diffs: dict[int, _ColumnLine] = {}

    def put(self, rows: RowsEvent, output: LineOutput) -> None:
        """Append the lines of each row.

        Raises DecodeError for a row that cannot be read; nothing of it is appended then.
        """
        lone = rows.has_lone_row()
        kind = rows.kind
        verb = self._insert
        if kind is not INSERT:
            verb = self._update if kind is UPDATE else self._delete
        before = self._lines_of(rows.before_columns_present)
        after = self._lines_of(rows.after_columns_present)
        image = rows.images()
        # A large row is written piece by piece, so all of it is read before.
        checked = rows.reader() if rows.rows_length > LARGE else None
        while lone or image.offset < image.end:
            lone = False
            if checked is not None:
                checked.read()
            start: i64 = len(output.block)
            try:
                output.block.write(verb)
                if before is not None:
                    output.block.write(b"### WHERE\n")
                    self._put_image(before, image, output, checked is not None)
                if after is not None:
                    output.block.write(b"### SET\n")
                    lines = self._partial(after, image) if rows.partial else after
                    self._put_image(lines, image, output, checked is not None)
            except DecodeError:
                if checked is None:
                    output.block.truncate(start)
                raise
            output.give_way()

    def _put_image(
        self, lines: list[_ColumnLine], image: PayloadReader, output: LineOutput, large: bool
    ) -> None:
        out = output.block
        data = image.data
        nulls = image.take(bitmap_length(len(lines)))
        number: i64 = 0  # of the columns that the image holds
        index = 0
        try:
            for line in lines:
                index = line.index
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                if bits >> (number & 7) & 1:
                    out.write(line.null)
                else:
                    out.write(line.start)
                    if large:
                        line.value.put_in_pieces(image, output)
                        out = output.block
                    else:
                        line.value.put(image, out)
                    out.write(line.end)
                number += 1
        except DecodeError as error:
            raise in_column(self.table_map.columns[index], index, error) from error

    def _lines_of(self, present: bytes | None) -> list[_ColumnLine] | None:
        """Return the lines of the columns that an image holds; None without the image."""
        if present is None:
            return None
        lines = self._present.get(present)
        if lines is None:
            lines = [self._lines[index] for index in self.table_map.row_plan.indexes(present)]
            if len(self._present) < _PRESENT_MAX:
                self._present[present] = lines
        return lines

    def _partial(self, lines: list[_ColumnLine], image: PayloadReader) -> list[_ColumnLine]:
        """Read the part before a partial image; return its lines, some of them with changes."""
        plan = self.table_map.row_plan
        readers = plan.partial_readers(image)
        if readers is plan.readers:
            return lines
        return [
            line
            if readers[line.index] is plan.readers[line.index]
            else self._diffs_line(line.index, readers[line.index])
            for line in lines
        ]

    def _diffs_line(self, index: int, reader: ColumnReader) -> _ColumnLine:
        line = self._diffs.get(index)
        if line is None:
            value = DiffsText(reader, index + 1)
            line = self._diffs[index] = _ColumnLine(index, self.table_map.columns[index], value)
        return line


def _head(verb: str, name: str) -> bytes:
    return encoded(f"### {verb} {name}\n")

"""Table maps, and rows as the comment lines of `mysqlbinlog -vv`.

::

    ### UPDATE `shop`.`orders`
    ### WHERE
    ###   @1=7 /* INT meta=0 nullable=0 is_null=0 */
    ### SET
    ###   @2='new' /* `state` VARSTRING(80) meta=80 nullable=1 is_null=0 */

All but the values is made once for each table map; the values are printed from the bytes of the
row images. The column's name comes before its type if the log has it (binlog_row_metadata=FULL).

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-row-events.html
"""

from collections.abc import Callable
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.column import Column, ColumnReader, ColumnType, column_type_name
from connector.binlog.columns.row_images import bitmap_length, column_error
from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import INSERT, UPDATE
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import EventType
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import ESCAPES, quoted_identifier, quoted_name
from connector.binlog.text_writer import put_uint
from connector.foundation.errors import DecodeError
from connector.logs.dump.text.statements import comment_lines
from connector.logs.dump.text.string_values import DiffsText, StringText
from connector.logs.dump.text.values import value_writer
from connector.logs.event_info import ROWS_FLAGS
from connector.logs.output import LARGE, NEWLINE, LineOutput, encoded

# By the bytes of the length.
_BLOB_NAMES = {
    1: "TINYBLOB/TINYTEXT",
    2: "BLOB/TEXT",
    3: "MEDIUMBLOB/MEDIUMTEXT",
    4: "LONGBLOB/LONGTEXT",
}

_TWO_BYTE_METADATA = (ColumnType.STRING, ColumnType.NEWDECIMAL)


def column_text(column: Column) -> str:
    """Return the name, if it is known, the type with its metadata, and whether NULL is allowed."""
    name = "" if column.name is None else f"{quoted_identifier(column.name).translate(ESCAPES)} "
    return f"{name}{_type_text(column)} meta={_metadata(column)} nullable={int(column.nullable)}"


def _metadata(column: Column) -> int:
    """Return the metadata as the servers compute it: the first of two bytes is the higher one."""
    if column.type_code in _TWO_BYTE_METADATA:
        return (column.metadata & 0xFF) << 8 | column.metadata >> 8
    return column.metadata


def _type_text(column: Column) -> str:
    kind = column.real_type
    describe = _TYPE_TEXTS.get(kind)
    return column_type_name(kind) if describe is None else describe(column)


def _blob_text(column: Column) -> str:
    return _BLOB_NAMES.get(column.metadata, "BLOB")


def _enum_text(column: Column) -> str:
    length = column.stored_length
    return f"ENUM({length} byte{'s' if length > 1 else ''})"


def _vector_text(column: Column) -> str:
    return "VECTOR" if column.dimension is None else f"VECTOR({column.dimension})"


_TYPE_TEXTS: dict[int, Callable[[Column], str]] = {
    ColumnType.TINY: lambda _: "TINYINT",
    ColumnType.SHORT: lambda _: "SHORTINT",
    ColumnType.INT24: lambda _: "MEDIUMINT",
    ColumnType.LONG: lambda _: "INT",
    ColumnType.LONGLONG: lambda _: "LONGINT",
    ColumnType.NEWDECIMAL: lambda column: f"DECIMAL({column.precision},{column.scale})",
    ColumnType.TIMESTAMP2: lambda column: f"TIMESTAMP({column.metadata})",
    ColumnType.DATETIME2: lambda column: f"DATETIME({column.metadata})",
    ColumnType.TIME2: lambda column: f"TIME({column.metadata})",
    ColumnType.STRING: lambda column: f"STRING({column.length})",
    ColumnType.VARCHAR: lambda column: f"VARSTRING({column.metadata})",
    ColumnType.VAR_STRING: lambda column: f"VARSTRING({column.metadata})",
    ColumnType.VARCHAR_COMPRESSED: lambda column: f"VARSTRING({column.metadata}) COMPRESSED",
    ColumnType.BLOB: _blob_text,
    ColumnType.BLOB_COMPRESSED: lambda column: f"{_blob_text(column)} COMPRESSED",
    ColumnType.BIT: lambda column: f"BIT({column.length})",
    ColumnType.ENUM: _enum_text,
    ColumnType.SET: lambda column: f"SET({column.stored_length} bytes)",
    ColumnType.VECTOR: _vector_text,
}


# Bitmaps that one table map remembers; with binlog_row_image=MINIMAL there may be many.
_PRESENT_MAX: Final = 64


@final
class _ColumnLine:
    """The line of one column: what comes before and after its value."""

    __slots__ = ("end", "index", "null", "start", "value")

    def __init__(self, index: int, column: Column, value: CellWriter) -> None:
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
            _ColumnLine(index, column, value_writer(column, readers[index], signs=signs))
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
                    value = line.value
                    if large and isinstance(value, StringText):
                        value.put_in_pieces(image, output)
                        out = output.block
                    else:
                        value.put(image, out)
                    out.write(line.end)
                number += 1
        except DecodeError as error:
            raise column_error(self.table_map.columns[index], index, error) from error

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


_NAMES: Final[dict[int, str]] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: "Write_rows_event_old",
    EventType.PRE_GA_UPDATE_ROWS_EVENT: "Update_rows_event_old",
    EventType.PRE_GA_DELETE_ROWS_EVENT: "Delete_rows_event_old",
    EventType.WRITE_ROWS_EVENT_V1: "Write_rows",
    EventType.UPDATE_ROWS_EVENT_V1: "Update_rows",
    EventType.DELETE_ROWS_EVENT_V1: "Delete_rows",
    EventType.WRITE_ROWS_EVENT: "Write_rows",
    EventType.UPDATE_ROWS_EVENT: "Update_rows",
    EventType.DELETE_ROWS_EVENT: "Delete_rows",
    EventType.PARTIAL_UPDATE_ROWS_EVENT: "Update_rows_partial",
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: "Delete_compressed_rows",
    EventType.WRITE_ROWS_COMPRESSED_EVENT: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT: "Delete_compressed_rows",
    EventType.PARTIAL_ROW_DATA_EVENT: "Rows",
}
# Up to the table id, by type code.
_STARTS: Final = [f"{_NAMES.get(code, '')}: table id ".encode() for code in range(256)]

# Table maps whose text is kept; a log has few, but a bad log can have any number.
_TABLES_MAX: Final = 1024


@final
class _TableText:
    """The text of one table map; its rows need more, which is made when the first of them come."""

    __slots__ = ("rows", "summary", "table_map")

    def __init__(self, table_map: TableMapEvent) -> None:
        self.table_map = table_map
        # Names may hold line breaks.
        name = quoted_name(table_map.schema, table_map.table).translate(ESCAPES)
        self.summary = encoded(f"Table_map: {name} mapped to number {table_map.table_id}\n")
        self.rows: TableRows | None = None


@final
class TablesText:
    """Writes the table maps and the rows of one log."""

    __slots__ = ("_flags", "_flags_text", "_latest", "_tables")

    def __init__(self) -> None:
        self._latest: _TableText | None = None
        # By the identity of the table map: equal events give the same object.
        self._tables: dict[int, _TableText] = {}
        self._flags: i64 = 0
        self._flags_text = b""

    def put_table_map(self, out: BytesWriter, table_map: TableMapEvent) -> None:
        """Append the summary of a table map."""
        out.write(self._of(table_map).summary)

    def put_rows(self, type_code: int, rows: RowsEvent, output: LineOutput) -> None:
        """Append the summary of a rows event, and the lines of its rows.

        Raises EventError for a row that cannot be read.
        """
        out = output.block
        out.write(_STARTS[type_code])
        put_uint(out, rows.table_map.table_id)
        flags: i64 = rows.flags
        if flags != self._flags:
            names = [name for bit, name in ROWS_FLAGS.items() if flags & bit]
            self._flags = flags
            self._flags_text = f" flags: {' '.join(names)}".encode() if names else b""
        out.write(self._flags_text)
        out.append(u8(NEWLINE))
        if rows.refused is not None:
            for line in comment_lines(f"The rows are not shown: {rows.refused}"):
                out.write(encoded(f"{line}\n"))
            return
        try:
            table = self._of(rows.table_map)
            if table.rows is None:
                table.rows = TableRows(rows.table_map)
            table.rows.put(rows, output)
        except DecodeError as error:
            raise rows.unreadable(error) from error

    def put_fragment(self, type_code: int, body: PartialRowDataEvent, output: LineOutput) -> None:
        """Append the summary of a fragment; the last one has the rows of all of them."""
        summary = (
            f"Partial_row_data: fragment {body.sequence_number} of {body.total_fragments}, "
            f"{len(body.fragment)} bytes"
        )
        output.block.write(summary.encode("ascii"))
        if body.rows_event is None:
            output.block.append(u8(NEWLINE))
        else:
            output.block.write(b", ends ")
            self.put_rows(type_code, body.rows_event, output)

    def _of(self, table_map: TableMapEvent) -> _TableText:
        latest = self._latest
        if latest is not None and latest.table_map is table_map:
            return latest
        table = self._tables.get(id(table_map))
        if table is None:
            if len(self._tables) >= _TABLES_MAX:
                self._tables.clear()
            # It holds the table map, so no other object gets the same identity.
            table = self._tables[id(table_map)] = _TableText(table_map)
        self._latest = table
        return table

"""A table map and its rows become JSON: what is the same for each event is composed once."""

from typing import Final, final

from librt.strings import BytesWriter, read_i16_le
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.row_images import all_set, bitmap_length, column_error, is_set
from connector.binlog.events import rows_header
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.cells import UnusualValues, json_cell
from connector.logs.dump.json.table_facts import columns_of, dumps, extra_row_info
from connector.logs.output import LineOutput, encoded

_COMMA: Final = 0x2C
_OPEN: Final = 0x5B
_CLOSE: Final = 0x5D
_CLOSE_OBJECT: Final = 0x7D
_NULL: Final = b"null"
_ABSENT: Final = b'{"absent":true}'

_ROWS: Final = b',"rows":['
_U16: Final = 0xFFFF
_FLAGS_OFFSET: Final = 6  # of a rows event, after the table id
_NO_EXTRA_LENGTH: Final = 2  # of extra info, with the length itself
# A count of columns from here on has more than one byte.
_COUNT_MAX: Final = 0xFB


@final
class TableWriter:
    """Writes the bodies of one table map and of its rows events."""

    __slots__ = (
        "_cells",
        "_columns",
        "_flags",
        "_map",
        "_plain",
        "_rows_start",
        "_start",
        "columns_text",
        "table_id",
        "table_map",
    )

    def __init__(self, table_map: TableMapEvent, *, mariadb: bool) -> None:
        self.table_map = table_map
        self.table_id: i64 = table_map.table_id
        self.columns_text = dumps(columns_of(table_map, mariadb=mariadb))
        names = f'"schema":{dumps(table_map.schema)},"table":{dumps(table_map.table)},"flags":'
        self._start = encoded(f'{{"table_id":{table_map.table_id},{names}')
        self._columns = encoded(f',"columns":{self.columns_text}')
        flags = encoded(str(table_map.flags))
        self._map = b"%b%b%b}" % (self._start, flags, self._columns)
        self._cells: list[CellWriter] | None = None  # chosen with the first rows
        # Facts beside the rows that turned out to be none; most events share this object.
        self._plain: rows_header.ExtraRowInfo | None = None
        # The body up to the rows, with the flags of the last event.
        self._flags: i64 = -1
        self._rows_start = b""

    def put_map(self, out: BytesWriter) -> None:
        """Append the body of the table map."""
        out.write(self._map)

    def require_readable(self, event: RowsEvent, *, apply_diffs: bool) -> None:
        """Raise EventError for a row that cannot be read."""
        if self._can_read() and event.refused is None:
            for _ in event.rows(apply_diffs=apply_diffs):
                pass

    def put_rows(
        self,
        event: RowsEvent,
        out: BytesWriter,
        *,
        apply_diffs: bool,
        output: LineOutput | None = None,
    ) -> None:
        """Append the body of a rows event; with `output`, whose block is `out`, in pieces.

        Raises EventError for a row that cannot be read.
        """
        before = event.before_columns_present
        after = event.after_columns_present
        try:
            _ = event.plan
        except DecodeError as error:
            start = self._start_of_rows(event.flags, self._extra(event))
            out.write(start.removesuffix(_ROWS))
            out.write(encoded(f',"refused":{dumps(str(error))}}}'))
            return
        self._can_read()
        info = event.extra_row_info
        if info is not self._plain:
            extra = self._extra(event)
            if extra:
                out.write(self._start_of_rows(event.flags, extra))
            else:
                self._plain = info
        if info is self._plain:
            self._put_start(event.flags, out)
        values: UnusualValues | None = None
        if output is not None or event.partial:
            values = UnusualValues(event, output, apply_diffs=apply_diffs)
        try:
            is_lone = not self._has_columns(before, after) and event.has_lone_row()
            out = self._put_rows(is_lone, event.images(), before, after, values, out)
        except DecodeError as error:
            raise event.unreadable(error) from error
        out.write(b"]}")

    def put_plain_rows(
        self, kind: rows_header.RowsKind, head: i64, body: PayloadReader, out: BytesWriter
    ) -> bool:
        """Append the body of a rows event, from its bytes after the header.

        `head` is the length of what is before the columns: of version 1 or 2. Returns False for an
        event that has to be decoded; raises DecodeError for rows that cannot be read. Then a part
        of them may have been appended.
        """
        data = body.data
        start = body.take(head)
        if head == rows_header.ROWS_V2_HEADER_LENGTH and (
            read_i16_le(data, start + rows_header.ROWS_V1_HEADER_LENGTH) != _NO_EXTRA_LENGTH
        ):
            return False
        columns: i64 = len(self.table_map.columns)
        if columns >= _COUNT_MAX or body.read_uint8() != columns:
            return False
        before: bytes | None = self.table_map.read_bitmap(body)
        after = before
        if kind is rows_header.INSERT:
            before = None
        elif kind is rows_header.DELETE:
            after = None
        elif kind is rows_header.UPDATE:
            after = self.table_map.read_bitmap(body)
        if not self._has_columns(before, after) or not self._can_read():
            return False
        self._put_start(i64(read_i16_le(data, start + _FLAGS_OFFSET)) & _U16, out)
        self._put_rows(False, body, before, after, None, out)
        out.write(b"]}")
        return True

    def _has_columns(self, before: bytes | None, after: bytes | None) -> bool:
        return self._image_columns(before) > 0 or self._image_columns(after) > 0

    def _image_columns(self, present: bytes | None) -> i64:
        """Return how many columns an image has, 0 without the image."""
        if present is None:
            return 0
        columns: i64 = len(self.table_map.columns)
        if all_set(present, columns):
            return columns
        count: i64 = 0
        index: i64 = 0
        while index < columns:
            if is_set(present, 0, index):
                count += 1
            index += 1
        return count

    def _can_read(self) -> bool:
        """Choose the writers of cells; return False if the rows cannot be read."""
        if self._cells is None:
            try:
                readers = self.table_map.row_plan.readers
            except DecodeError:
                return False
            pairs = zip(self.table_map.columns, readers, strict=True)
            self._cells = [json_cell(column, reader) for column, reader in pairs]
        return True

    def _put_start(self, flags: i64, out: BytesWriter) -> None:
        """Append the body up to the rows; most events of a table have the same."""
        if flags != self._flags:
            self._rows_start = self._start_of_rows(flags, b"")
            self._flags = flags
        out.write(self._rows_start)

    def _start_of_rows(self, flags: i64, extra: bytes) -> bytes:
        end = b"true" if flags & rows_header.STMT_END_F else b"false"
        shown = encoded(str(flags))
        return b'%b%b,"stmt_end":%b%b%b%b' % (
            self._start, shown, end, extra, self._columns, _ROWS
        )  # fmt: skip

    def _extra(self, event: RowsEvent) -> bytes:
        """Return the facts beside the rows; nothing for most events."""
        members = extra_row_info(event.extra_row_info)
        return b"," + encoded(dumps(members)[1:-1]) if members else b""

    def _put_rows(
        self,
        is_lone: bool,
        image: PayloadReader,
        before: bytes | None,
        after: bytes | None,
        values: UnusualValues | None,
        out: BytesWriter,
    ) -> BytesWriter:
        """Append all rows, also a lone one without a byte; return the block that is then the last.

        `values` writes the values of an event that is large, or has changes of documents.
        """
        before_columns = self._image_columns(before)
        after_columns = self._image_columns(after)
        several = False
        while is_lone or image.offset < image.end:
            is_lone = False
            if several:
                out.append(u8(_COMMA))
            several = True
            if before is None:
                out.write(b'{"op":"insert","after":')
            else:
                out.write(
                    b'{"op":"delete","before":' if after is None else b'{"op":"update","before":'
                )
                if values is not None:
                    values.begin_before()
                out = self._put_image(image, before, before_columns, values, out)
                if after is not None:
                    out.write(b',"after":')
            if after is not None:
                if values is not None:
                    values.begin_after(image)
                out = self._put_image(image, after, after_columns, values, out)
            out.append(u8(_CLOSE_OBJECT))
            if values is not None:
                out = values.give_way(out)
        return out

    def _put_image(
        self,
        image: PayloadReader,
        present: bytes,
        columns: i64,
        values: UnusualValues | None,
        out: BytesWriter,
    ) -> BytesWriter:
        """Append an image that holds so many columns, those whose bit is set."""
        cells = self._cells
        assert cells is not None
        data = image.data
        nulls = image.take(bitmap_length(columns))
        full = columns == len(cells)
        separator: i64 = _OPEN
        number: i64 = 0  # of the columns that the image holds
        index: i64 = 0
        try:
            for cell in cells:
                out.append(u8(separator))
                separator = _COMMA
                if full or is_set(present, 0, index):
                    bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call
                    if bits >> (number & 7) & 1:
                        out.write(_NULL)
                        if values is not None:
                            values.note_null(index)
                    elif values is None:
                        cell.put(image, out)
                    else:
                        out = values.put(index, cell, image, out)
                    number += 1
                else:
                    out.write(_ABSENT)
                index += 1
        except DecodeError as error:
            raise column_error(self.table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))
        return out

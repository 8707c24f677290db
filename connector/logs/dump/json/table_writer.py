"""A table map and its rows become JSON: what is the same for each event is composed once."""

from typing import Final, final

from librt.strings import BytesWriter, read_i16_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import ColumnReader
from connector.binlog.columns.json import ABSENT_BEFORE, NULL_BEFORE
from connector.binlog.columns.row_images import all_set, bitmap_length, column_error, is_set
from connector.binlog.events import rows_header
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.cells import (
    json_cell,
    put_changes,
    put_in_pieces,
)
from connector.logs.dump.json.table_facts import columns_of, dumps, extra_row_info
from connector.logs.output import LineOutput, encoded
from connector.stream.envelope.cells.writers import CellWriter

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
        try:
            if (
                output is None
                and not event.partial
                and (self._image_columns(before) or self._image_columns(after))
            ):
                self._put_rows(event.kind, event.images(), before, after, out)
            else:
                out = self._put_any_rows(event, out, output, apply_diffs)
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
        if not (self._image_columns(before) or self._image_columns(after)) or not self._can_read():
            return False
        self._put_start(i64(read_i16_le(data, start + _FLAGS_OFFSET)) & _U16, out)
        self._put_rows(kind, body, before, after, out)
        out.write(b"]}")
        return True

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
        kind: rows_header.RowsKind,
        image: PayloadReader,
        before: bytes | None,
        after: bytes | None,
        out: BytesWriter,
    ) -> None:
        before_columns = self._image_columns(before)
        after_columns = self._image_columns(after)
        several = False
        while image.offset < image.end:
            if several:
                out.append(u8(_COMMA))
            several = True
            if kind is rows_header.INSERT:
                out.write(b'{"op":"insert","after":')
                self._put_image(image, after, after_columns, out)
            elif kind is rows_header.DELETE:
                out.write(b'{"op":"delete","before":')
                self._put_image(image, before, before_columns, out)
            else:
                out.write(b'{"op":"update","before":')
                self._put_image(image, before, before_columns, out)
                out.write(b',"after":')
                self._put_image(image, after, after_columns, out)
            out.append(u8(_CLOSE_OBJECT))

    def _put_image(
        self, image: PayloadReader, present: bytes | None, columns: i64, out: BytesWriter
    ) -> None:
        """Append an image that holds so many columns, those whose bit is set."""
        cells = self._cells
        assert cells is not None
        assert present is not None
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
                    else:
                        cell.put(image, out)
                    number += 1
                else:
                    out.write(_ABSENT)
                index += 1
        except DecodeError as error:
            raise column_error(self.table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

    def _put_any_rows(
        self, event: RowsEvent, out: BytesWriter, output: LineOutput | None, apply_diffs: bool
    ) -> BytesWriter:
        """Append rows that are large, or have changes of documents, or images without a column.

        Returns the block that is then the last one of `output`.
        """
        before = event.before_columns_present
        after = event.after_columns_present
        is_lone = event.has_lone_row()
        image = event.images()
        several = False
        while is_lone or image.offset < image.end:
            is_lone = False
            out.write(b',{"op":"' if several else b'{"op":"')
            several = True
            put_ascii(out, event.kind.value)
            out.append(u8(QUOTE))
            # Where the image before has its values, by column.
            documents: dict[int, int] = {}
            if before is not None:
                out.write(b',"before":')
                indexes = self.table_map.row_plan.indexes(before)
                readers = self.table_map.row_plan.readers
                out = self._put_any_image(image, indexes, readers, out, output, documents)
            if after is not None:
                out.write(b',"after":')
                plan = self.table_map.row_plan
                readers = plan.partial_readers(image) if event.partial else plan.readers
                known = documents if apply_diffs else {}
                out = self._put_any_image(image, plan.indexes(after), readers, out, output, known)
            out.append(u8(_CLOSE_OBJECT))
            if output is not None:
                output.give_way()
                out = output.block
        return out

    def _put_any_image(
        self,
        image: PayloadReader,
        indexes: list[int],
        readers: list[ColumnReader],
        out: BytesWriter,
        output: LineOutput | None,
        documents: dict[int, int],
    ) -> BytesWriter:
        """Append one image; `readers` may read changes of `documents`."""
        cells = self._cells
        assert cells is not None
        own = self.table_map.row_plan.readers
        nulls = image.take(bitmap_length(len(indexes)))
        number: i64 = 0
        index = 0
        try:
            for index, cell in enumerate(cells):
                out.append(u8(_COMMA if index else _OPEN))
                if number == len(indexes) or indexes[number] != index:
                    out.write(_ABSENT)
                    continue
                is_null = is_set(image.data, nulls, number)
                number += 1
                reader = readers[index]
                if is_null:
                    documents.setdefault(index, NULL_BEFORE)
                    out.write(_NULL)
                elif reader is not own[index]:
                    at = documents.get(index, ABSENT_BEFORE)
                    put_changes(image, reader, own[index], at, out)
                else:
                    documents.setdefault(index, int(image.offset))
                    out = put_in_pieces(cell, reader, image, out, output)
        except DecodeError as error:
            raise column_error(self.table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))
        return out

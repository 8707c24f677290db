"""A table map and its rows become JSON: what is the same for each event is composed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.columns.bitmap import all_set, bitmap_length, is_set
from connector.binlog.columns.row_plan import in_column
from connector.binlog.events.rows_head import DELETE, INSERT
from connector.codec.digits import put_uint
from connector.dump.json.cells import encoded, json_cell
from connector.dump.json.rows import columns_of, dumps, extra_row_info, rows_body
from connector.errors import DecodeError

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.events.extra_row_info import ExtraRowInfo
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.codec.payload import PayloadReader
    from connector.envelope.cells.cell_writer import CellWriter

_COMMA: Final = 0x2C
_OPEN: Final = 0x5B
_CLOSE: Final = 0x5D
_CLOSE_OBJECT: Final = 0x7D
_NULL: Final = b"null"
_ABSENT: Final = b'{"absent":true}'


@final
class TableWriter:
    """Writes the bodies of one table map and of its rows events."""

    __slots__ = ("_cells", "_columns", "_map", "_plain", "_start", "columns_text", "table_map")

    def __init__(self, table_map: TableMapEvent, *, mariadb: bool) -> None:
        """Compose the text of the columns."""
        self.table_map = table_map
        self.columns_text = dumps(columns_of(table_map, mariadb=mariadb))
        names = f'"schema":{dumps(table_map.schema)},"table":{dumps(table_map.table)},"flags":'
        self._start = encoded(f'{{"table_id":{table_map.table_id},{names}')
        self._columns = encoded(f',"columns":{self.columns_text}')
        flags = encoded(str(table_map.flags))
        self._map = b"%b%b%b}" % (self._start, flags, self._columns)
        self._cells: list[CellWriter] | None = None  # chosen with the first rows
        # Facts beside the rows that turned out to be none; most events share this object.
        self._plain: ExtraRowInfo | None = None

    def put_map(self, out: BytesWriter) -> None:
        """Append the body of the table map."""
        out.write(self._map)

    def put_rows(self, event: RowsEvent, out: BytesWriter, *, apply_diffs: bool) -> None:
        """Append the body of a rows event. Raises EventError for a row that cannot be read."""
        before = self._image_columns(event.before_columns_present)
        after = self._image_columns(event.after_columns_present)
        if event.partial or not (before or after) or not self._can_read(event):
            out.write(encoded(rows_body(event, self.columns_text, apply_diffs=apply_diffs)))
            return
        out.write(self._start)
        put_uint(out, event.flags)
        out.write(b',"stmt_end":true' if event.stmt_end else b',"stmt_end":false')
        if event.extra_row_info is not self._plain:
            self._put_extra(event.extra_row_info, out)
        out.write(self._columns)
        out.write(b',"rows":[')
        try:
            self._put_rows(event, before, after, out)
        except DecodeError as error:
            raise event.unreadable(error) from error
        out.write(b"]}")

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

    def _can_read(self, event: RowsEvent) -> bool:
        """Choose the writers of cells; return False if the rows cannot be read."""
        if event.refused is not None:
            return False
        if self._cells is None:
            try:
                readers = self.table_map.row_plan.readers
            except DecodeError:
                return False
            pairs = zip(self.table_map.columns, readers, strict=True)
            self._cells = [json_cell(column, reader) for column, reader in pairs]
        return True

    def _put_extra(self, info: ExtraRowInfo, out: BytesWriter) -> None:
        told = extra_row_info(info)
        if told:
            out.write(b",")
            out.write(encoded(dumps(told)[1:-1]))
        else:
            self._plain = info

    def _put_rows(self, event: RowsEvent, before: i64, after: i64, out: BytesWriter) -> None:
        image = event.images()
        kind = event.kind
        several = False
        while image.offset < image.end:
            if several:
                out.append(u8(_COMMA))
            several = True
            if kind is INSERT:
                out.write(b'{"op":"insert","after":')
                self._put_image(image, event.after_columns_present, after, out)
            elif kind is DELETE:
                out.write(b'{"op":"delete","before":')
                self._put_image(image, event.before_columns_present, before, out)
            else:
                out.write(b'{"op":"update","before":')
                self._put_image(image, event.before_columns_present, before, out)
                out.write(b',"after":')
                self._put_image(image, event.after_columns_present, after, out)
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
            raise in_column(self.table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

"""Rows of the text protocol become chunks of rows in the form of the records, byte for byte.

The writers of the cells are those of row images; only the readers are others (`cells.selected`).

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_row.html
"""

from typing import Final, NoReturn, final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.log_errors import ProtocolError
from connector.binlog.payload_reader import LENENC_NULL, PayloadReader
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.replication.protocol.result_set import RowReceiver
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.selected import selected_reader
from connector.stream.envelope.copied_chunk import LENGTHS, NO_KEY, Chunk, RefusedRow
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.debezium.row_filter import RowFilter
from connector.stream.envelope.record_frame import NO_BEFORE
from connector.stream.envelope.row_writer import RowMember, null_of, put_key, schema_writer
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes

_OPEN: Final = 0x7B
_CLOSE: Final = 0x7D
_COMMA: Final = 0x2C


@final
class _Member(RowMember):
    """A column of a SELECT."""

    __slots__ = ("cell_end", "cell_start", "is_null")

    def __init__(self, index: int, name: str, writer: CellWriter, null: bytes) -> None:
        super().__init__(index, name, writer, null)
        # The bounds of its cell in the latest row.
        self.cell_start: i64 = 0
        self.cell_end: i64 = 0
        self.is_null = False


@final
class SelectRowWriter(RowReceiver):
    """Writes the rows of SELECTs of one table; the cells have the order of the schema.

    One thread at a time writes; `take_chunk` ends a chunk and begins the next.
    """

    __slots__ = (
        "_cell",
        "_count",
        "_filter",
        "_has_message_key",
        "_judged",
        "_key",
        "_keyed",
        "_last",
        "_members",
        "_ordered",
        "_out",
        "_record_key",
        "_refused",
        "_refused_bytes",
        "_row_keys",
        "schema",
    )

    def __init__(
        self,
        schema: TableSchema,
        debezium: DebeziumProfile | None = None,
        order: tuple[int, ...] | None = None,
    ) -> None:
        """Choose a writer for each column, in the profile `exact` or in the form `debezium`.

        `order` has the indexes of the columns that `Chunk.last_key` has; None means the key.
        Raises UnsupportedChange for a column that the envelope cannot hold, and as
        `RowFilters.of`.
        """
        self.schema = schema
        names = field_names(schema.columns, debezium)
        self._members: list[_Member] = []
        for index, column in enumerate(schema.columns):
            writer = schema_writer(schema, column, selected_reader(column), debezium)
            member = _Member(index, names[index], writer, null_of(schema, column))
            self._members.append(member)
        self._keyed = [self._members[index] for index in schema.key_indexes]
        self._key: list[RowMember] = [*self._keyed]
        self._ordered = self._keyed if order is None else [self._members[index] for index in order]
        record_key = record_key_indexes(schema, debezium)
        self._record_key: list[RowMember] = [self._members[index] for index in record_key]
        self._has_message_key = record_key != schema.key_indexes
        self._filter: RowFilter | None = None
        self._judged: list[_Member] = []
        if debezium is not None and debezium.filters is not None:
            self._filter = debezium.filters.of(schema.for_filters)
        if self._filter is not None:
            self._judged = [self._members[index] for index in self._filter.indexes]
        # The keys of the rows, if they are not those of the records.
        self._row_keys: list[bytes] = []
        self._cell = PayloadReader(b"")  # moves from cell to cell of a row
        self._out = BytesWriter()
        self._count: i64 = 0
        self._last = b""  # the data that holds the latest row
        self._refused: list[RefusedRow] = []
        self._refused_bytes: i64 = 0

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take the row in `data[start:end]`.

        A row that the filter leaves out is counted, but has no record. A row with a value that the
        envelope cannot hold becomes a `RefusedRow` of the chunk.
        Raises ProtocolError if the cells do not fill the row.
        """
        out = self._out
        head: i64 = len(out)
        write_i64_le(out, 0)
        write_i64_le(out, 0)
        out.write(NO_BEFORE)
        self._count += 1
        self._last = data
        try:
            if self._filter is not None and not self._keeps(self._filter, data, start, end):
                out.truncate(head)
                return
            self._put_members(out, data, start, end)
        except UnsupportedChange as error:
            out.truncate(head)
            refused = UnsupportedChange(record_errors.IN_COPY, table=self.schema.name, why=error)
            self._refuse(data, start, end, refused)
            return
        out.append(u8(_CLOSE))
        value_end: i64 = len(out)
        _put_length(out, head, value_end - head - LENGTHS)
        if self._has_message_key and self._keyed:
            row_key = BytesWriter()
            put_key(row_key, self._key, out)
            self._row_keys.append(row_key.getvalue())
        if self._record_key:
            put_key(out, self._record_key, out)
            _put_length(out, head + 8, len(out) - value_end)
        else:
            _put_length(out, head + 8, NO_KEY)

    def take_chunk(self) -> Chunk:
        """Return the rows since the last call."""
        last_key: list[bytes] = []
        if self._count:
            last = self._last
            last_key = [last[member.cell_start : member.cell_end] for member in self._ordered]
        chunk = Chunk(
            self.schema,
            self._out.getvalue(),
            self._count,
            last_key,
            self._refused,
            self._row_keys,
        )
        self.discard()
        return chunk

    def discard(self) -> None:
        """Drop the rows since the last chunk."""
        self._out = BytesWriter()
        self._cell.data = b""
        self._count = 0
        self._last = b""
        self._refused = []
        self._refused_bytes = 0
        self._row_keys = []

    @property
    def size(self) -> i64:
        """Bytes of the rows since the last chunk."""
        return len(self._out) + self._refused_bytes

    def _put_members(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        at = start
        cell = self._cell
        cell.data = data
        for member in self._members:
            member.start = len(out) + 1
            out.write(member.name)
            at = self._enter_cell(member, data, at, end)
            if member.is_null:
                out.write(member.null)
            else:
                cell.offset = member.cell_start
                cell.end = at
                self._put_cell(member, cell, out)
            member.end = len(out)
        if at != end:
            self._refuse_shape()

    def _put_cell(self, member: _Member, cell: PayloadReader, out: BytesWriter) -> None:
        """Append a value. Raises UnsupportedChange for one that is not of the column's type.

        Then the table was altered after its columns were asked for, which the reader of the table
        finds out when it asks once more.
        """
        try:
            member.writer.put(cell, out)
        except (DecodeError, IndexError, ValueError) as error:
            name = self.schema.columns[self._members.index(member)]["name"]
            raise UnsupportedChange(record_errors.OTHER_TYPE, column=name) from error

    def _keeps(self, row_filter: RowFilter, data: bytes, start: i64, end: i64) -> bool:
        """Return whether the row has a record; its cells are found then."""
        self._find_cells(data, start, end)
        return row_filter.keeps_selected(
            [
                None if member.is_null else data[member.cell_start : member.cell_end]
                for member in self._judged
            ]
        )

    def _find_cells(self, data: bytes, start: i64, end: i64) -> None:
        at = start
        for member in self._members:
            at = self._enter_cell(member, data, at, end)
        if at != end:
            self._refuse_shape()

    def _enter_cell(self, member: _Member, data: bytes, at: i64, end: i64) -> i64:
        """Set the bounds of the member's cell, which begins at `at`; return the cell's end."""
        if at >= end:
            self._refuse_shape()
        # This runs for each cell, and nearly all lengths have one byte: no reader is made for them.
        length: i64 = data[at]
        member.is_null = length == LENENC_NULL
        if length <= LENENC_NULL:
            at += 1
        else:
            reader = PayloadReader(data, at, end)
            length = self._read_length(reader)
            at = reader.offset
        if member.is_null:
            length = 0
        if length > end - at:
            self._refuse_shape()
        member.cell_start = at
        member.cell_end = at + length
        return at + length

    def _refuse(self, data: bytes, start: i64, end: i64, error: UnsupportedChange) -> None:
        """Keep a row that cannot be written, with its key where that can."""
        self._find_cells(data, start, end)
        self._refused.append(RefusedRow(self._key_alone(data), data[start:end], error))
        self._refused_bytes += end - start

    def _key_alone(self, data: bytes) -> bytes | None:
        """Return the key of the row whose cells were found; None if it cannot be written."""
        if not self._keyed:
            return None
        out = BytesWriter()
        before: i64 = _OPEN
        try:
            for member in self._keyed:
                out.append(u8(before))
                out.write(member.name[1:])
                cell = PayloadReader(data, member.cell_start, member.cell_end)
                self._put_cell(member, cell, out)
                before = _COMMA
        except UnsupportedChange:
            return None
        out.append(u8(_CLOSE))
        return out.getvalue()

    def _read_length(self, reader: PayloadReader) -> i64:
        try:
            return reader.read_lenenc()
        except DecodeError:
            self._refuse_shape()

    def _refuse_shape(self) -> NoReturn:
        raise ProtocolError(
            record_errors.ROW_SHAPE, table=self.schema.name, columns=len(self._members)
        )


def _put_length(out: BytesWriter, at: i64, length: i64) -> None:
    """Replace the eight bytes at `at`."""
    end = at + 8
    while at < end:
        out[at] = u8(length & 0xFF)
        length >>= 8
        at += 1

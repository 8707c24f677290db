"""Whole groups become lines from the bytes of their events, without an object for each event.

Only groups of the usual form of MySQL do, see `whole_groups`, and only if their statements and
table maps have been written before. `JsonFormat.put` writes the same lines for all other events.
"""

from typing import Final, final

from librt.strings import BytesWriter, read_i16_le, read_i32_le
from mypy_extensions import i64

from connector.binlog import header
from connector.binlog.events import rows_header
from connector.binlog.files.event_frames import EventBlock
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.transactions.transaction_bounds import end_of_group, size_at, table_id_at
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.event_lines import NOTHING, EventHeads, QueryBodies, put_gtid, put_xid
from connector.logs.dump.json.table_writer import TableWriter
from connector.logs.output import LineOutput

_U32: Final = 0xFFFF_FFFF
_U16: Final = 0xFFFF
_SERVER_ID_OFFSET: Final = 5
_LOG_POS_OFFSET: Final = 13
_FLAGS_OFFSET: Final = 17

# By type code: the kind of change, and the length of the head, of rows that lie in the event as
# they are.
_KINDS: Final[list[rows_header.RowsKind | None]] = [None] * 256
_KINDS[header.EventType.WRITE_ROWS_EVENT_V1] = _KINDS[header.EventType.WRITE_ROWS_EVENT] = (
    rows_header.INSERT
)
_KINDS[header.EventType.UPDATE_ROWS_EVENT_V1] = _KINDS[header.EventType.UPDATE_ROWS_EVENT] = (
    rows_header.UPDATE
)
_KINDS[header.EventType.DELETE_ROWS_EVENT_V1] = _KINDS[header.EventType.DELETE_ROWS_EVENT] = (
    rows_header.DELETE
)
_V2_START: Final = int(header.EventType.WRITE_ROWS_EVENT)

# Slots for the latest table maps, by the lowest byte of the table id, which a server counts up.
_SLOTS: Final = 256


@final
class GroupLines:
    """Writes the groups of one format of a log."""

    def __init__(self, heads: EventHeads, statements: QueryBodies) -> None:
        """Share the heads and the statements with what writes the other events."""
        self._heads = heads
        self._statements = statements
        self._known: list[TableWriter | None] = [None] * _SLOTS
        self._tables: list[TableWriter] = []  # of the current statement

    def know(self, table: TableWriter) -> None:
        """Take a table map that was decoded."""
        raw = table.table_map.raw
        if len(raw):
            self._known[raw[0]] = table

    def put(self, events: EventBlock, trailer: i64, position: i64, output: LineOutput) -> i64:
        """Write the groups at the start of `events`, and return where they end.

        No group is open before them. Each event ends in `trailer` bytes of a checksum; the first
        one is at `position` of the log.
        """
        data = events.data
        at = events.start
        place = position - at
        while True:
            end = end_of_group(data, at, events.end, trailer)
            if end == at:
                return at
            out = output.block
            start: i64 = len(out)
            try:
                written = self._put_group(data, at, end, trailer, place, out)
            except DecodeError:
                # Who decodes the events raises it, after the lines of those before.
                written = False
            if not written:
                out.truncate(start)
                return at
            output.give_way()
            at = end

    def _put_group(
        self, data: bytes, start: i64, end: i64, trailer: i64, place: i64, out: BytesWriter
    ) -> bool:
        """Append the lines of a group; return False for one that must be decoded."""
        self._tables.clear()
        at = start
        while at < end:
            size = size_at(data, at)
            type_code: i64 = data[at + header.TYPE_OFFSET]
            body_end = at + size - trailer
            checksum: i64 = NOTHING
            if trailer:
                checksum = _u32_at(data, body_end)
            self._heads.put_place(out, at + place, _u32_at(data, at + _LOG_POS_OFFSET))
            self._heads.put_header(
                out,
                type_code,
                _u32_at(data, at),
                _u32_at(data, at + _SERVER_ID_OFFSET),
                i64(read_i16_le(data, at + _FLAGS_OFFSET)) & _U16,
                size,
                checksum,
            )
            if not self._put_body(data, type_code, at + header.HEADER_LENGTH, body_end, out):
                return False
            out.write(b"}\n")
            at += size
        return True

    def _put_body(
        self, data: bytes, type_code: i64, start: i64, end: i64, out: BytesWriter
    ) -> bool:
        """Append the body in `data[start:end]`; return False for one that must be decoded."""
        if type_code == header.TABLE_MAP:
            return self._put_table(data, start, end, out)
        kind = _KINDS[type_code]
        if kind is not None:
            return self._put_rows(data, type_code, kind, start, end, out)
        if type_code == header.QUERY:
            return self._statements.put_known(data, start, end, out)
        if type_code == header.XID:
            return put_xid(PayloadReader(data, start, end), out)
        if type_code == header.GTID_LOG:
            put_gtid(PayloadReader(data, start, end), out)
            return True
        return False

    def _put_table(self, data: bytes, start: i64, end: i64, out: BytesWriter) -> bool:
        table = self._known[data[start]]
        if table is None:
            return False
        raw = table.table_map.raw
        if len(raw) != end - start or not has_bytes_at(data, start, raw):
            return False
        self._tables.append(table)
        table.put_map(out)
        return True

    def _put_rows(
        self,
        data: bytes,
        type_code: i64,
        kind: rows_header.RowsKind,
        start: i64,
        end: i64,
        out: BytesWriter,
    ) -> bool:
        length: i64 = (
            rows_header.ROWS_V1_HEADER_LENGTH
            if type_code < _V2_START
            else rows_header.ROWS_V2_HEADER_LENGTH
        )
        if end - start < length:
            return False
        table_id = table_id_at(data, start)
        # The last table map with this id counts.
        index = len(self._tables)
        while index:
            index -= 1
            table = self._tables[index]
            if table.table_id == table_id:
                return table.put_plain_rows(kind, length, PayloadReader(data, start, end), out)
        return False


def _u32_at(data: bytes, at: i64) -> i64:
    return i64(read_i32_le(data, at)) & _U32

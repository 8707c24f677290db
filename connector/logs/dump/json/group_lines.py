"""Whole groups become lines from the bytes of their events, without an object for each event.

Only groups of the usual form of MySQL do, see `whole_groups`, and only if their statements and
table maps have been written before. `JsonFormat.put` writes the same lines for all other events.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog import header
from connector.binlog.events import rows_header
from connector.binlog.files.event_frames import EventBlock
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.rows_decoder import PLAIN_KINDS
from connector.binlog.transactions.transaction_bounds import end_of_group, table_id_at
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.event_lines import EventHeads, ShortBodies
from connector.logs.dump.json.table_writer import TableWriter
from connector.logs.output import LineOutput

_V2_START: Final = int(header.EventType.WRITE_ROWS_EVENT)

# Slots for the latest table maps, by the lowest byte of the table id, which a server counts up.
_SLOTS: Final = 256


@final
class GroupLines:
    """Writes the groups of one format of a log."""

    def __init__(self, heads: EventHeads, bodies: ShortBodies) -> None:
        """Share the heads and the short bodies with what writes the other events."""
        self._heads = heads
        self._bodies = bodies
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
            size = header.size_at(data, at)
            type_code: i64 = data[at + header.TYPE_OFFSET]
            body_end = at + size - trailer
            self._heads.put(out, type_code, data, at, trailer, at + place, v1=False)
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
        kind = PLAIN_KINDS[type_code]
        if kind is not None:
            return self._put_rows(data, type_code, kind, start, end, out)
        return self._bodies.put(type_code, data, start, end, None, out)

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

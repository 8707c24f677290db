"""The counts of one file, block by block: groups from their bytes, all else event by event.

Groups of the usual form of MySQL (see `whole_groups`) need no object for each event; every other
event goes to `Statistics.add`, which counts the same.
"""

from typing import Final, final

from librt.strings import read_i16_le, read_i32_le, read_i64_le
from mypy_extensions import i64

from connector.binlog import header, log_errors
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.files.event_frames import EventBlock
from connector.binlog.files.file_log import FileLog
from connector.binlog.gtid import Gtid, gtid_at
from connector.binlog.gtid.mysql import GNO_END
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.rows_decoder import PLAIN_KINDS
from connector.binlog.transactions import transaction_bounds
from connector.foundation.errors import DecodeError
from connector.logs.statistics import Statistics, TableCount, TransactionCount

_U32: Final = 0xFFFF_FFFF
_U16: Final = 0xFFFF
_SERVER_ID_OFFSET: Final = 5
_FLAGS_OFFSET: Final = 17

# Of a rows event of version 2, after the table id and the flags.
_EXTRA_OFFSET: Final = 8
_EXTRA_LENGTH_BYTES: Final = 2

# Of a GTID_LOG_EVENT: the flags, the UUID, the number.
_UUID_OFFSET: Final = 1
_GNO_OFFSET: Final = 17
_GTID_END: Final = 25

_INSERT: Final = int(header.EventType.WRITE_ROWS_EVENT)
_UPDATE: Final = int(header.EventType.UPDATE_ROWS_EVENT)
_DELETE: Final = int(header.EventType.DELETE_ROWS_EVENT)

_IS_ROWS: Final = bytes(
    [transaction_bounds.ROLE_OF_TYPE[code] == transaction_bounds.ROLE_ROWS for code in range(256)]
)

# Slots for the latest table maps, by the lowest bits of the table id, which a server counts up.
_SLOTS: Final = 64
_SLOT_MASK: Final = _SLOTS - 1


@final
class _Table:
    """A table map, and the counts of its table once it has rows."""

    __slots__ = ("body", "columns", "count", "table_id", "table_map")

    def __init__(self, body: bytes) -> None:
        """Decode a table map; raise DecodeError for one that cannot be read."""
        reader = PayloadReader(body)
        table_map = TableMapEvent.decode(reader)
        if reader.remaining:
            raise DecodeError(log_errors.LEFT_OVER, count=reader.remaining, field="the last field")
        self.body = body
        self.table_map = table_map
        self.columns: i64 = len(table_map.columns)
        self.table_id: i64 = table_map.table_id
        self.count: TableCount | None = None

    def rows_in(self, kind: i64, data: bytes, start: i64, end: i64) -> i64:
        """Return how many rows the body of a rows event has.

        Raises DecodeError for rows that are not of this form, or whose end cannot be found.
        """
        extra = (i64(read_i16_le(data, start + _EXTRA_OFFSET)) & _U16) - _EXTRA_LENGTH_BYTES
        image = PayloadReader(data, start + _EXTRA_OFFSET + _EXTRA_LENGTH_BYTES, end)
        image.take(extra)
        if image.read_lenenc() != self.columns:
            return 0
        plan = self.table_map.row_plan
        first = plan.indexes(self.table_map.read_bitmap(image))
        second = plan.indexes(self.table_map.read_bitmap(image)) if kind == _UPDATE else None
        count: i64 = 0
        if first or second:
            while image.offset < image.end:
                plan.skip_image(image, first)
                if second is not None:
                    plan.skip_image(image, second)
                count += 1
        return count


@final
class GroupCounts:
    """Adds groups to the counts of one log."""

    def __init__(self, statistics: Statistics, file: str) -> None:
        """Add to `statistics` what the log called `file` has."""
        self._statistics = statistics
        self._file = file
        self._file_count = statistics.count_of_file(file)
        self._known: list[_Table | None] = [None] * _SLOTS
        # Of the current group: its tables, and of each rows event the table and its rows.
        self._tables: list[_Table] = []
        self._changed: list[_Table] = []
        self._rows: list[i64] = []

    def take(self, events: EventBlock, trailer: i64, position: i64) -> i64:
        """Count the groups at the start of `events`, and return where they end.

        No group is open before them. Each event ends in `trailer` bytes of a checksum; the first
        one is at `position` of the log.
        """
        data = events.data
        at = events.start
        place = position - at
        while True:
            end = transaction_bounds.end_of_group(data, at, events.end, trailer)
            if (
                end == at
                or data[at + header.TYPE_OFFSET] == header.MARIADB_GTID
                or not self._finds_rows(data, at, end, trailer)
            ):
                return at
            gtid: Gtid | None = None
            if data[at + header.TYPE_OFFSET] == header.GTID_LOG:
                uuid = at + header.HEADER_LENGTH + _UUID_OFFSET
                number = read_i64_le(data, at + header.HEADER_LENGTH + _GNO_OFFSET)
                if (
                    header.size_at(data, at) < header.HEADER_LENGTH + _GTID_END
                    or not 0 < number < GNO_END
                ):
                    return at
                gtid = gtid_at(data, uuid, number)
            self._count(data, at, end, at + place, gtid)
            at = end

    def _finds_rows(self, data: bytes, start: i64, end: i64, trailer: i64) -> bool:
        """Find the tables and rows of a group; return False for one that must be decoded."""
        self._tables.clear()
        self._changed.clear()
        self._rows.clear()
        at = start
        try:
            while at < end:
                type_code: i64 = data[at + header.TYPE_OFFSET]
                body = at + header.HEADER_LENGTH
                at += header.size_at(data, at)
                if type_code == header.TABLE_MAP:
                    self._tables.append(self._table(data, body, at - trailer))
                elif _IS_ROWS[type_code]:
                    table = self._table_of(transaction_bounds.table_id_at(data, body))
                    if table is None or type_code < _INSERT or type_code > _DELETE:
                        return False
                    rows = table.rows_in(type_code, data, body, at - trailer)
                    if not rows:
                        return False
                    self._changed.append(table)
                    self._rows.append(rows)
        except DecodeError:
            return False
        return True

    def _table(self, data: bytes, start: i64, end: i64) -> _Table:
        slot: i64 = data[start] & _SLOT_MASK
        known = self._known[slot]
        if (
            known is None
            or len(known.body) != end - start
            or not has_bytes_at(data, start, known.body)
        ):
            known = self._known[slot] = _Table(data[start:end])
        return known

    def _table_of(self, table_id: i64) -> _Table | None:
        """Return the table of a rows event; None if the group has no table map for it."""
        for table in self._tables:
            if table.table_id == table_id:
                return table
        return None

    def _count(self, data: bytes, start: i64, end: i64, position: i64, gtid: Gtid | None) -> None:
        statistics = self._statistics
        first = i64(read_i32_le(data, start)) & _U32
        last = first
        changed: i64 = 0
        total: i64 = 0
        at = start
        while at < end:
            type_code: i64 = data[at + header.TYPE_OFFSET]
            size = header.size_at(data, at)
            timestamp = i64(read_i32_le(data, at)) & _U32
            first = min(first, timestamp)
            last = max(last, timestamp)
            statistics.count_event(
                self._file_count,
                type_code,
                timestamp,
                i64(read_i32_le(data, at + _SERVER_ID_OFFSET)) & _U32,
                i64(read_i16_le(data, at + _FLAGS_OFFSET)),
                size,
            )
            if _IS_ROWS[type_code]:
                rows = self._rows[changed]
                self._count_rows(self._changed[changed], type_code, rows, size)
                total += rows
                changed += 1
            at += size
        span_bytes = end - start
        if statistics.end_transaction(span_bytes, gtid, last):
            span = transaction_bounds.TransactionSpan(
                self._file, position, position + span_bytes, gtid, first, last
            )
            statistics.keep_large(TransactionCount(span, total))

    def _count_rows(self, table: _Table, type_code: i64, rows: i64, size: i64) -> None:
        count = table.count
        if count is None:
            count = table.count = self._statistics.count_of_table(table.table_map)
        count.bytes += size
        kind = PLAIN_KINDS[type_code]
        assert kind is not None
        count.add(kind, rows)


@final
class LogCounts:
    """Adds the events of one file to the statistics."""

    def __init__(self, log: FileLog, statistics: Statistics) -> None:
        """Count what `log` has from its current position on."""
        self._log = log
        self._statistics = statistics
        self._groups = GroupCounts(statistics, log.name)

    def take(self) -> bool:
        """Count the next event, and all that are in memory with it; return False at the end.

        Raises the errors of reading; what came before is counted.
        """
        log = self._log
        statistics = self._statistics
        event = log.next_event()
        if event is None:
            return False
        while event is not None:
            statistics.add(event)
            if statistics.is_between:
                events = log.received()
                if events is not None:
                    end = self._groups.take(events, log.trailer, log.position)
                    if end > events.start:
                        log.pass_over(end)
            event = log.opened_event()
        return True

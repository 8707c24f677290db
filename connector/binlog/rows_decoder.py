"""Rows events become typed, with the table maps of their statement.

Events differ in version, compression and fragments; the result always has the same form.

*Old temporal types.* With mysql56_temporal_format=OFF, a TIME, DATETIME or TIMESTAMP of MariaDB may
have digits after the second. Then its values are longer, and the log does not say by how many
bytes. If they were read without the digits, rows could come out that no client wrote. So all rows
of such an event are checked before the first is read: each value must be valid for its type, each
null bitmap must be filled up with ones as the server does it, and the last row must end where the
event ends.

https://mariadb.com/kb/en/microseconds-in-mariadb/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from connector.binlog import checksum, log_errors
from connector.binlog.columns.column import ABSENT, Value
from connector.binlog.columns.row_images import RowPlan, bitmap_length, column_label
from connector.binlog.events import rows_header
from connector.binlog.events.compression import decompress_rows
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import (
    HEADER_LENGTH,
    PARTIAL_UPDATE_ROWS,
    EventHeader,
    EventType,
    event_name,
)
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    from connector.binlog.event import Event


def old_temporal_error(rows: RowsEvent) -> DecodeError | None:
    """Return why the rows of an event of MariaDB cannot be read; None if they can be.

    It is always None for rows without such columns, and for rows that are refused already.
    """
    try:
        plan = rows.plan
    except DecodeError:
        return None  # the plan says why
    if not plan.old_temporal:
        return None
    images = [
        plan.indexes(present)
        for present in (rows.before_columns_present, rows.after_columns_present)
        if present is not None
    ]
    old = frozenset(plan.old_temporal)
    if not any(index in old for indexes in images for index in indexes):
        return None
    if _fit(plan, rows.images(), images, old):
        return None
    columns = rows.table_map.columns
    names = [column_label(columns[index], index) for index in plan.old_temporal]
    return DecodeError(log_errors.OLD_FRACTION, columns=names)


def _fit(plan: RowPlan, image: PayloadReader, images: list[list[int]], old: frozenset[int]) -> bool:
    """Return whether the bytes up to the end are rows, each with images of these columns."""
    try:
        while image.offset < image.end:
            for indexes in images:
                if not _skip(plan, image, indexes, old):
                    return False
    except DecodeError:
        return False
    return True


def _skip(plan: RowPlan, image: PayloadReader, indexes: list[int], old: frozenset[int]) -> bool:
    """Skip one row image; return False, or raise DecodeError, if the bytes are not one."""
    count: i64 = len(indexes)
    length = bitmap_length(count)
    nulls = image.take(length)
    unused = count & 7
    if unused:
        last: i64 = image.data[nulls + length - 1]
        ones: i64 = 0xFF
        if last >> unused != ones >> unused:
            return False
    image.offset = nulls
    values: list[Value] = [ABSENT] * len(plan.readers)
    plan.read_chosen(image, indexes, plan.readers, old, values)
    return True


# The kind of change, and the version of the event.
_ROWS: dict[int, tuple[rows_header.RowsKind, int]] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: (rows_header.RowsKind.INSERT, 0),
    EventType.PRE_GA_UPDATE_ROWS_EVENT: (rows_header.RowsKind.UPDATE, 0),
    EventType.PRE_GA_DELETE_ROWS_EVENT: (rows_header.RowsKind.DELETE, 0),
    EventType.WRITE_ROWS_EVENT_V1: (rows_header.RowsKind.INSERT, 1),
    EventType.UPDATE_ROWS_EVENT_V1: (rows_header.RowsKind.UPDATE, 1),
    EventType.DELETE_ROWS_EVENT_V1: (rows_header.RowsKind.DELETE, 1),
    EventType.WRITE_ROWS_EVENT: (rows_header.RowsKind.INSERT, 2),
    EventType.UPDATE_ROWS_EVENT: (rows_header.RowsKind.UPDATE, 2),
    EventType.DELETE_ROWS_EVENT: (rows_header.RowsKind.DELETE, 2),
    EventType.PARTIAL_UPDATE_ROWS_EVENT: (rows_header.RowsKind.UPDATE, 2),
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: (rows_header.RowsKind.INSERT, 1),
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: (rows_header.RowsKind.UPDATE, 1),
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: (rows_header.RowsKind.DELETE, 1),
    EventType.WRITE_ROWS_COMPRESSED_EVENT: (rows_header.RowsKind.INSERT, 2),
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: (rows_header.RowsKind.UPDATE, 2),
    EventType.DELETE_ROWS_COMPRESSED_EVENT: (rows_header.RowsKind.DELETE, 2),
}
# The same by type code, because native code finds it faster; without rows the version is unused.
_KINDS: Final = [_ROWS[code][0] if code in _ROWS else None for code in range(256)]
_VERSIONS: Final = bytes([_ROWS[code][1] if code in _ROWS else 0 for code in range(256)])
_COMPRESSED_ROWS_START: Final = 166
_COMPRESSED_ROWS_END: Final = 171


def _bitmaps(type_code: int) -> int:
    if not _VERSIONS[type_code] or _COMPRESSED_ROWS_START <= type_code <= _COMPRESSED_ROWS_END:
        return 0
    return 2 if _KINDS[type_code] is rows_header.UPDATE else 1


# The kinds of rows that lie in the event as they are, by type code.
PLAIN_KINDS: Final = [
    _KINDS[code] if _bitmaps(code) and code != PARTIAL_UPDATE_ROWS else None for code in range(256)
]
# Bitmaps after the count of columns, by type code; 0 for what is not plain rows.
BITMAPS: Final = bytes([_bitmaps(code) for code in range(256)])


def _plain_length(log: FormatDescriptionEvent, type_code: int) -> int:
    if not _VERSIONS[type_code]:
        return 0
    usual = (
        rows_header.ROWS_V1_HEADER_LENGTH
        if _VERSIONS[type_code] == 1
        else rows_header.ROWS_V2_HEADER_LENGTH
    )
    return usual if log.post_header_length(type_code) in (None, usual) else 0


def is_rows(type_code: int) -> bool:
    """Return whether events of a type change rows."""
    return type_code in _ROWS


@final
class RowsDecoder:
    """Decodes the rows events of one log, in their order."""

    def __init__(self, log: FormatDescriptionEvent, *, mariadb: bool) -> None:
        """Expect rows events in the format `log`."""
        self._log = log
        self._mariadb = mariadb
        # Of the current statement: the first table map, mostly the only one, and the others.
        self._table_map: TableMapEvent | None = None
        self._more_table_maps: dict[int, TableMapEvent] = {}
        # Lengths of heads by type code, where they are as all but old logs have them; else 0.
        self._plain_lengths = bytes([_plain_length(log, code) for code in range(256)])

    def keep(self, table_map: TableMapEvent) -> None:
        """Keep the table map for the rows events of the same statement."""
        first = self._table_map
        if first is None or first.table_id == table_map.table_id:
            self._table_map = table_map
        else:
            self._more_table_maps[table_map.table_id] = table_map

    def open(self, event: Event, type_code: i64, body: PayloadReader) -> None:
        """Read the head of a rows event, and find its table map before later events replace it.

        Raises DecodeError for a head that cannot be read.
        """
        head = self._read_head(type_code, body)
        event.read_from(body.offset)
        event.rows_head = head
        event.table_map = self._table_map_of(head)

    def decode(
        self,
        event: Event,
        type_code: i64,
        head: rows_header.RowsHeader,
        table_map: TableMapEvent | None,
        body: PayloadReader,
    ) -> RowsEvent:
        """Decode the bytes after the head of a rows event. Raises DecodeError."""
        origin = (event.file, event.position, event.name)
        kind = _KINDS[type_code]
        assert kind is not None
        if table_map is None:
            # A dummy has the bitmaps of one column. More bytes are rows without a table map.
            bitmaps: i64 = 2 if kind is rows_header.UPDATE else 1
            if body.remaining > 1 + bitmaps:
                raise DecodeError(log_errors.NO_TABLE_MAP, table_id=head.table_id)
            body.skip(body.remaining)
            return RowsEvent.dummy(head, kind, origin)
        if _COMPRESSED_ROWS_START <= type_code <= _COMPRESSED_ROWS_END:
            body = decompress_rows(body, update=kind is rows_header.UPDATE)
        rows = RowsEvent.decode(
            body,
            head,
            kind,
            table_map,
            origin,
            partial=type_code == PARTIAL_UPDATE_ROWS,
            pre_ga=_VERSIONS[type_code] == 0,
        )
        if self._mariadb:
            error = old_temporal_error(rows)
            if error is not None:
                rows.refused = error
        return rows

    def decode_whole(self, event: Event, data: bytes) -> RowsEvent:
        """Decode a rows event that was joined from fragments, of which `event` is the last.

        Each fragment has its own checksum. The length of the whole shows whether it has one, too.
        """
        body = PayloadReader(data)
        header = EventHeader.decode(body)
        if not is_rows(header.type_code) or header.event_size != len(data):
            raise DecodeError(
                log_errors.FRAGMENTS_NO_EVENT,
                found=len(data),
                event=event_name(header.type_code),
                size=header.event_size,
            )
        if self._log.checksum_algorithm is checksum.ChecksumAlgorithm.CRC32 and (
            checksum.computed_checksum(data) == checksum.stored_checksum(data)
        ):
            body.end -= checksum.CHECKSUM_LENGTH
        body.skip(self._log.header_length - HEADER_LENGTH)
        head = self._read_head(header.type_code, body)
        table_map = self._table_map_of(head)
        return self.decode(event, header.type_code, head, table_map, body)

    def _read_head(self, type_code: i64, body: PayloadReader) -> rows_header.RowsHeader:
        plain: i64 = self._plain_lengths[type_code]
        if plain and body.remaining >= plain:
            head = rows_header.plain_rows_header(body, plain)
            if head is not None:
                return head
        kind = _KINDS[type_code]
        assert kind is not None
        version: i64 = _VERSIONS[type_code]
        length = self._log.post_header_length(type_code)
        return rows_header.RowsHeader.decode(body, length, kind=kind, version=version)

    def _table_map_of(self, head: rows_header.RowsHeader) -> TableMapEvent | None:
        """Return the table map of a rows event; None for an event that only ends a statement."""
        table_map = self._table_map
        if table_map is None or table_map.table_id != head.table_id:
            table_map = self._more_table_maps.get(head.table_id)
            if table_map is None and head.table_id != rows_header.DUMMY_TABLE_ID:
                raise DecodeError(log_errors.NO_TABLE_MAP, table_id=head.table_id)
        if head.flags & rows_header.STMT_END_F:
            self._table_map = None
            if self._more_table_maps:
                self._more_table_maps.clear()
        return table_map

"""Rows events become typed, with the table maps of their statement.

Events differ in version, compression and fragments; the result always has the same form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.events.compressed import decompress_rows
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_head import (
    DUMMY_TABLE_ID,
    ROWS_V1_HEADER_LENGTH,
    ROWS_V2_HEADER_LENGTH,
    STMT_END_F,
    UPDATE,
    RowsHead,
    RowsKind,
    plain_head,
)
from connector.binlog.framing.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_checksum,
    stored_checksum,
)
from connector.binlog.framing.event_types import PARTIAL_UPDATE_ROWS, EventType, event_name
from connector.binlog.framing.header import HEADER_LENGTH, EventHeader
from connector.binlog.old_temporal_rows import misfit
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log_payloads, log_rows

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.binlog.events.table_map import TableMapEvent

# The kind of change, and the version of the event.
_ROWS: dict[int, tuple[RowsKind, int]] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: (RowsKind.INSERT, 0),
    EventType.PRE_GA_UPDATE_ROWS_EVENT: (RowsKind.UPDATE, 0),
    EventType.PRE_GA_DELETE_ROWS_EVENT: (RowsKind.DELETE, 0),
    EventType.WRITE_ROWS_EVENT_V1: (RowsKind.INSERT, 1),
    EventType.UPDATE_ROWS_EVENT_V1: (RowsKind.UPDATE, 1),
    EventType.DELETE_ROWS_EVENT_V1: (RowsKind.DELETE, 1),
    EventType.WRITE_ROWS_EVENT: (RowsKind.INSERT, 2),
    EventType.UPDATE_ROWS_EVENT: (RowsKind.UPDATE, 2),
    EventType.DELETE_ROWS_EVENT: (RowsKind.DELETE, 2),
    EventType.PARTIAL_UPDATE_ROWS_EVENT: (RowsKind.UPDATE, 2),
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: (RowsKind.INSERT, 1),
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: (RowsKind.UPDATE, 1),
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: (RowsKind.DELETE, 1),
    EventType.WRITE_ROWS_COMPRESSED_EVENT: (RowsKind.INSERT, 2),
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: (RowsKind.UPDATE, 2),
    EventType.DELETE_ROWS_COMPRESSED_EVENT: (RowsKind.DELETE, 2),
}
# The same by type code, because native code finds it faster; without rows the version is unused.
_KINDS: Final = [_ROWS[code][0] if code in _ROWS else None for code in range(256)]
_VERSIONS: Final = bytes([_ROWS[code][1] if code in _ROWS else 0 for code in range(256)])
_COMPRESSED_ROWS_START: Final = 166
_COMPRESSED_ROWS_END: Final = 171


def _plain_length(log: FormatDescriptionEvent, type_code: int) -> int:
    if type_code not in _ROWS or not _VERSIONS[type_code]:
        return 0
    usual = ROWS_V1_HEADER_LENGTH if _VERSIONS[type_code] == 1 else ROWS_V2_HEADER_LENGTH
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
        head: RowsHead,
        table_map: TableMapEvent | None,
        body: PayloadReader,
    ) -> RowsEvent:
        """Decode the bytes after the head of a rows event. Raises DecodeError."""
        origin = (event.file, event.position, event.name)
        kind = _KINDS[type_code]
        assert kind is not None
        if table_map is None:
            body.skip(body.remaining)
            return RowsEvent.dummy(head, kind, origin)
        if _COMPRESSED_ROWS_START <= type_code <= _COMPRESSED_ROWS_END:
            body = decompress_rows(body, update=kind is UPDATE)
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
            error = misfit(rows)
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
                log_payloads.FRAGMENTS_NO_EVENT,
                found=len(data),
                event=event_name(header.type_code),
                size=header.event_size,
            )
        if self._log.checksum_algorithm is ChecksumAlgorithm.CRC32 and (
            computed_checksum(data) == stored_checksum(data)
        ):
            body.end -= CHECKSUM_LENGTH
        body.skip(self._log.header_length - HEADER_LENGTH)
        head = self._read_head(header.type_code, body)
        table_map = self._table_map_of(head)
        return self.decode(event, header.type_code, head, table_map, body)

    def _read_head(self, type_code: i64, body: PayloadReader) -> RowsHead:
        plain: i64 = self._plain_lengths[type_code]
        if plain and body.remaining >= plain:
            head = plain_head(body, plain)
            if head is not None:
                return head
        kind = _KINDS[type_code]
        assert kind is not None
        version: i64 = _VERSIONS[type_code]
        length = self._log.post_header_length(type_code)
        return RowsHead.decode(body, length, kind=kind, version=version)

    def _table_map_of(self, head: RowsHead) -> TableMapEvent | None:
        """Return the table map of a rows event; None for an event that only ends a statement."""
        table_map = self._table_map
        if table_map is None or table_map.table_id != head.table_id:
            table_map = self._more_table_maps.get(head.table_id)
            if table_map is None and head.table_id != DUMMY_TABLE_ID:
                raise DecodeError(log_rows.NO_TABLE_MAP, table_id=head.table_id)
        if head.flags & STMT_END_F:
            self._table_map = None
            if self._more_table_maps:
                self._more_table_maps.clear()
        return table_map

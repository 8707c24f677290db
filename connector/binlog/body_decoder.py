"""Typed bodies of events, decoded with the state that earlier events of the same log left.

The state is the format, the table maps of the current statement, and the fragments of a rows event
that is split into several. It starts again with a new format, and inside a transaction's payload,
which has separate table maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.event import EventBodies
from connector.binlog.event_bodies import BODIES
from connector.binlog.events.compressed import decompress_rows
from connector.binlog.events.control import IgnorableEvent
from connector.binlog.events.heartbeat import is_heartbeat
from connector.binlog.events.partial_row_data import PartialRowDataEvent, RowsEventAssembler
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_head import DUMMY_TABLE_ID, STMT_END_F, UPDATE, RowsHead, RowsKind
from connector.binlog.events.statement import QUERY_HEADER_LENGTH
from connector.binlog.events.transaction import GtidEvent
from connector.binlog.events.transaction_payload import TransactionPayloadEvent
from connector.binlog.framing.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_checksum,
    stored_checksum,
)
from connector.binlog.framing.event_types import (
    GTID_LOG,
    HEARTBEAT_LOG,
    HEARTBEAT_LOG_V2,
    PARTIAL_ROW_DATA,
    PARTIAL_UPDATE_ROWS,
    QUERY,
    ROTATE,
    START_ENCRYPTION,
    TABLE_MAP,
    TRANSACTION_PAYLOAD,
    EventType,
    event_name,
)
from connector.binlog.framing.header import HEADER_LENGTH, EventHeader
from connector.binlog.old_temporal_rows import misfit
from connector.binlog.payload_decoder import PayloadDecoder
from connector.binlog.table_maps import TableMaps
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log, log_events, log_payloads, log_rows

if TYPE_CHECKING:
    from collections import Counter

    from mypy_extensions import i64

    from connector.binlog.event import Event, EventBody
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.binlog.events.table_map import TableMapEvent

# Shown in the message about an event of an unknown type: its header and the start of its body.
_SHOWN_BYTES = 32

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


# State that an event leaves for later ones, by type code; most leave none.
_NOTHING: Final = 0
_ROWS_FOLLOW: Final = 1
_ROWS_HEAD: Final = 2
_STATE: Final = 3  # of the decoder; and events of unknown types, which are not passed over unseen


def _what_is_left(type_code: int) -> int:
    if type_code == TABLE_MAP:
        return _ROWS_FOLLOW
    if type_code in _ROWS:
        return _ROWS_HEAD
    speaks_of_the_log = type_code in (
        ROTATE,
        HEARTBEAT_LOG,
        HEARTBEAT_LOG_V2,
        START_ENCRYPTION,
        PARTIAL_ROW_DATA,
    )
    return _STATE if speaks_of_the_log or BODIES[type_code] is None else _NOTHING


_LEFT: Final = bytes([_what_is_left(type_code) for type_code in range(256)])


@final
class BodyDecoder(EventBodies):
    """Decodes the bodies of events in the order of a log."""

    def __init__(
        self,
        log: FormatDescriptionEvent,
        *,
        mariadb: bool,
        ignored_events: Counter[int],
        known: TableMaps | None = None,
    ) -> None:
        """Expect bodies in the format `log`, and count unknown events that are ignored."""
        self.has_plain_queries = log.post_header_length(QUERY) == QUERY_HEADER_LENGTH
        self._log = log
        self._mariadb = mariadb
        self._ignored_events = ignored_events
        self._known = TableMaps(log, mariadb=mariadb) if known is None else known
        # Of the current statement: the first table map, mostly the only one, and the others.
        self._table_map: TableMapEvent | None = None
        self._more_table_maps: dict[int, TableMapEvent] = {}
        self._fragments = RowsEventAssembler()

    def receive(self, event: Event, body: PayloadReader) -> None:
        """Take the next event of the log, and decode what later events need of it.

        Raises DecodeError for a body that cannot be read.
        """
        header = event.header
        type_code = header.type_code
        if (
            self._fragments.pending
            and type_code != PARTIAL_ROW_DATA
            and not header.artificial
            and not is_heartbeat(type_code)
        ):
            self._fragments.require_nothing_open()
        left: i64 = _LEFT[type_code]
        if left == _ROWS_FOLLOW:
            table_map = self._known.decode(body)
            _require_end(body)
            self._keep(table_map)
            event.decoded(table_map)
        elif left == _ROWS_HEAD:
            self._open_rows(event, type_code, body)
        elif left == _STATE:
            event.decoded(self.decode(event, body))

    def _keep(self, table_map: TableMapEvent) -> None:
        """Keep the table map for the rows events of the same statement."""
        first = self._table_map
        if first is None or first.table_id == table_map.table_id:
            self._table_map = table_map
        else:
            self._more_table_maps[table_map.table_id] = table_map

    def decode(self, event: Event, body: PayloadReader) -> EventBody:
        """Decode the bytes between an event's header and its checksum.

        Raises DecodeError for a body that cannot be read to its end.
        """
        decoded = self._decode(event, body)
        _require_end(body)
        return decoded

    def _decode(self, event: Event, body: PayloadReader) -> EventBody:
        header = event.header
        type_code = header.type_code
        head = event.rows_head
        if head is not None:
            return self._decode_rows(event, type_code, head, event.table_map, body)
        if type_code == GTID_LOG:
            # One in each transaction, so it is called directly and not through the table.
            return GtidEvent.decode(body)
        decode = BODIES[type_code]
        if decode is not None:
            return decode(body, header, self._log)
        if type_code == PARTIAL_ROW_DATA:
            return self._decode_fragment(event, body)
        if type_code == TRANSACTION_PAYLOAD:
            return self._decode_payload(event, body)
        if header.ignorable:
            self._ignored_events[type_code] += 1
            return IgnorableEvent.decode(body)
        raise DecodeError(log_events.TYPE_UNKNOWN, first=body.data[:_SHOWN_BYTES].hex(" "))

    def _open_rows(self, event: Event, type_code: i64, body: PayloadReader) -> None:
        """Read the head of a rows event, and find its table map before later events replace it."""
        head = self._read_head(type_code, body)
        event.rows_head = head
        event.table_map = self._table_map_of(head)

    def _read_head(self, type_code: i64, body: PayloadReader) -> RowsHead:
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

    def _decode_rows(
        self,
        event: Event,
        type_code: i64,
        head: RowsHead,
        table_map: TableMapEvent | None,
        body: PayloadReader,
    ) -> RowsEvent:
        """Decode the bytes after the head of a rows event."""
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

    def _decode_fragment(self, event: Event, body: PayloadReader) -> PartialRowDataEvent:
        fragment = PartialRowDataEvent.decode(body)
        whole = self._fragments.receive(fragment)
        if whole is not None:
            fragment.rows_event = self._decode_whole(event, whole)
        return fragment

    def _decode_whole(self, event: Event, data: bytes) -> RowsEvent:
        """Decode a rows event that was joined from fragments, of which `event` is the last.

        Each fragment has its own checksum. The length of the whole shows whether it has one, too.
        """
        body = PayloadReader(data)
        header = EventHeader.decode(body)
        if header.type_code not in _ROWS or header.event_size != len(data):
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
        return self._decode_rows(event, header.type_code, head, table_map, body)

    def _decode_payload(self, event: Event, body: PayloadReader) -> TransactionPayloadEvent:
        file, position = event.file, event.position
        next_position = position + event.header.event_size

        def new_decoder() -> PayloadDecoder:
            bodies = BodyDecoder(
                self._log,
                mariadb=self._mariadb,
                ignored_events=self._ignored_events,
                known=self._known,
            )
            return PayloadDecoder(bodies, self._log.header_length, file, position, next_position)

        return TransactionPayloadEvent.decode(body, file, position, new_decoder)


def _require_end(body: PayloadReader) -> None:
    if body.remaining:
        raise DecodeError(log.LEFT_OVER, count=body.remaining, field="the last field")

"""Bodies of events become typed, with what earlier events of the same log have left for them.

That is the format, the table maps of the current statement, and the fragments of a rows event that
has been cut into several. A new format starts over, and so does the inside of a transaction's
payload, which has table maps of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_checksum,
    stored_checksum,
)
from connector.binlog.compressed_events import decompress_rows
from connector.binlog.control_events import IgnorableEvent
from connector.binlog.event_bodies import BODIES
from connector.binlog.event_types import EventType, event_name
from connector.binlog.header import EventHeader
from connector.binlog.heartbeat_event import HEARTBEATS
from connector.binlog.partial_row_data import PartialRowDataEvent, RowsEventAssembler
from connector.binlog.payload_decoder import PayloadDecoder
from connector.binlog.rows_event import DUMMY_TABLE_ID, RowsEvent, RowsHead, RowsKind
from connector.binlog.table_map_event import TableMapEvent
from connector.binlog.transaction_payload import TransactionPayloadEvent
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections import Counter

    from connector.binlog.event import EventBody
    from connector.binlog.format_description_event import FormatDescriptionEvent

# Of an event of an unknown type, in the message: its header and the start of its body.
_SHOWN_BYTES = 32

# Table maps that are kept decoded; the one decoded first gives way.
TABLE_MAPS_MAX = 1024

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
_COMPRESSED_ROWS = range(
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1, EventType.DELETE_ROWS_COMPRESSED_EVENT + 1
)


class BodyDecoder:
    """Decodes the bodies of events in the order of a log."""

    def __init__(
        self, log: FormatDescriptionEvent, *, mariadb: bool, ignored_events: Counter[int]
    ) -> None:
        """Expect bodies in the format `log`, and count unknown events that are let pass."""
        self._log = log
        self._mariadb = mariadb
        self._ignored_events = ignored_events
        self._table_maps: dict[int, TableMapEvent] = {}
        self._decoded_table_maps: dict[bytes, TableMapEvent] = {}
        self._fragments = RowsEventAssembler()

    def decode(
        self, header: EventHeader, body: PayloadReader, origin: tuple[str, int, str]
    ) -> EventBody:
        """Decode what is between an event's header and its checksum.

        `origin` is file, position and name for error messages. Raises DecodeError for a body that
        cannot be read to its end.
        """
        decoded = self._decode(header, body, origin)
        if body.remaining:
            reason = f"{body.remaining} bytes are left over behind its last field"
            raise DecodeError(reason)
        return decoded

    def _decode(
        self, header: EventHeader, body: PayloadReader, origin: tuple[str, int, str]
    ) -> EventBody:
        type_code = header.type_code
        if type_code == EventType.PARTIAL_ROW_DATA_EVENT:
            return self._decode_fragment(body, origin)
        if not header.artificial and type_code not in HEARTBEATS:
            self._fragments.require_nothing_open()
        if type_code == EventType.TABLE_MAP_EVENT:
            return self._decode_table_map(body)
        if type_code in _ROWS:
            return self._decode_rows(type_code, body, origin)
        if type_code == EventType.TRANSACTION_PAYLOAD_EVENT:
            return self._decode_payload(header, body, origin)
        decode = BODIES.get(type_code)
        if decode is not None:
            return decode(body, header, self._log)
        if header.ignorable:
            self._ignored_events[type_code] += 1
            return IgnorableEvent.decode(body)
        reason = (
            "this type is not known and not flagged as ignorable: upgrade the connector; "
            f"first bytes {body.data[:_SHOWN_BYTES].hex(' ')}"
        )
        raise DecodeError(reason)

    def _decode_table_map(self, body: PayloadReader) -> TableMapEvent:
        raw = body.data[body.offset : body.end]
        event = self._decoded_table_maps.get(raw)
        if event is None:
            event = TableMapEvent.decode(
                body,
                self._log.post_header_length(EventType.TABLE_MAP_EVENT),
                mariadb=self._mariadb,
                pre_ga=self._log.post_header_length(EventType.WRITE_ROWS_EVENT_V1) is None,
            )
            if len(self._decoded_table_maps) >= TABLE_MAPS_MAX:
                del self._decoded_table_maps[next(iter(self._decoded_table_maps))]
            self._decoded_table_maps[raw] = event
        else:
            body.skip(body.remaining)
        self._table_maps[event.table_id] = event
        return event

    def _decode_rows(
        self, type_code: int, body: PayloadReader, origin: tuple[str, int, str]
    ) -> RowsEvent:
        kind, version = _ROWS[type_code]
        head = RowsHead.decode(
            body, self._log.post_header_length(type_code), kind=kind, version=version
        )
        if type_code in _COMPRESSED_ROWS:
            body = decompress_rows(body, update=kind is RowsKind.UPDATE)
        table_map = self._table_maps.get(head.table_id)
        if table_map is None:
            if head.table_id != DUMMY_TABLE_ID:
                reason = f"no TABLE_MAP_EVENT of this statement describes table id {head.table_id}"
                raise DecodeError(reason)
            event = RowsEvent.dummy(head, kind, origin)
            body.skip(body.remaining)
        else:
            partial = type_code == EventType.PARTIAL_UPDATE_ROWS_EVENT
            event = RowsEvent.decode(
                body, head, kind, table_map, origin, partial=partial, pre_ga=version == 0
            )
        if event.stmt_end:
            self._table_maps.clear()
        return event

    def _decode_fragment(
        self, body: PayloadReader, origin: tuple[str, int, str]
    ) -> PartialRowDataEvent:
        event = PartialRowDataEvent.decode(body)
        whole = self._fragments.receive(event)
        if whole is not None:
            event.rows_event = self._decode_whole(whole, origin)
        return event

    def _decode_whole(self, data: bytes, origin: tuple[str, int, str]) -> RowsEvent:
        """Decode a rows event that was put together from fragments."""
        header = EventHeader.decode(PayloadReader(data))
        if header.type_code not in _ROWS or header.event_size != len(data):
            reason = (
                f"the fragments make {len(data)} bytes that start a "
                f"{event_name(header.type_code)} of {header.event_size}, not one whole rows event"
            )
            raise DecodeError(reason)
        end = len(data)
        if self._log.checksum_algorithm is ChecksumAlgorithm.CRC32 and (
            computed_checksum(data) == stored_checksum(data)
        ):
            # The fragments have checksums of their own; whether the whole has one shows by itself.
            end -= CHECKSUM_LENGTH
        body = PayloadReader(data, self._log.header_length, end)
        return self._decode_rows(header.type_code, body, origin)

    def _decode_payload(
        self, header: EventHeader, body: PayloadReader, origin: tuple[str, int, str]
    ) -> TransactionPayloadEvent:
        file, position, _ = origin
        next_position = position + header.event_size

        def new_decoder() -> PayloadDecoder:
            bodies = BodyDecoder(
                self._log, mariadb=self._mariadb, ignored_events=self._ignored_events
            )
            return PayloadDecoder(bodies, self._log.header_length, file, position, next_position)

        return TransactionPayloadEvent.decode(body, file, position, new_decoder)

"""Typed bodies of events, decoded with the state that earlier events of the same log left.

The state is the format, the table maps of the current statement, and the fragments of a rows event
that is split into several. It starts again with a new format, and inside a transaction's payload,
which has separate table maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.event import EventBodies, TransactionPayloadEvent
from connector.binlog.events.control import IgnorableEvent
from connector.binlog.events.heartbeat import is_heartbeat
from connector.binlog.events.partial_row_data import PartialRowDataEvent, RowsEventAssembler
from connector.binlog.events.plain_body import BODIES
from connector.binlog.events.statement import QUERY_HEADER_LENGTH
from connector.binlog.events.transaction import GtidEvent
from connector.binlog.events.transaction_payload import TransactionPayload
from connector.binlog.framing.event_types import (
    GTID_LOG,
    HEARTBEAT_LOG,
    HEARTBEAT_LOG_V2,
    PARTIAL_ROW_DATA,
    QUERY,
    ROTATE,
    START_ENCRYPTION,
    TABLE_MAP,
    TRANSACTION_PAYLOAD,
)
from connector.binlog.payload_decoder import PayloadDecoder
from connector.binlog.readable_bodies import ReadableBodies
from connector.binlog.rows_decoder import RowsDecoder, is_rows
from connector.binlog.table_maps import TableMaps
from connector.errors import DecodeError, log, log_events

if TYPE_CHECKING:
    from collections import Counter

    from mypy_extensions import i64

    from connector.binlog.event import Event, EventBody
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.codec.payload import PayloadReader

# Shown in the message about an event of an unknown type: its header and the start of its body.
_SHOWN_BYTES = 32

# What an event leaves for later ones: by its type code, nothing for most.
_NOTHING: Final = 0
_ROWS_FOLLOW: Final = 1
_ROWS_HEAD: Final = 2
_STATE: Final = 3  # of the decoder; and events of unknown types, which are not passed over unseen


def _what_is_left(type_code: int) -> int:
    if type_code == TABLE_MAP:
        return _ROWS_FOLLOW
    if is_rows(type_code):
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
        self._rows = RowsDecoder(log, mariadb=mariadb)
        self._fragments = RowsEventAssembler()
        self._readable = ReadableBodies(with_plain_queries=self.has_plain_queries)

    def receive(self, event: Event) -> None:
        """Take the next event of the log, and decode what later events need of it.

        Raises DecodeError for a body that cannot be read.
        """
        type_code = event.type_code
        if (
            self._fragments.pending
            and type_code != PARTIAL_ROW_DATA
            and not event.header.artificial
            and not is_heartbeat(type_code)
        ):
            self._fragments.require_nothing_open()
        left: i64 = _LEFT[type_code]
        if left == _NOTHING:
            return
        body = event.undecoded
        assert body is not None
        if left == _ROWS_FOLLOW:
            table_map = self._known.decode(body)
            _require_end(body)
            self._rows.keep(table_map)
            event.decoded(table_map)
        elif left == _ROWS_HEAD:
            self._rows.open(event, type_code, body)
        else:
            event.decoded(self.decode(event, body))

    def can_read(self, event: Event, start: i64, end: i64) -> bool:
        """Return whether `decode` is certain to succeed for the body in `data[start:end]`."""
        return self._readable.has(event, start, end)

    def decode(self, event: Event, body: PayloadReader) -> EventBody:
        """Decode the bytes between an event's header and its checksum.

        Raises DecodeError for a body that cannot be read to its end.
        """
        start = body.offset
        decoded = self._decode(event, body)
        _require_end(body)
        if event.type_code == QUERY:
            self._readable.note(body.data, start, body.end)
        return decoded

    def _decode(self, event: Event, body: PayloadReader) -> EventBody:
        type_code = event.type_code
        head = event.rows_head
        if head is not None:
            return self._rows.decode(event, type_code, head, event.table_map, body)
        if type_code == GTID_LOG:
            # One in each transaction, so it is called directly and not through the table.
            return GtidEvent.decode(body)
        decode = BODIES[type_code]
        header = event.header
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

    def _decode_fragment(self, event: Event, body: PayloadReader) -> PartialRowDataEvent:
        fragment = PartialRowDataEvent.decode(body)
        whole = self._fragments.receive(fragment)
        if whole is not None:
            fragment.rows_event = self._rows.decode_whole(event, whole)
        return fragment

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

        return TransactionPayloadEvent(TransactionPayload.decode(body), file, position, new_decoder)


def _require_end(body: PayloadReader) -> None:
    if body.remaining:
        raise DecodeError(log.LEFT_OVER, count=body.remaining, field="the last field")

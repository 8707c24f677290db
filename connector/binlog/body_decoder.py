"""Typed bodies of events, decoded with the state that earlier events of the same log left.

The state is the format, the table maps of the current statement, and the fragments of a rows event
that is split into several. It starts again with a new format, and inside a transaction's payload,
which has separate table maps.

*Payloads.* The events inside a TRANSACTION_PAYLOAD_EVENT get its position. Their headers have no
positions, and they have no checksums.

*Precheck.* Most bodies are decoded at their first use, and yet a log is refused at the event that
cannot be read. So the frequent types are proven readable without decoding them: by their lengths,
by the parts that a GTID event announces, or by equal bytes that were decoded before. All other
bodies are decoded at once.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html
"""

from collections import Counter
from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64

from connector.binlog import log_errors
from connector.binlog.event import Event, EventBodies, EventBody, TransactionPayloadEvent
from connector.binlog.events.body_types import BODIES
from connector.binlog.events.compression import TransactionPayload
from connector.binlog.events.control import IgnorableEvent, is_heartbeat
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.mariadb import PartialRowDataEvent, RowsEventAssembler
from connector.binlog.events.query import QUERY_HEADER_LENGTH
from connector.binlog.events.table_map import TableMapCache
from connector.binlog.events.transaction import XID_LENGTH, GtidEvent, is_readable_gtid
from connector.binlog.header import (
    GTID_LOG,
    HEADER_LENGTH,
    HEARTBEAT_LOG,
    HEARTBEAT_LOG_V2,
    PARTIAL_ROW_DATA,
    QUERY,
    ROTATE,
    START_ENCRYPTION,
    TABLE_MAP,
    TRANSACTION_PAYLOAD,
    XID,
    EventHeader,
    EventType,
)
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.rows_decoder import BITMAPS, RowsDecoder, is_rows
from connector.foundation.errors import DecodeError

# These events are about the file, or hold events themselves.
_NEVER_INSIDE = (
    EventType.FORMAT_DESCRIPTION_EVENT,
    EventType.ROTATE_EVENT,
    EventType.TRANSACTION_PAYLOAD_EVENT,
)


class PayloadDecoder:
    """Decodes the events inside one TRANSACTION_PAYLOAD_EVENT; they have its position."""

    def __init__(
        self,
        bodies: EventBodies,
        header_length: int,
        file: str,
        position: int,
        next_position: int,
    ) -> None:
        """Expect the first event of the payload that is at `position` of `file`."""
        self._bodies = bodies
        self._header_length = header_length
        self._file = file
        self._position = position
        self._next_position = next_position

    def open(self, data: bytes, number: int) -> Event:
        """Open the `number`th event, from 1; raises EventError that names it."""
        reader = PayloadReader(data)
        header = EventHeader.decode(reader)
        event = Event(
            self._file,
            self._position,
            self._next_position,
            header,
            None,
            data,
            bodies=self._bodies,
            start=reader.offset,
            end=reader.end,
            number=number,
        )
        try:
            _require_allowed_inside(header.type_code)
            reader.skip(self._header_length - HEADER_LENGTH)
            event.read_from(reader.offset)
            self._bodies.receive(event)
        except DecodeError as error:
            raise event.error(error) from error
        return event


def _require_allowed_inside(type_code: int) -> None:
    if type_code in _NEVER_INSIDE:
        raise DecodeError(log_errors.NEVER_INSIDE)


# Of a QUERY, the bytes after the session and the time it took, which can have any value.
_SAME_OFFSET: Final = 8
# Longer statements are mostly different, and decoded at once.
_SAME_MAX: Final = 256
# Slots for the statements that were decoded last, by the lowest bits of their length.
_SLOTS: Final = 32
_SLOT_MASK: Final = _SLOTS - 1

# A count of columns from here on has more than one byte.
_COUNT_MAX: Final = 0xFB


@final
class BodyPrecheck:
    """Knows the readable bodies of one format of a log."""

    def __init__(self, *, with_plain_queries: bool) -> None:
        """Know no statement; without plain queries, none is ever certain."""
        self._with_plain_queries = with_plain_queries
        # Of QUERYs, nearly always BEGIN in one of a few kinds of sessions.
        self._decoded = [b""] * _SLOTS

    def has(self, event: Event, start: i64, end: i64) -> bool:
        """Return whether the body of `event` in `data[start:end]` is certain to be readable.

        For rows, it begins after the head, which names the table.
        """
        type_code = event.type_code
        data = event.data
        bitmaps: i64 = BITMAPS[type_code]
        if bitmaps:
            return _are_readable_rows(event, start, end, bitmaps)
        if type_code == QUERY:
            at = start + _SAME_OFFSET
            length = end - at
            known = self._decoded[length & _SLOT_MASK]
            return 0 < length == len(known) and has_bytes_at(data, at, known)
        if type_code == XID:
            return end - start == XID_LENGTH
        return type_code == GTID_LOG and is_readable_gtid(data, start, end)

    def note(self, data: bytes, start: i64, end: i64) -> None:
        """Note the body of a QUERY in `data[start:end]`, which was decoded."""
        length = end - start - _SAME_OFFSET
        if self._with_plain_queries and QUERY_HEADER_LENGTH - _SAME_OFFSET <= length <= _SAME_MAX:
            self._decoded[length & _SLOT_MASK] = data[start + _SAME_OFFSET : end]


def _are_readable_rows(event: Event, start: i64, end: i64, bitmaps: i64) -> bool:
    """Return whether the count of columns is that of the table, and the bitmaps are whole."""
    table_map = event.table_map
    if table_map is None:
        return False
    count: i64 = len(table_map.columns)
    return (
        count < _COUNT_MAX
        and end - start > bitmaps * ((count + 7) >> 3)
        and event.data[start] == count
    )


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
        known: TableMapCache | None = None,
    ) -> None:
        """Expect bodies in the format `log`, and count unknown events that are ignored."""
        self.has_plain_queries = log.post_header_length(QUERY) == QUERY_HEADER_LENGTH
        self._log = log
        self._mariadb = mariadb
        self._ignored_events = ignored_events
        self._known = TableMapCache(log, mariadb=mariadb) if known is None else known
        self._rows = RowsDecoder(log, mariadb=mariadb)
        self._fragments = RowsEventAssembler()
        self._readable = BodyPrecheck(with_plain_queries=self.has_plain_queries)

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
        raise DecodeError(log_errors.TYPE_UNKNOWN, first=body.data[:_SHOWN_BYTES].hex(" "))

    def _decode_fragment(self, event: Event, body: PayloadReader) -> PartialRowDataEvent:
        fragment = PartialRowDataEvent.decode(body)
        whole = self._fragments.receive(fragment)
        if whole is not None:
            fragment.rows_event = self._rows.decode_whole(event, whole)
        return fragment

    def _decode_payload(self, event: Event, body: PayloadReader) -> TransactionPayloadEvent:
        file, position = event.file, event.position
        next_position = position + event.header.event_size

        def new_decoder() -> Callable[[bytes, int], Event]:
            bodies = BodyDecoder(
                self._log,
                mariadb=self._mariadb,
                ignored_events=self._ignored_events,
                known=self._known,
            )
            length = self._log.header_length
            return PayloadDecoder(bodies, length, file, position, next_position).open

        return TransactionPayloadEvent(TransactionPayload.decode(body), file, position, new_decoder)


def _require_end(body: PayloadReader) -> None:
    if body.remaining:
        raise DecodeError(log_errors.LEFT_OVER, count=body.remaining, field="the last field")

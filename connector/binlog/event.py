"""An event: its position in the log, its header and its body, which is decoded at its first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from connector.binlog import log_errors
from connector.binlog.checksum import stored_checksum
from connector.binlog.events.body_types import PlainBody
from connector.binlog.events.compression import TransactionPayload
from connector.binlog.events.query import NO_BEGIN, QueryEvent, thread_id_of
from connector.binlog.events.rows_header import RowsHeader
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import GtidEvent, gtid_and_commit_time
from connector.binlog.gtid import Gtid
from connector.binlog.header import (
    QUERY,
    TYPE_OFFSET,
    UNNAMED_LOG,
    EventHeader,
    EventType,
    event_name,
    server_id_at,
    timestamp_at,
)
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_BEGIN: Final = b"BEGIN"


@dataclass(slots=True)
class TransactionPayloadEvent:
    """The events of a transaction after its GTID event, compressed; `events()` decodes them."""

    payload: TransactionPayload
    file: str
    position: int
    # Begins a pass over the events inside: what opens each of them, by its bytes and number.
    _new_decoder: Callable[[], Callable[[bytes, int], Event]] = field(repr=False, compare=False)
    # What `events` shows of them; None shows all.
    view: Callable[[Iterator[Event]], Iterator[Event]] | None = field(
        default=None, repr=False, compare=False
    )

    def events(self) -> Iterator[Event]:
        """Decompress and decode the events one after the other.

        They have the file and the positions of this event, and no checksum. Raises EventError that
        counts the events from 1 for one that cannot be read.
        """
        return self._viewed(map(_decoded, self._opened()))

    def opened(self) -> Iterator[Event]:
        """Decompress the events like `events`, but decode each body at its first use."""
        return self._viewed(self._opened())

    def _viewed(self, events: Iterator[Event]) -> Iterator[Event]:
        return events if self.view is None else self.view(events)

    def _opened(self) -> Iterator[Event]:
        import zstandard  # noqa: PLC0415  # takes long to import, and few logs need it

        open_event = self._new_decoder()
        number = 0
        try:
            for data in self.payload.split():
                number += 1
                yield open_event(data, number)
        except EventError:
            raise
        except DecodeError as error:
            raise self._unreadable(number, error) from error
        except zstandard.ZstdError as error:
            damage = DecodeError(log_errors.NOT_UNPACKED, why=error)
            raise self._unreadable(number, damage) from error

    def _unreadable(self, number: int, error: DecodeError) -> EventError:
        """Return the EventError for `error`, after `number` of the events inside."""
        why = DecodeError(log_errors.AFTER_INSIDE, number=number, why=error)
        return EventError(self.file, self.position, EventType.TRANSACTION_PAYLOAD_EVENT.name, why)


EventBody = PlainBody | TransactionPayloadEvent


def _decoded(event: Event) -> Event:
    _ = event.body
    return event


class EventBodies:
    """Decodes the bodies of events; `BodyDecoder` implements it."""

    # Whether QUERY events are laid out as `thread_id_of` expects.
    has_plain_queries: bool

    def receive(self, event: Event) -> None:
        """Take the next event of the log, and decode what later events need of it."""
        raise NotImplementedError

    def can_read(self, event: Event, start: i64, end: i64) -> bool:
        """Return whether `decode` is certain to succeed for the body in `data[start:end]`."""
        raise NotImplementedError

    def decode(self, event: Event, body: PayloadReader) -> EventBody:
        """Decode the bytes between an event's header and its checksum."""
        raise NotImplementedError


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Event:
    """One event of a log.

    `table_map` describes the rows that the event changes; it is None for an event of another type,
    and for one without rows that only ends a statement.
    """

    __slots__ = (
        "_bodies",
        "_body",
        "_checksummed",
        "_end",
        "_header",
        "_number",
        "_start",
        "data",
        "file",
        "next_position",
        "position",
        "rows_head",
        "table_map",
    )

    def __init__(
        self,
        file: str,
        position: int,
        next_position: int,
        header: EventHeader | None,
        body: EventBody | None,
        data: bytes,
        *,
        checksummed: bool = False,
        bodies: EventBodies | None = None,
        start: i64 = 0,
        end: i64 = 0,
        number: i64 = 0,
    ) -> None:
        """Set the fields; if `body` is None, `bodies` decodes `data[start:end]` at its first use.

        If `header` is None, it is the first bytes of `data`, and decoded at its first use.
        `number` counts the events inside of a TRANSACTION_PAYLOAD_EVENT, from 1.
        """
        self.file = file  # name of its log; "" before the stream has named it
        self.position = position  # of its first byte in the file, our own 64-bit count
        # Of the first byte after it; equal to `position` when artificial.
        self.next_position = next_position
        self.data = data  # the whole event as in the file, with header and checksum
        self.table_map: TableMapEvent | None = None
        self.rows_head: RowsHeader | None = None
        self._header = header
        self._body = body
        self._bodies = bodies
        self._start: i64 = start
        self._end: i64 = end
        self._number: i64 = number
        self._checksummed = checksummed

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Event)
            and self.file == other.file
            and self.position == other.position
            and self.next_position == other.next_position
            and self.data == other.data
            and self.body == other.body
        )

    def __hash__(self) -> int:
        return hash((self.file, self.position))

    def __repr__(self) -> str:
        return f"<{self.file or UNNAMED_LOG}:{self.position} {self.name}: {self._body!r}>"

    @property
    def header(self) -> EventHeader:
        """What the event says about itself in its first bytes."""
        header = self._header
        if header is None:
            header = self._header = EventHeader.at(self.data, 0)
        return header

    @property
    def type_code(self) -> i64:
        """The type in the header."""
        header = self._header
        if header is None:
            return self.data[TYPE_OFFSET]
        return header.type_code

    @property
    def timestamp(self) -> i64:
        """The time in the header: seconds since the epoch, when the statement began."""
        header = self._header
        if header is None:
            return timestamp_at(self.data, 0)
        return header.timestamp

    @property
    def server_id(self) -> i64:
        """The server in the header: the one that wrote the change first."""
        header = self._header
        if header is None:
            return server_id_at(self.data, 0)
        return header.server_id

    @property
    def body(self) -> EventBody:
        """The content of the event, decoded at the first use.

        Raises EventError if it cannot be read to its end.
        """
        body = self._body
        return self._decode() if body is None else body

    @property
    def checksum(self) -> int | None:
        """The CRC32 that the event carries; None without a checksum."""
        return stored_checksum(self.data) if self._checksummed else None

    @property
    def checksummed(self) -> bool:
        """Whether the event ends in a checksum."""
        return self._checksummed

    @property
    def number(self) -> i64:
        """Number of an event inside of a TRANSACTION_PAYLOAD_EVENT, from 1; else 0."""
        return self._number

    @property
    def name(self) -> str:
        """Name of the event in messages: its type, and its number inside of a compressed one."""
        name = event_name(self.type_code)
        if self._number:
            return f"{name} (event {self._number} of a TRANSACTION_PAYLOAD_EVENT)"
        return name

    @property
    def begin_thread_id(self) -> i64:
        """The session of a BEGIN, NO_BEGIN for any other event; needs no decoded body."""
        if self.type_code != QUERY:
            return NO_BEGIN
        bodies = self._bodies
        if bodies is not None and bodies.has_plain_queries:
            return thread_id_of(self.data, self._start, self._end)
        body = self.body
        if isinstance(body, QueryEvent) and body.query_bytes == _BEGIN:
            return body.thread_id
        return NO_BEGIN

    @property
    def undecoded(self) -> PayloadReader | None:
        """A cursor at the start of the body, after the head of rows; None if it is decoded."""
        if self._bodies is None:
            return None
        return PayloadReader(self.data, self._start, self._end)

    @property
    def is_readable(self) -> bool:
        """Whether the body is decoded already, or is certain to be decoded without an error."""
        bodies = self._bodies
        return bodies is None or bodies.can_read(self, self._start, self._end)

    @property
    def has_plain_queries(self) -> bool:
        """Whether `undecoded`, of a QUERY_EVENT, is laid out as `thread_id_of` expects."""
        bodies = self._bodies
        return bodies is not None and bodies.has_plain_queries

    def opening(self) -> tuple[Gtid, i64]:
        """Return the GTID of a GTID_LOG_EVENT and the time of its first commit.

        The time is in microseconds since the epoch, 0 if it is unknown. The body need not be
        decoded for it. Raises EventError for an event without a GTID.
        """
        if self._bodies is None:
            body = self.body
            assert isinstance(body, GtidEvent)
            return body.gtid, body.original_commit_timestamp or 0
        try:
            return gtid_and_commit_time(PayloadReader(self.data, self._start, self._end))
        except DecodeError as error:
            raise self.error(error) from error

    def read_from(self, start: i64) -> None:
        """Let the body be decoded from `start` of `data` on; what is before it has been read."""
        self._start = start

    def bound(self, start: i64, end: i64) -> None:
        """Let the body be decoded from `data[start:end]`."""
        self._start = start
        self._end = end

    def decoded(self, body: EventBody) -> None:
        """Keep the body, which had to be decoded at once."""
        self._body = body
        self._bodies = None

    def error(self, reason: DecodeError) -> EventError:
        """Return the EventError for this event."""
        return EventError(self.file or UNNAMED_LOG, self.position, self.name, reason)

    def in_file(self, file: str) -> Event:
        """Return the same event with another log name."""
        return self._copy(file, self.body)

    def with_body(self, body: EventBody) -> Event:
        """Return the same event with a body that shows another part of it."""
        return self._copy(self.file, body)

    def _copy(self, file: str, body: EventBody) -> Event:
        event = Event(
            file,
            self.position,
            self.next_position,
            self.header,
            body,
            self.data,
            checksummed=self._checksummed,
            number=self._number,
        )
        event.table_map = self.table_map
        return event

    def _decode(self) -> EventBody:
        bodies = self._bodies
        assert bodies is not None
        try:
            body = bodies.decode(self, PayloadReader(self.data, self._start, self._end))
        except DecodeError as error:
            raise self.error(error) from error
        self.decoded(body)
        return body

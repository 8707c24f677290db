"""The events inside a TRANSACTION_PAYLOAD_EVENT become events with the position of that event.

Their headers have no positions, and they have no checksums.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html
"""

from __future__ import annotations

from connector.binlog.event import Event, EventBodies
from connector.binlog.framing.event_types import EventType
from connector.binlog.framing.header import HEADER_LENGTH, EventHeader
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log_payloads

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
        raise DecodeError(log_payloads.NEVER_INSIDE)

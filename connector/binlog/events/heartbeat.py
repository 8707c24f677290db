"""Heartbeats: a server that has no other events to send says where it reads.

::

    HEARTBEAT           file to the end; the position is the header's log_pos
    HEARTBEAT_V2        (type u8 │ length lenenc │ value) … 0: end, 1: file, 2: position lenenc

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Heartbeat__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.events.control import decode_file_name
from connector.binlog.framing.event_types import HEARTBEAT_LOG, HEARTBEAT_LOG_V2
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log_events

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.framing.header import EventHeader

_END = 0
_FILE = 1
_POSITION = 2


@dataclass(slots=True)
class HeartbeatEvent:
    """The server is alive and has nothing to send, or has skipped up to `position`.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Heartbeat__event.html
    """

    file: str
    position: int  # where the server reads
    exact: bool  # false in the first version of the event: the position is modulo 2**32

    @classmethod
    def decode(cls, body: PayloadReader, header: EventHeader) -> HeartbeatEvent:
        """Decode the body of a HEARTBEAT_LOG_EVENT."""
        return cls(decode_file_name(body.read_rest()), header.log_pos, exact=False)

    @classmethod
    def decode_v2(cls, body: PayloadReader) -> HeartbeatEvent:
        """Decode the body of a HEARTBEAT_LOG_EVENT_V2 (8.0.26)."""
        file: str | None = None
        position: int | None = None
        while body.remaining:
            field = body.read_uint8()
            if field == _END:
                break
            value = body.read_lenenc_bytes()
            if field == _FILE:
                file = decode_file_name(value)
            elif field == _POSITION:
                position = PayloadReader(value).read_lenenc()
        if file is None or position is None:
            raise DecodeError(log_events.HEARTBEAT_INCOMPLETE)
        return cls(file, position, exact=True)


def is_heartbeat(type_code: i64) -> bool:
    """Return whether this type is a heartbeat: it can come between any two events of a dump."""
    return type_code in (HEARTBEAT_LOG, HEARTBEAT_LOG_V2)

"""Events about the log itself: where it continues, where it stops, what is missing.

::

    ROTATE              next_position u64, not in v1 │ next_file to the end
    INCIDENT            incident u16 │ length u8 │ message
    SLAVE               master_pos u64 │ master_port u16 │ master_host │ 0 │ master_log │ 0

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.framing.post_header import read_post_header
from connector.errors import DecodeError, log, log_events

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

# In v1, ROTATE_EVENT has no position of the next event.
_FIRST_POSITION = 4

_INCIDENT_HEADER_LENGTH = 2
_INCIDENTS = {0: "NONE", 1: "LOST_EVENTS"}

# Host, log, and the empty text after the last zero byte.
_SLAVE_NAMES = 3


@dataclass(slots=True)
class RotateEvent:
    """The log continues in another file.

    The server also sends it, with a zero timestamp, as the first event of every dump: it names the
    file from which the next events come.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rotate__event.html
    """

    next_position: int  # byte offset of the first event to read, 4 in a fresh file
    next_file: str

    @classmethod
    def decode(cls, body: PayloadReader, *, has_position: bool = True) -> RotateEvent:
        """Decode the body without its checksum; `has_position` is false in format v1.

        Raises DecodeError for a file name that is empty or not UTF-8.
        """
        next_position = body.read_uint64() if has_position else _FIRST_POSITION
        # The name fills the body and has no terminator.
        return cls(next_position, decode_file_name(body.read_rest()))

    def encode(self) -> bytes:
        """Return the body in the form of format v3 and v4: the position, then the name."""
        return self.next_position.to_bytes(8, "little") + self.next_file.encode()


def decode_file_name(name: bytes) -> str:
    """Return the name of a log file.

    Raises DecodeError if the name is not UTF-8 or is empty.
    """
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        raise DecodeError(log.NOT_UTF8, field="name of the log file") from None
    if not text:
        raise DecodeError(log_events.FILE_NAME_EMPTY)
    return text


@dataclass(slots=True)
class StopEvent:
    """The server was shut down; the event has no body."""

    @classmethod
    def decode(cls, body: PayloadReader) -> StopEvent:
        """Take an empty body; the decoder reports bytes that are left."""
        del body
        return cls()

    def encode(self) -> bytes:
        """Return b"": the event has no body."""
        return b""


@dataclass(slots=True)
class IncidentEvent:
    """An incident that may have made the log and the data differ.

    ::

        [post-header] incident u16 │ length u8 │ message │ [cached checksum u32]

    MySQL writes the event into its cache with a checksum, which covers the event with `log_pos` 0.
    Then it writes all of this into the log, with a second checksum.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Incident__event.html
    """

    incident: int
    message: str  # bytes that are not UTF-8 are written as \\xNN
    cached_checksum: int | None = None

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> IncidentEvent:
        """Decode the number and the message; four bytes after them are the cached checksum."""
        head = read_post_header(body, post_header_length, _INCIDENT_HEADER_LENGTH)
        message = body.read_bytes(body.read_uint8())
        cached_checksum = body.read_uint32() if body.remaining else None
        return cls(head.read_uint16(), message.decode("utf-8", "backslashreplace"), cached_checksum)

    @property
    def name(self) -> str:
        """NONE or LOST_EVENTS, UNKNOWN for a number that has no meaning."""
        return _INCIDENTS.get(self.incident, "UNKNOWN")


@dataclass(slots=True)
class SlaveEvent:
    """Where a replica stood in its source's log; reserved in 3.23, and never written.

    ::

        master_pos u64 │ master_port u16 │ master_host │ 0 │ master_log │ 0
    """

    master_pos: int
    master_port: int
    master_host: str
    master_log: str

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> SlaveEvent:
        """Decode the position, the port and the two names.

        Raises DecodeError for names that are not two zero-terminated texts.
        """
        read_post_header(body, post_header_length, 0)
        master_pos = body.read_uint64()
        master_port = body.read_uint16()
        names = body.read_rest().decode("utf-8", "backslashreplace").split("\0")
        if len(names) != _SLAVE_NAMES or names[2]:
            raise DecodeError(log_events.SLAVE_NAMES)
        return cls(master_pos, master_port, names[0], names[1])


@dataclass(slots=True)
class IgnorableEvent:
    """An event of an unknown type that its sender flagged as not needed."""

    data: bytes

    @classmethod
    def decode(cls, body: PayloadReader) -> IgnorableEvent:
        """Keep the body as bytes."""
        return cls(body.read_rest())

    def encode(self) -> bytes:
        """Return the bytes of the body, unchanged."""
        return self.data

"""Events that speak of the log itself: its format, its files, its pauses.

::

    START_V3            binlog_version u16 │ server_version 50 │ create_timestamp u32
    FORMAT_DESCRIPTION  binlog_version u16 │ server_version 50 │ create_timestamp u32 │
                        header_length u8 │ post_header_lengths 1 * n │ [algorithm u8]
    ROTATE              next_position u64, not in v1 │ next_file to the end
    INCIDENT            incident u16 │ length u8 │ message
    HEARTBEAT           file to the end; the position is the header's log_pos
    HEARTBEAT_V2        (type u8 │ length lenenc │ value) … 0: end, 1: file, 2: position lenenc

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.binlog.checksum import CHECKSUM_LENGTH, ChecksumAlgorithm
from connector.binlog.event_types import EventType
from connector.binlog.header import HEADER_LENGTH
from connector.binlog.post_header import read_post_header
from connector.binlog.server_generation import has_checksum_algorithm, renumbered_types
from connector.binlog.version import BinlogVersion
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from connector.binlog.header import EventHeader

_SERVER_VERSION_LENGTH = 50

# Only MariaDB describes event types from here on.
_MARIADB_TYPES_START = 160

# In v1, ROTATE_EVENT does not say where to go on.
_FIRST_POSITION = 4

_INCIDENT_HEADER_LENGTH = 2
_INCIDENTS = {0: "NONE", 1: "LOST_EVENTS"}

# Host, log, and nothing behind the last end.
_SLAVE_NAMES = 3

_HEARTBEAT_END = 0
_HEARTBEAT_FILE = 1
_HEARTBEAT_POSITION = 2


@dataclass(slots=True)
class StartEventV3:
    """The server started, and writes formats v1 to v3; the first event of some of its files.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Start__event__v3.html
    """

    binlog_version: int
    server_version: str
    create_timestamp: int  # seconds since the epoch

    @classmethod
    def decode(cls, body: PayloadReader) -> StartEventV3:
        """Decode an event body."""
        return cls(body.read_uint16(), _read_server_version(body), body.read_uint32())

    def encode(self) -> bytes:
        """Return the event body."""
        return (
            self.binlog_version.to_bytes(2, "little")
            + self.server_version.encode().ljust(_SERVER_VERSION_LENGTH, b"\0")
            + self.create_timestamp.to_bytes(4, "little")
        )


@dataclass(slots=True)
class FormatDescriptionEvent:
    """How the events behind this one are laid out; the first event of every file.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
    """

    binlog_version: int
    server_version: str
    create_timestamp: int  # seconds since the epoch; 0 when the server did not just start
    header_length: int
    post_header_lengths: bytes  # by event type, starting with type 1
    checksum_algorithm: ChecksumAlgorithm | None  # None before MySQL 5.6.1 and MariaDB 5.3
    # Numbers that mean other types here than in every later server, to today's numbers.
    renumbered_types: dict[int, int] = field(default_factory=dict)

    @classmethod
    def decode(cls, body: PayloadReader) -> FormatDescriptionEvent:
        """Decode an event body together with the checksum behind it, if there is one."""
        binlog_version = body.read_uint16()
        if binlog_version != BinlogVersion.V4:
            reason = f"it says binlog format v{binlog_version}, but only v4 has this event"
            raise DecodeError(reason)
        server_version = _read_server_version(body)
        create_timestamp = body.read_uint32()
        header_length = body.read_uint8()
        if header_length < HEADER_LENGTH:
            reason = f"a header of {header_length} bytes is shorter than {HEADER_LENGTH}"
            raise DecodeError(reason)
        algorithm: ChecksumAlgorithm | None = None
        tail = 0
        if has_checksum_algorithm(server_version):
            tail = 1 + CHECKSUM_LENGTH
        lengths = body.read_bytes(body.remaining - tail)
        if tail:
            algorithm = _algorithm(body.read_uint8())
        event = cls(
            binlog_version,
            server_version,
            create_timestamp,
            header_length,
            lengths,
            algorithm,
            renumbered_types(server_version),
        )
        event.require_known_numbering()
        return event

    def encode(self) -> bytes:
        """Return the event body, without the checksum behind it."""
        algorithm = b"" if self.checksum_algorithm is None else bytes([self.checksum_algorithm])
        return (
            self.binlog_version.to_bytes(2, "little")
            + self.server_version.encode().ljust(_SERVER_VERSION_LENGTH, b"\0")
            + self.create_timestamp.to_bytes(4, "little")
            + bytes([self.header_length])
            + self.post_header_lengths
            + algorithm
        )

    @property
    def mariadb(self) -> bool:
        """Whether a MariaDB server wrote the log."""
        return (
            "mariadb" in self.server_version.lower()
            or len(self.post_header_lengths) >= _MARIADB_TYPES_START
        )

    def post_header_length(self, type_code: int) -> int | None:
        """Return the length of a type's fixed part, None for a type that is not described."""
        number = type_code
        for old, new in self.renumbered_types.items():
            if new == type_code:
                number = old
                break
        if 0 < number <= len(self.post_header_lengths):
            return self.post_header_lengths[number - 1]
        return None

    def require_known_numbering(self) -> None:
        """Raise DecodeError for a log that numbers types as no server is known to do.

        XID_EVENT has no post-header; a type that took its number has.
        """
        if self.post_header_length(EventType.XID_EVENT):
            reason = (
                f"server {self.server_version} numbers event types in a way that is not known, "
                "as pre-releases of 5.1 do"
            )
            raise DecodeError(reason)


def _read_server_version(body: PayloadReader) -> str:
    version = body.read_bytes(_SERVER_VERSION_LENGTH)
    return version.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _algorithm(code: int) -> ChecksumAlgorithm:
    try:
        return ChecksumAlgorithm(code)
    except ValueError:
        reason = f"checksum algorithm {code} is not known: set binlog_checksum=CRC32"
        raise DecodeError(reason) from None


@dataclass(slots=True)
class RotateEvent:
    """The log continues in another file.

    Also sent, with a zero timestamp, as the first event of every dump: the server tells the
    replica which file it is about to read.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rotate__event.html
    """

    next_position: int  # byte offset of the first event to read, 4 in a fresh file
    next_file: str

    @classmethod
    def decode(cls, body: PayloadReader, *, has_position: bool = True) -> RotateEvent:
        """Decode an event body whose checksum has been removed."""
        next_position = body.read_uint64() if has_position else _FIRST_POSITION
        # The name fills the body and has no terminator.
        return cls(next_position, decode_file_name(body.read_rest()))

    def encode(self) -> bytes:
        """Return the event body as every format but v1 has it."""
        return self.next_position.to_bytes(8, "little") + self.next_file.encode()


def decode_file_name(name: bytes) -> str:
    """Return the name of a log file.

    Raises DecodeError when it is not UTF-8 or is empty.
    """
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        reason = "the name of the log file is not UTF-8"
        raise DecodeError(reason) from None
    if not text:
        reason = "the name of the log file is empty"
        raise DecodeError(reason)
    return text


@dataclass(slots=True)
class StopEvent:
    """The server was shut down; the event has no body."""

    @classmethod
    def decode(cls, body: PayloadReader) -> StopEvent:
        """Decode an event body."""
        del body
        return cls()

    def encode(self) -> bytes:
        """Return the event body."""
        return b""


@dataclass(slots=True)
class IncidentEvent:
    """Something happened that may have made the log and the data differ.

    ::

        [post-header] incident u16 │ length u8 │ message │ [cached checksum u32]

    MySQL writes the event into its cache with a checksum of its own, of the event as it was there
    (`log_pos` 0), and then the whole into the log with another.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Incident__event.html
    """

    incident: int
    message: str  # bytes that are not UTF-8 are written as \\xNN
    cached_checksum: int | None = None

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> IncidentEvent:
        """Decode an event body."""
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
        """Decode an event body."""
        read_post_header(body, post_header_length, 0)
        master_pos = body.read_uint64()
        master_port = body.read_uint16()
        names = body.read_rest().decode("utf-8", "backslashreplace").split("\0")
        if len(names) != _SLAVE_NAMES or names[2]:
            reason = "the names of the source and its log are not two, each with an end"
            raise DecodeError(reason)
        return cls(master_pos, master_port, names[0], names[1])


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
            if field == _HEARTBEAT_END:
                break
            value = body.read_lenenc_bytes()
            if field == _HEARTBEAT_FILE:
                file = decode_file_name(value)
            elif field == _HEARTBEAT_POSITION:
                position = PayloadReader(value).read_lenenc()
        if file is None or position is None:
            reason = "the heartbeat lacks its file or its position"
            raise DecodeError(reason)
        return cls(file, position, exact=True)


@dataclass(slots=True)
class IgnorableEvent:
    """An event of an unknown type that its sender flagged as not needed."""

    data: bytes

    @classmethod
    def decode(cls, body: PayloadReader) -> IgnorableEvent:
        """Keep an event body as it is."""
        return cls(body.read_rest())

    def encode(self) -> bytes:
        """Return the event body."""
        return self.data

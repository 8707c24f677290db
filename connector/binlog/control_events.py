"""Events that speak of the log itself: its format, its files, its pauses.

::

    FORMAT_DESCRIPTION  binlog_version u16 │ server_version 50 │ create_timestamp u32 │
                        header_length u8 │ post_header_lengths 1 * n │ [algorithm u8]
    ROTATE              next_position u64 │ next_file to the end
    HEARTBEAT           file to the end; the position is the header's log_pos
    HEARTBEAT_V2        (type u8 │ length lenenc │ value) … 0: end, 1: file, 2: position lenenc

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.checksum import CHECKSUM_LENGTH, ChecksumAlgorithm
from connector.binlog.event_types import EventType
from connector.binlog.header import HEADER_LENGTH
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from connector.binlog.header import EventHeader

BINLOG_VERSION = 4

_SERVER_VERSION_LENGTH = 50
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

# The first versions that write the checksum algorithm into FORMAT_DESCRIPTION_EVENT.
_MYSQL_CHECKSUM_VERSION = (5, 6, 1)
_MARIADB_CHECKSUM_VERSION = (5, 3, 0)

# Only MariaDB describes event types from here on.
_MARIADB_TYPES_START = 160

_HEARTBEAT_END = 0
_HEARTBEAT_FILE = 1
_HEARTBEAT_POSITION = 2


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

    @classmethod
    def decode(cls, body: PayloadReader) -> FormatDescriptionEvent:
        """Decode an event body together with the checksum behind it, if there is one."""
        binlog_version = body.read_uint16()
        if binlog_version != BINLOG_VERSION:
            reason = f"binlog format v{binlog_version} is not supported: only v4 (MySQL 5.0) is"
            raise DecodeError(reason)
        version_bytes = body.read_bytes(_SERVER_VERSION_LENGTH)
        server_version = version_bytes.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
        create_timestamp = body.read_uint32()
        header_length = body.read_uint8()
        if header_length < HEADER_LENGTH:
            reason = f"a header of {header_length} bytes is shorter than {HEADER_LENGTH}"
            raise DecodeError(reason)
        algorithm: ChecksumAlgorithm | None = None
        tail = 0
        if _has_checksum_algorithm(server_version):
            tail = 1 + CHECKSUM_LENGTH
        lengths = body.read_bytes(body.remaining - tail)
        if tail:
            algorithm = _algorithm(body.read_uint8())
        event = cls(
            binlog_version, server_version, create_timestamp, header_length, lengths, algorithm
        )
        event.require_known_numbering()
        return event

    @property
    def mariadb(self) -> bool:
        """Whether a MariaDB server wrote the log."""
        return (
            "mariadb" in self.server_version.lower()
            or len(self.post_header_lengths) >= _MARIADB_TYPES_START
        )

    def post_header_length(self, type_code: int) -> int | None:
        """Return the length of a type's fixed part, None for a type that is not described."""
        if 0 < type_code <= len(self.post_header_lengths):
            return self.post_header_lengths[type_code - 1]
        return None

    def require_known_numbering(self) -> None:
        """Raise DecodeError for the pre-releases of 5.1 and 5.2 that number types otherwise.

        There 16 is TABLE_MAP_EVENT, which has a post-header; XID_EVENT has none.
        """
        if self.post_header_length(EventType.XID_EVENT):
            reason = (
                f"server {self.server_version} is a pre-release that numbers event types "
                "differently, which is not supported"
            )
            raise DecodeError(reason)


def _has_checksum_algorithm(server_version: str) -> bool:
    match = _VERSION.match(server_version)
    if match is None:
        return False
    version = (int(match[1]), int(match[2]), int(match[3]))
    if "mariadb" in server_version.lower():
        return version >= _MARIADB_CHECKSUM_VERSION
    return version >= _MYSQL_CHECKSUM_VERSION


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
    def decode(cls, body: PayloadReader) -> RotateEvent:
        """Decode an event body whose checksum has been removed."""
        next_position = body.read_uint64()
        # The name fills the body and has no terminator.
        return cls(next_position, decode_file_name(body.read_rest()))


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
        body.skip(body.remaining)
        return cls()


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

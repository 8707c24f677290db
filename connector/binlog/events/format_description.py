"""Events that start a log become its format: how the events behind them are laid out.

::

    START_V3            binlog_version u16 │ server_version 50 │ create_timestamp u32
    FORMAT_DESCRIPTION  binlog_version u16 │ server_version 50 │ create_timestamp u32 │
                        header_length u8 │ post_header_lengths 1 * n │ [algorithm u8]

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.binlog.framing.checksum import CHECKSUM_LENGTH, ChecksumAlgorithm
from connector.binlog.framing.event_types import EventType
from connector.binlog.framing.header import HEADER_LENGTH
from connector.binlog.framing.server_generation import has_checksum_algorithm, renumbered_types
from connector.binlog.framing.version import BinlogVersion
from connector.errors import DecodeError, log_events

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

_SERVER_VERSION_LENGTH = 50

# Only MariaDB describes event types from here on.
_MARIADB_TYPES_START = 160


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
            raise DecodeError(log_events.FORMAT_VERSION, version=binlog_version)
        server_version = _read_server_version(body)
        create_timestamp = body.read_uint32()
        header_length = body.read_uint8()
        if header_length < HEADER_LENGTH:
            raise DecodeError(
                log_events.HEADER_TOO_SHORT, length=header_length, least=HEADER_LENGTH
            )
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
        if self.renumbered_types:
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
            raise DecodeError(log_events.TYPES_RENUMBERED, version=self.server_version)


def _read_server_version(body: PayloadReader) -> str:
    version = body.read_bytes(_SERVER_VERSION_LENGTH)
    return version.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _algorithm(code: int) -> ChecksumAlgorithm:
    try:
        return ChecksumAlgorithm(code)
    except ValueError:
        raise DecodeError(log_events.CHECKSUM_ALGORITHM, value=code) from None

"""Events that start a log become its format: how the events after them are laid out.

::

    START_V3            binlog_version u16 │ server_version 50 │ create_timestamp u32
    FORMAT_DESCRIPTION  binlog_version u16 │ server_version 50 │ create_timestamp u32 │
                        header_length u8 │ post_header_lengths 1 * n │ [algorithm u8]

Two facts follow from the version of the server alone:

::

    5.6.1 and newer, MariaDB 5.3.0 and newer    FORMAT_DESCRIPTION ends with the checksum algorithm
    5.1 and 5.2 with `-a_drop5`, `-a_drop6`     six numbers of event types mean other types

The development releases in the second line had table maps and rows where later servers have XID and
LOAD DATA, in format v4 as well. Logs of formats before v4 do not describe themselves, and are not
extensible: their description is made here from the layouts of 3.23 and 4.0.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
"""

import re
from dataclasses import dataclass, field

from connector.binlog import log_errors
from connector.binlog.checksum import CHECKSUM_LENGTH, ChecksumAlgorithm
from connector.binlog.header import HEADER_LENGTH, V1_HEADER_LENGTH, BinlogVersion, EventType
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

_MYSQL_CHECKSUM_VERSION = (5, 6, 1)
_MARIADB_CHECKSUM_VERSION = (5, 3, 0)

# The suffixes that mysql-server itself looks for.
_PRE_GA_VERSION = re.compile(r"5\.(1\.[1-5]-a_drop5|1\.4-a_drop6|2\.[0-2]-a_drop6)")
_PRE_GA_TYPES: dict[int, int] = {
    16: EventType.TABLE_MAP_EVENT.value,
    17: EventType.PRE_GA_WRITE_ROWS_EVENT.value,
    18: EventType.PRE_GA_UPDATE_ROWS_EVENT.value,
    19: EventType.PRE_GA_DELETE_ROWS_EVENT.value,
    20: EventType.XID_EVENT.value,
    21: EventType.BEGIN_LOAD_QUERY_EVENT.value,
    22: EventType.EXECUTE_LOAD_QUERY_EVENT.value,
}


def has_checksum_algorithm(server_version: str) -> bool:
    """Return whether the server's format description ends with a checksum algorithm."""
    match = _VERSION.match(server_version)
    if match is None:
        return False
    version = (int(match[1]), int(match[2]), int(match[3]))
    if "mariadb" in server_version.lower():
        return version >= _MARIADB_CHECKSUM_VERSION
    return version >= _MYSQL_CHECKSUM_VERSION


def renumbered_types(server_version: str) -> dict[int, int]:
    """Return the map from a server's numbers of event types to those that all others use."""
    return _PRE_GA_TYPES if _PRE_GA_VERSION.match(server_version) else {}


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
    def decode(cls, body: PayloadReader) -> "StartEventV3":
        """Decode 56 bytes: format, server version, start time."""
        return cls(body.read_uint16(), _read_server_version(body), body.read_uint32())


@dataclass(slots=True)
class FormatDescriptionEvent:
    """How the events after this one are laid out; the first event of every file."""

    binlog_version: int
    server_version: str
    create_timestamp: int  # seconds since the epoch; 0 when the server did not just start
    header_length: int
    post_header_lengths: bytes  # by event type, starting with type 1
    checksum_algorithm: ChecksumAlgorithm | None  # None before MySQL 5.6.1 and MariaDB 5.3
    # Numbers that mean other types here than in every later server, to today's numbers.
    renumbered_types: dict[int, int] = field(default_factory=dict)

    @classmethod
    def decode(cls, body: PayloadReader) -> "FormatDescriptionEvent":
        """Decode the body together with the checksum that may follow it.

        Raises DecodeError for a format other than v4, a header below 19 bytes, and an unknown
        checksum algorithm.
        """
        binlog_version = body.read_uint16()
        if binlog_version != BinlogVersion.V4:
            raise DecodeError(log_errors.FORMAT_VERSION, version=binlog_version)
        server_version = _read_server_version(body)
        create_timestamp = body.read_uint32()
        header_length = body.read_uint8()
        if header_length < HEADER_LENGTH:
            raise DecodeError(
                log_errors.HEADER_TOO_SHORT, length=header_length, least=HEADER_LENGTH
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
            raise DecodeError(log_errors.TYPES_RENUMBERED, version=self.server_version)


def _read_server_version(body: PayloadReader) -> str:
    version = body.read_bytes(_SERVER_VERSION_LENGTH)
    return version.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _algorithm(code: int) -> ChecksumAlgorithm:
    try:
        return ChecksumAlgorithm(code)
    except ValueError:
        raise DecodeError(log_errors.CHECKSUM_ALGORITHM, value=code) from None


# Fixed parts by event type, from START_EVENT_V3 to USER_VAR_EVENT; v1 has none in ROTATE_EVENT.
_V3_LENGTHS = bytes((56, 11, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0))
_V1_LENGTHS = bytes((56, 11, 0, 0, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0))


def format_before_description(version: BinlogVersion) -> FormatDescriptionEvent:
    """Return the description that is true for a log before it has described itself."""
    if version is BinlogVersion.V4:
        return FormatDescriptionEvent(version, "", 0, HEADER_LENGTH, b"", None)
    if version is BinlogVersion.V1:
        return FormatDescriptionEvent(version, "3.23", 0, V1_HEADER_LENGTH, _V1_LENGTHS, None)
    return FormatDescriptionEvent(version, "4.0", 0, HEADER_LENGTH, _V3_LENGTHS, None)

"""The header of an event: its type, its size, and its position in the log.

::

    offset  0           4         5          9           13       17     19
            ┌───────────┬─────────┬──────────┬───────────┬────────┬──────┬─ ─
            │timestamp  │type_code│server_id │event_size │log_pos │flags │ post-header │ body
            │u32        │u8       │u32       │u32        │u32     │u16   │
            └───────────┴─────────┴──────────┴───────────┴────────┴──────┴─ ─
            ◀─────────────────── v1 ────────────────────▶

*Version.* Type and size have the same offset in every format, so they can be read before the
format is known. The first event shows it:

::

    FORMAT_DESCRIPTION_EVENT                v4    5.0 and newer, MariaDB
    START_EVENT_V3, shorter than 75 bytes   v1    3.23
    START_EVENT_V3, else                    v3    4.0.2 to 4.1; v2 when it says so itself
    any other                               v3    4.0 and 4.1 wrote a start event at startup only

*Post-header.* FORMAT_DESCRIPTION gives its length for each type. An older server's may be shorter
than the known fields, a newer one's longer; the variable part starts where the log says.

*Position.* `log_pos` is the end of the event modulo 2**32, or 0: events that the server made up for
the replica have no position, and MariaDB (11.4) does not know the position of an event inside a
transaction when it writes the event. So positions are counted in 64 bits, and corrected by headers.
A server that skips transactions of the replica continues at a later position: the first one from
the running position on that fits the 32 bits. The first and the last event of every transaction
have their end in their header, so their positions depend on the file's bytes alone. Between them,
the count is too low if the server leaves out ANNOTATE_ROWS events that the replica did not request.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Log__event__header.html
https://mariadb.com/kb/en/2-binlog-event-header/
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64, mypyc_attr

from connector.binlog import log_errors
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import UnsupportedChange

# The most frequent events of a log, and those that say where the log is: plain numbers, because
# the type of every event is compared with them.
QUERY: Final = 2
ROTATE: Final = 4
FORMAT_DESCRIPTION: Final = 15
XID: Final = 16
TABLE_MAP: Final = 19
HEARTBEAT_LOG: Final = 27
ROWS_QUERY_LOG: Final = 29
GTID_LOG: Final = 33
ANONYMOUS_GTID_LOG: Final = 34
PREVIOUS_GTIDS: Final = 35
PARTIAL_UPDATE_ROWS: Final = 39
TRANSACTION_PAYLOAD: Final = 40
HEARTBEAT_LOG_V2: Final = 41
ANNOTATE_ROWS: Final = 160
MARIADB_GTID: Final = 162
GTID_LIST: Final = 163
START_ENCRYPTION: Final = 164
PARTIAL_ROW_DATA: Final = 172


class EventType(IntEnum):
    """Every event type of MySQL (0 to 42) and of MariaDB (160 to 172)."""

    UNKNOWN_EVENT = 0
    START_EVENT_V3 = 1
    QUERY_EVENT = QUERY
    STOP_EVENT = 3
    ROTATE_EVENT = ROTATE
    INTVAR_EVENT = 5
    LOAD_EVENT = 6
    SLAVE_EVENT = 7
    CREATE_FILE_EVENT = 8
    APPEND_BLOCK_EVENT = 9
    EXEC_LOAD_EVENT = 10
    DELETE_FILE_EVENT = 11
    NEW_LOAD_EVENT = 12
    RAND_EVENT = 13
    USER_VAR_EVENT = 14
    FORMAT_DESCRIPTION_EVENT = FORMAT_DESCRIPTION
    XID_EVENT = XID
    BEGIN_LOAD_QUERY_EVENT = 17
    EXECUTE_LOAD_QUERY_EVENT = 18
    TABLE_MAP_EVENT = TABLE_MAP
    PRE_GA_WRITE_ROWS_EVENT = 20
    PRE_GA_UPDATE_ROWS_EVENT = 21
    PRE_GA_DELETE_ROWS_EVENT = 22
    WRITE_ROWS_EVENT_V1 = 23
    UPDATE_ROWS_EVENT_V1 = 24
    DELETE_ROWS_EVENT_V1 = 25
    INCIDENT_EVENT = 26
    HEARTBEAT_LOG_EVENT = HEARTBEAT_LOG
    IGNORABLE_LOG_EVENT = 28
    ROWS_QUERY_LOG_EVENT = ROWS_QUERY_LOG
    WRITE_ROWS_EVENT = 30
    UPDATE_ROWS_EVENT = 31
    DELETE_ROWS_EVENT = 32
    GTID_LOG_EVENT = GTID_LOG
    ANONYMOUS_GTID_LOG_EVENT = ANONYMOUS_GTID_LOG
    PREVIOUS_GTIDS_LOG_EVENT = PREVIOUS_GTIDS
    TRANSACTION_CONTEXT_EVENT = 36
    VIEW_CHANGE_EVENT = 37
    XA_PREPARE_LOG_EVENT = 38
    PARTIAL_UPDATE_ROWS_EVENT = PARTIAL_UPDATE_ROWS
    TRANSACTION_PAYLOAD_EVENT = TRANSACTION_PAYLOAD
    HEARTBEAT_LOG_EVENT_V2 = HEARTBEAT_LOG_V2
    GTID_TAGGED_LOG_EVENT = 42

    ANNOTATE_ROWS_EVENT = ANNOTATE_ROWS
    BINLOG_CHECKPOINT_EVENT = 161
    GTID_EVENT = MARIADB_GTID
    GTID_LIST_EVENT = GTID_LIST
    START_ENCRYPTION_EVENT = START_ENCRYPTION
    QUERY_COMPRESSED_EVENT = 165
    WRITE_ROWS_COMPRESSED_EVENT_V1 = 166
    UPDATE_ROWS_COMPRESSED_EVENT_V1 = 167
    DELETE_ROWS_COMPRESSED_EVENT_V1 = 168
    WRITE_ROWS_COMPRESSED_EVENT = 169
    UPDATE_ROWS_COMPRESSED_EVENT = 170
    DELETE_ROWS_COMPRESSED_EVENT = 171
    PARTIAL_ROW_DATA_EVENT = PARTIAL_ROW_DATA


def event_name(type_code: int) -> str:
    """Return the constant's name, or `event type n` for a number without one."""
    if 0 <= type_code < _CODES:
        return _NAMES[type_code]
    return f"event type {type_code}"


# A type code has one byte.
_CODES: Final = 256
_CONSTANTS: dict[int, str] = {event_type.value: event_type.name for event_type in EventType}
_NAMES: Final = [_CONSTANTS.get(code, f"event type {code}") for code in range(_CODES)]


# In the header of every format.
TYPE_OFFSET: Final = 4
SIZE_OFFSET: Final = 9
SIZE_END: Final = 13

_V3_START_EVENT_LENGTH = 75
_V3_BINLOG_VERSION_OFFSET = 19


class BinlogVersion(IntEnum):
    """The binlog formats.

    Servers 4.0.0 and 4.0.1 wrote V2. It is read as V3, because the layout is the same. Only the
    `log_pos` in its headers is useless (1 in the start event, then 0); both are counted.
    """

    V1 = 1
    V2 = 2
    V3 = 3
    V4 = 4


def detect_version(first_event: bytes) -> BinlogVersion:
    """Return the format of the log that starts with this event, after the four magic bytes.

    Thirteen bytes of the event are enough, or 21 to tell V2 from V3. Raises TruncatedPayload if
    there are fewer.
    """
    reader = PayloadReader(first_event, TYPE_OFFSET)
    type_code = reader.read_uint8()
    reader.skip(SIZE_OFFSET - reader.offset)
    size = reader.read_uint32()
    if type_code == EventType.FORMAT_DESCRIPTION_EVENT:
        return BinlogVersion.V4
    if type_code != EventType.START_EVENT_V3:
        return BinlogVersion.V3
    if size < _V3_START_EVENT_LENGTH:
        return BinlogVersion.V1
    reader.skip(_V3_BINLOG_VERSION_OFFSET - reader.offset)
    return BinlogVersion.V2 if reader.read_uint16() == BinlogVersion.V2 else BinlogVersion.V3


# The header of format v4 always has this length in FORMAT_DESCRIPTION and ROTATE; the others
# have the length that FORMAT_DESCRIPTION states.
HEADER_LENGTH: Final = 19
# The header of format v1, without log_pos and flags.
V1_HEADER_LENGTH: Final = 13

_U16: Final = 0xFFFF
_U32: Final = 0xFFFF_FFFF
_V1: Final = BinlogVersion.V1

# In FORMAT_DESCRIPTION_EVENT: the file was not closed, or is still being written.
LOG_EVENT_BINLOG_IN_USE_F: Final = 0x0001
# The server made the event up for this replica; no file holds it.
LOG_EVENT_ARTIFICIAL_F: Final = 0x0020
# A reader that does not know the event may continue without it.
LOG_EVENT_IGNORABLE_F: Final = 0x0080


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(slots=True, init=False)
class EventHeader:
    """What every event says about itself."""

    timestamp: int  # seconds since the epoch, when the statement began
    type_code: int
    server_id: int  # of the server that wrote the change first
    event_size: int  # bytes with this header and the checksum
    # End of the event modulo 2**32, its start in v3; 0 in v1, and if the server has not set it.
    log_pos: int
    flags: int  # 0 in v1

    def __init__(
        self,
        timestamp: int,
        type_code: int,
        server_id: int,
        event_size: int,
        log_pos: int,
        flags: int,
    ) -> None:
        """Set the fields in their order; written out, because it runs for every event."""
        self.timestamp = timestamp
        self.type_code = type_code
        self.server_id = server_id
        self.event_size = event_size
        self.log_pos = log_pos
        self.flags = flags

    @staticmethod
    def decode(reader: PayloadReader, version: BinlogVersion = BinlogVersion.V4) -> "EventHeader":
        """Decode the first bytes of an event: 19, or 13 in v1."""
        data = reader.data
        if version is not _V1:
            return EventHeader.at(data, reader.take(HEADER_LENGTH))
        start = reader.take(V1_HEADER_LENGTH)
        type_code: i64 = data[start + 4]
        return EventHeader(
            timestamp_at(data, start),
            type_code,
            server_id_at(data, start),
            size_at(data, start),
            0,
            0,
        )

    @staticmethod
    def at(data: bytes, start: i64) -> "EventHeader":
        """Decode the header of 19 bytes at `start` of `data`, which must have them."""
        type_code: i64 = data[start + 4]
        return EventHeader(
            timestamp_at(data, start),
            type_code,
            server_id_at(data, start),
            i64(read_i32_le(data, start + 9)) & _U32,
            i64(read_i32_le(data, start + 13)) & _U32,
            i64(read_i16_le(data, start + 17)) & _U16,
        )

    @property
    def artificial(self) -> bool:
        """Whether the server made the event up: it occupies no bytes of the log."""
        return self.flags & LOG_EVENT_ARTIFICIAL_F != 0

    @property
    def ignorable(self) -> bool:
        """Whether a reader that does not know the event may continue without it."""
        return self.flags & LOG_EVENT_IGNORABLE_F != 0


def timestamp_at(data: bytes, start: i64) -> i64:
    """Return the field of the header at `start` of `data`, seconds since the epoch."""
    return i64(read_i32_le(data, start)) & _U32


def server_id_at(data: bytes, start: i64) -> i64:
    """Return the field of the header at `start` of `data`."""
    return i64(read_i32_le(data, start + 5)) & _U32


def size_at(data: bytes, start: i64) -> i64:
    """Return the field of the header at `start` of `data`."""
    return i64(read_i32_le(data, start + SIZE_OFFSET)) & _U32


def log_pos_at(data: bytes, start: i64) -> i64:
    """Return the field of the header at `start` of `data`, which is not of format v1."""
    return i64(read_i32_le(data, start + 13)) & _U32


def flags_at(data: bytes, start: i64) -> i64:
    """Return the field of the header at `start` of `data`, which is not of format v1."""
    return i64(read_i16_le(data, start + 17)) & _U16


def read_post_header(body: PayloadReader, length: int | None, known: i64) -> PayloadReader:
    """Read `length` bytes and return a cursor over the first `known` of them.

    None means that the log does not describe the type: its length is `known`.
    """
    described: i64 = known if length is None else length
    start = body.take(described)
    return PayloadReader(body.data, start, start + min(described, known))


# Of the first event, after the four bytes that start a file.
FIRST_POSITION: Final = 4

# Name of the log in messages before the server has named it.
UNNAMED_LOG = "stream"

# No log is that large; from here on, positions would soon exceed 63 bits.
POSITION_MAX: Final = (1 << 62) - 1

_WRAP: Final = 1 << 32
_LOW_BITS: Final = _WRAP - 1

_FILE_NUMBER = re.compile(r"\.(\d+)$")


@final
class PositionCounter:
    """Counts where the next event starts."""

    __slots__ = ("file", "position")

    def __init__(self, file: str, position: int) -> None:
        """Expect the next event at `position` of `file`."""
        self.file = file
        self.position = position

    def start_of(self, header: EventHeader, *, occupies: bool) -> int:
        """Return where the event with this header starts.

        `occupies` is false for an event that is not in the file; it starts where the next one does.
        """
        if header.log_pos == 0 or not occupies:
            return self.position
        low_bits = header.log_pos - header.event_size & _LOW_BITS
        position = self.position
        # Nearly always: directly after the event before it.
        return position if position & _LOW_BITS == low_bits else self._lift(low_bits)

    def advance_to(self, low_bits: int) -> None:
        """Expect the next event at the position that has these low 32 bits."""
        self.position = self._lift(low_bits)

    def _lift(self, low_bits: int) -> int:
        """Return the position with these low 32 bits that continues from the running one."""
        forward = (low_bits - self.position) % _WRAP
        back = _WRAP - forward
        if back < forward and back <= self.position - FIRST_POSITION:
            # Less than half the range back: the header is right, for example in a relay log.
            return self.position - back
        return self.position + forward


def file_number(file: str) -> int:
    """Return the number at the end of a log file's name: 42 for `binlog.000042`.

    Raises UnsupportedChange if the name has none.
    """
    match = _FILE_NUMBER.search(file)
    if match is None:
        raise UnsupportedChange(log_errors.FILE_NUMBER, file=file)
    return int(match[1])


# The server's largest max_allowed_packet, 1 GiB, and generous room for the event's headers.
EVENT_BYTES_MAX: Final = 2**30 + 2**16


class EventSource:
    """Gives the events of a log one by one, in their order."""

    __slots__ = ()

    def next_event(self) -> bytes | None:
        """Return the next event in the form of a file, None if there is none now."""
        raise NotImplementedError

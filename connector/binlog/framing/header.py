"""The first 19 bytes of an event become its header, the first 13 in format v1.

::

    offset  0           4         5          9           13       17     19
            ┌───────────┬─────────┬──────────┬───────────┬────────┬──────┬─ ─
            │timestamp  │type_code│server_id │event_size │log_pos │flags │ body
            │u32        │u8       │u32       │u32        │u32     │u16   │
            └───────────┴─────────┴──────────┴───────────┴────────┴──────┴─ ─
            ◀─────────────────── v1 ────────────────────▶

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Log__event__header.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64, mypyc_attr

from connector.binlog.framing.version import BinlogVersion

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

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
    def decode(reader: PayloadReader, version: BinlogVersion = BinlogVersion.V4) -> EventHeader:
        """Decode the first bytes of an event: 19, or 13 in v1."""
        data = reader.data
        if version is not _V1:
            return EventHeader.at(data, reader.take(HEADER_LENGTH))
        start = reader.take(V1_HEADER_LENGTH)
        type_code: i64 = data[start + 4]
        return EventHeader(
            i64(read_i32_le(data, start)) & _U32,
            type_code,
            i64(read_i32_le(data, start + 5)) & _U32,
            i64(read_i32_le(data, start + 9)) & _U32,
            0,
            0,
        )

    @staticmethod
    def at(data: bytes, start: i64) -> EventHeader:
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

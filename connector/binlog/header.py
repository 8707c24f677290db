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
from struct import Struct
from typing import TYPE_CHECKING

from connector.binlog.version import BinlogVersion

if TYPE_CHECKING:
    from connector.payload import PayloadReader

# The header of format v4 has this length in FORMAT_DESCRIPTION and ROTATE for ever; the others
# have the length that FORMAT_DESCRIPTION states.
HEADER_LENGTH = 19
# The header of format v1, which has neither log_pos nor flags.
V1_HEADER_LENGTH = 13

_LAYOUT = Struct("<IBIIIH")
_V1_LAYOUT = Struct("<IBII")

# In FORMAT_DESCRIPTION_EVENT: the file was not closed, or is still being written.
LOG_EVENT_BINLOG_IN_USE_F = 0x0001
# The server made the event up for this replica; it is not in the file.
LOG_EVENT_ARTIFICIAL_F = 0x0020
# A reader that does not know the event may go on without it.
LOG_EVENT_IGNORABLE_F = 0x0080


@dataclass(slots=True)
class EventHeader:
    """What every event says about itself."""

    timestamp: int  # seconds since the epoch, when the statement began
    type_code: int
    server_id: int  # of the server that wrote the change first
    event_size: int  # bytes with this header and the checksum
    # End of the event modulo 2**32, its start in v3; 0 in v1 and where the server has not set it.
    log_pos: int
    flags: int  # 0 in v1

    @classmethod
    def decode(
        cls, reader: PayloadReader, version: BinlogVersion = BinlogVersion.V4
    ) -> EventHeader:
        """Decode the first bytes of an event: 19, or 13 in v1."""
        if version is BinlogVersion.V1:
            timestamp, type_code, server_id, event_size = _V1_LAYOUT.unpack(
                reader.read_bytes(V1_HEADER_LENGTH)
            )
            return cls(timestamp, type_code, server_id, event_size, log_pos=0, flags=0)
        return cls(*_LAYOUT.unpack(reader.read_bytes(HEADER_LENGTH)))

    @property
    def artificial(self) -> bool:
        """Whether the server made the event up: it occupies no bytes of the log."""
        return self.flags & LOG_EVENT_ARTIFICIAL_F != 0

    @property
    def ignorable(self) -> bool:
        """Whether a reader that does not know the event may go on without it."""
        return self.flags & LOG_EVENT_IGNORABLE_F != 0

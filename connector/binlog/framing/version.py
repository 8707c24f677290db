"""The first event of a log shows which of the four binlog formats the log has.

::

    first event                             format   servers
    FORMAT_DESCRIPTION_EVENT                v4       5.0 and newer, MariaDB
    START_EVENT_V3, shorter than 75 bytes   v1       3.23
    START_EVENT_V3, else                    v3       4.0.2 to 4.1; v2 when it says so itself
    any other                               v3       4.0 and 4.1 wrote a start event at startup only

Type and size of an event have the same offset in every format, so they can be read before the
format is known. 75 bytes are the header of v3 (19), the format's number (2), the server's version
(50) and a time (4).

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from connector.binlog.framing.event_types import EventType
from connector.codec.payload import PayloadReader

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

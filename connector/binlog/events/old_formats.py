"""The binlog format becomes a description of it, for logs that do not describe themselves.

Formats before v4 are not extensible: the layouts of 3.23 and 4.0 are final.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
"""

from __future__ import annotations

from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.framing.header import HEADER_LENGTH, V1_HEADER_LENGTH
from connector.binlog.framing.version import BinlogVersion

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

"""The type of an event becomes its meaning for transactions, a number for each of 256 types."""

from __future__ import annotations

from typing import Final

from connector.binlog.framing.event_types import EventType

OTHER: Final = 0  # the body decides
ROWS: Final = 1
XID: Final = 2
GTID: Final = 3
QUERY: Final = 4
ABOUT_ROWS: Final = 5  # the rows or statements that follow

_TYPES: Final[dict[int, tuple[EventType, ...]]] = {
    ROWS: (
        EventType.PRE_GA_WRITE_ROWS_EVENT,
        EventType.PRE_GA_UPDATE_ROWS_EVENT,
        EventType.PRE_GA_DELETE_ROWS_EVENT,
        EventType.WRITE_ROWS_EVENT_V1,
        EventType.UPDATE_ROWS_EVENT_V1,
        EventType.DELETE_ROWS_EVENT_V1,
        EventType.WRITE_ROWS_EVENT,
        EventType.UPDATE_ROWS_EVENT,
        EventType.DELETE_ROWS_EVENT,
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
        EventType.WRITE_ROWS_COMPRESSED_EVENT_V1,
        EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1,
        EventType.DELETE_ROWS_COMPRESSED_EVENT_V1,
        EventType.WRITE_ROWS_COMPRESSED_EVENT,
        EventType.UPDATE_ROWS_COMPRESSED_EVENT,
        EventType.DELETE_ROWS_COMPRESSED_EVENT,
    ),
    XID: (EventType.XID_EVENT,),
    GTID: (
        EventType.GTID_LOG_EVENT,
        EventType.ANONYMOUS_GTID_LOG_EVENT,
        EventType.GTID_TAGGED_LOG_EVENT,
        EventType.GTID_EVENT,
    ),
    QUERY: (EventType.QUERY_EVENT,),
    ABOUT_ROWS: (
        EventType.TABLE_MAP_EVENT,
        EventType.ROWS_QUERY_LOG_EVENT,
        EventType.ANNOTATE_ROWS_EVENT,
    ),
}
_MEANINGS: Final[dict[int, int]] = {
    event_type: meaning for meaning, types in _TYPES.items() for event_type in types
}

# By type code, which has one byte.
MEANING_OF_TYPE: Final[list[int]] = [_MEANINGS.get(code, OTHER) for code in range(256)]

"""Bodies that are certain to be decoded without an error, known without decoding them.

So a reader can leave the decoding of most events to their first use, and still refuse a log at the
event that cannot be read. The frequent types are proven readable by their lengths, or by bytes that
were decoded before. All other bodies are not certain: they have to be decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.events.gtid_extent import is_readable_gtid
from connector.binlog.events.statement import QUERY_HEADER_LENGTH
from connector.binlog.events.transaction import XID_LENGTH
from connector.binlog.framing.event_types import GTID_LOG, QUERY, XID, EventType
from connector.codec.same_bytes import has_bytes_at

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event

# Of a QUERY, the bytes after the session and the time it took, which can have any value.
_SAME_OFFSET: Final = 8
# Longer statements are mostly different, and decoded at once.
_SAME_MAX: Final = 256
# Slots for the statements that were decoded last, by the lowest bits of their length.
_SLOTS: Final = 32
_SLOT_MASK: Final = _SLOTS - 1

_PLAIN_ROWS: Final = frozenset(
    (
        EventType.WRITE_ROWS_EVENT_V1,
        EventType.UPDATE_ROWS_EVENT_V1,
        EventType.DELETE_ROWS_EVENT_V1,
        EventType.WRITE_ROWS_EVENT,
        EventType.UPDATE_ROWS_EVENT,
        EventType.DELETE_ROWS_EVENT,
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
    )
)
_UPDATES: Final = frozenset(
    (
        EventType.UPDATE_ROWS_EVENT_V1,
        EventType.UPDATE_ROWS_EVENT,
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
    )
)
# Bitmaps after the count of columns, for each type of rows; 0 for all other types.
_BITMAPS: Final = bytes([(code in _PLAIN_ROWS) + (code in _UPDATES) for code in range(256)])
# A count of columns from here on has more than one byte.
_COUNT_MAX: Final = 0xFB


@final
class ReadableBodies:
    """Knows the readable bodies of one format of a log."""

    def __init__(self, *, with_plain_queries: bool) -> None:
        """Know no statement; without plain queries, none is ever certain."""
        self._with_plain_queries = with_plain_queries
        # Of QUERYs, nearly always BEGIN in one of a few kinds of sessions.
        self._decoded = [b""] * _SLOTS

    def has(self, event: Event, start: i64, end: i64) -> bool:
        """Return whether the body of `event` in `data[start:end]` is certain to be readable.

        For rows, it begins after the head, which names the table.
        """
        type_code = event.type_code
        data = event.data
        bitmaps: i64 = _BITMAPS[type_code]
        if bitmaps:
            return _are_readable_rows(event, start, end, bitmaps)
        if type_code == QUERY:
            at = start + _SAME_OFFSET
            length = end - at
            known = self._decoded[length & _SLOT_MASK]
            return 0 < length == len(known) and has_bytes_at(data, at, known)
        if type_code == XID:
            return end - start == XID_LENGTH
        return type_code == GTID_LOG and is_readable_gtid(data, start, end)

    def note(self, data: bytes, start: i64, end: i64) -> None:
        """Note the body of a QUERY in `data[start:end]`, which was decoded."""
        length = end - start - _SAME_OFFSET
        if self._with_plain_queries and QUERY_HEADER_LENGTH - _SAME_OFFSET <= length <= _SAME_MAX:
            self._decoded[length & _SLOT_MASK] = data[start + _SAME_OFFSET : end]


def _are_readable_rows(event: Event, start: i64, end: i64, bitmaps: i64) -> bool:
    """Return whether the count of columns is that of the table, and the bitmaps are whole."""
    table_map = event.table_map
    if table_map is None:
        return False
    count: i64 = len(table_map.columns)
    return (
        count < _COUNT_MAX
        and end - start > bitmaps * ((count + 7) >> 3)
        and event.data[start] == count
    )

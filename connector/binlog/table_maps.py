"""Table maps are decoded once: a server writes the same bytes before each change of a table.

Equal bytes give the same object, so objects derived from it, such as the plan to read rows, are
made once, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.framing.event_types import TABLE_MAP, EventType
from connector.codec.same_bytes import has_bytes_at

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.codec.payload import PayloadReader

# Number of decoded table maps that are kept; the one decoded first is dropped.
TABLE_MAPS_MAX: Final = 1024

# Slots for the latest table maps, by the lowest bits of the table id, which a server counts up.
_LATEST: Final = 64
_LATEST_MASK: Final = _LATEST - 1


@final
class TableMaps:
    """The table maps of one format of a log."""

    def __init__(self, log: FormatDescriptionEvent, *, mariadb: bool) -> None:
        """Expect table maps in the format `log`."""
        self._post_header_length = log.post_header_length(TABLE_MAP)
        self._pre_ga = log.post_header_length(EventType.WRITE_ROWS_EVENT_V1) is None
        self._mariadb = mariadb
        self._latest: list[TableMapEvent | None] = [None] * _LATEST
        self._decoded: dict[bytes, TableMapEvent] = {}

    def decode(self, body: PayloadReader) -> TableMapEvent:
        """Return the table map in the body; decode it if these bytes are new.

        Raises DecodeError for one that cannot be read.
        """
        data = body.data
        start = body.offset
        length = body.remaining
        # The lowest byte of the table id; a shorter body cannot be decoded.
        slot: i64 = 0
        if length > 0:
            slot = data[start] & _LATEST_MASK
        latest = self._latest[slot]
        if latest is not None:
            known = latest.raw
            if len(known) == length and has_bytes_at(data, start, known):
                body.take(length)
                return latest
        raw = data[start : body.end]
        table_map = self._decoded.get(raw)
        if table_map is None:
            table_map = TableMapEvent.decode(
                body, self._post_header_length, mariadb=self._mariadb, pre_ga=self._pre_ga
            )
            table_map.raw = raw
            if len(self._decoded) >= TABLE_MAPS_MAX:
                del self._decoded[next(iter(self._decoded))]
            self._decoded[raw] = table_map
        else:
            body.skip(len(raw))
        self._latest[slot] = table_map
        return table_map

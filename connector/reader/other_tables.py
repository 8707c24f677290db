"""Groups of wanted tables, and those of others, are known by headers and table ids alone.

A group of the usual form is passed over if the bytes that were received hold all of it, and no
table map in it names a wanted table. If every table map names one, all of its events are selected.
Every other group is decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.events.table_map import TABLE_MAP_HEADER_LENGTH
from connector.binlog.framing.header import HEADER_LENGTH
from connector.binlog.framing.version import TYPE_OFFSET
from connector.changes.whole_groups import (
    PART_END,
    PART_ROWS,
    PART_TABLE_MAP,
    PARTS,
    TABLE_LENGTH_MIN,
    end_of_begin,
    size_at,
    table_id_at,
)
from connector.codec.payload import PayloadReader
from connector.codec.same_bytes import has_bytes_at
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.table_filter import TableFilter
    from connector.reader.event_frames import ReceivedEvents

# Instead of a table id.
_NONE: Final = -1
# Slots for the latest table maps, by the lowest bits of the table id, which a server counts up.
_SLOTS: Final = 64
_SLOT_MASK: Final = _SLOTS - 1


@final
class _KnownTable:
    """A table map up to the end of the names in it, and whether its table is wanted."""

    __slots__ = ("head", "wanted")

    def __init__(self, head: bytes, *, wanted: bool) -> None:
        self.head = head
        self.wanted = wanted


@final
class OtherTables:
    """Finds the groups that change only other tables than the wanted ones, or only wanted ones."""

    def __init__(self, wanted: TableFilter) -> None:
        """Pass over groups without changes of `wanted` tables."""
        self._wanted = wanted
        self._known: list[_KnownTable | None] = [None] * _SLOTS
        self._latest_id: i64 = _NONE
        self._ids: list[i64] = []  # of the tables of the current group, but the latest one

    def end_of(self, events: ReceivedEvents, trailer: i64) -> i64:
        """Return the end of the groups at the start of `events` that change other tables.

        Each event ends in `trailer` bytes of a checksum.
        """
        return self._end_of(events, trailer, wanted=False)

    def end_of_wanted(self, events: ReceivedEvents, trailer: i64) -> i64:
        """Return the end of the groups at the start of `events` that change wanted tables alone.

        Each of their events belongs to such a change, or opens or closes its transaction.
        """
        return self._end_of(events, trailer, wanted=True)

    def _end_of(self, events: ReceivedEvents, trailer: i64, *, wanted: bool) -> i64:
        data = events.data
        at = events.start
        while True:
            end = self._end_of_group(data, at, events.end, trailer, wanted=wanted)
            if end == at:
                return at
            at = end

    def _end_of_group(
        self, data: bytes, start: i64, end: i64, trailer: i64, *, wanted: bool
    ) -> i64:
        """Return the end of the group that `data[start:end]` begins with.

        It is `start` if the group is not of the usual form, is not complete, has rows of an unknown
        table, or if a table map in it is `wanted` where others are not, or the other way round.
        """
        self._latest_id = _NONE
        if len(self._ids) > 0:
            self._ids.clear()
        # Whether a change follows what is about rows.
        complete = False
        at = end_of_begin(data, start, end, trailer)
        while start < at < end:
            part: i64 = PARTS[data[at + TYPE_OFFSET]]
            body = at + HEADER_LENGTH
            at += size_at(data, at)
            if part == PART_END:
                return start if wanted and not complete else at
            if not part:
                return start
            if part <= PART_ROWS and at - trailer - body < TABLE_LENGTH_MIN:
                return start
            if part == PART_TABLE_MAP:
                if self._is_wanted(data, body, at - trailer) != wanted:
                    return start
            elif part == PART_ROWS:
                table_id = table_id_at(data, body)
                if table_id != self._latest_id and table_id not in self._ids:
                    return start
            complete = part == PART_ROWS
        return start

    def _is_wanted(self, data: bytes, start: i64, end: i64) -> bool:
        """Return whether the table map in `data[start:end]` names a wanted table."""
        if self._latest_id != _NONE:
            self._ids.append(self._latest_id)
        self._latest_id = table_id_at(data, start)
        slot: i64 = data[start] & _SLOT_MASK
        known = self._known[slot]
        if (
            known is None
            or len(known.head) > end - start
            or not has_bytes_at(data, start, known.head)
        ):
            known = self._known[slot] = self._known_table(data[start:end])
        return known.wanted

    def _known_table(self, body: bytes) -> _KnownTable:
        reader = PayloadReader(body, TABLE_MAP_HEADER_LENGTH)
        try:
            schema = reader.read_bytes(reader.read_uint8()).decode("utf-8")
            reader.skip(1)
            table = reader.read_bytes(reader.read_uint8()).decode("utf-8")
        except (DecodeError, UnicodeDecodeError):
            # Who decodes it raises the error.
            return _KnownTable(body, wanted=True)
        head = body[: len(body) - reader.remaining]
        return _KnownTable(head, wanted=self._wanted.follows(schema, table))

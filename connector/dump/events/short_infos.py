"""The infos of the events that nearly every transaction has are written from their bytes.

::

    GTID, BEGIN, table map, rows, XID

They are the same texts as those of `event_info`, without their bodies being decoded, or decoded
only once for many events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i64_le

from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.statement import NO_BEGIN
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.framing.checksum import CHECKSUM_LENGTH
from connector.binlog.framing.event_types import GTID_LOG, QUERY, TABLE_MAP, XID
from connector.binlog.framing.header import HEADER_LENGTH
from connector.codec.digits import put_uint, put_uint64
from connector.dump.events.event_info import ESCAPES, event_info, rows_flags
from connector.dump.events.statement_info import LOG_EVENT_SUPPRESS_USE_F
from connector.dump.lines.output import encoded
from connector.gtid import gtid_at
from connector.gtid.intervals import GNO_END

if TYPE_CHECKING:
    from uuid import UUID

    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.binlog.events.format_description import StartEventV3
    from connector.dump.events.server_release import ServerRelease

_XID_LENGTH: Final = 8
# Of a GTID_LOG_EVENT: the flags, the UUID, the number.
_UUID: Final = HEADER_LENGTH + 1
_GNO: Final = HEADER_LENGTH + 17
_GTID_END: Final = HEADER_LENGTH + 25

# Slots for the texts of the latest table maps, by the lowest bits of the table id.
_SLOTS: Final = 64
_SLOT_MASK: Final = _SLOTS - 1


@final
class _TableInfo:
    """A table map, and its info."""

    __slots__ = ("table_map", "text")

    def __init__(self, table_map: TableMapEvent, text: bytes) -> None:
        self.table_map = table_map
        self.text = text


@final
class ShortInfos:
    """Writes infos of one log."""

    def __init__(self, server: ServerRelease) -> None:
        """Write the texts of `server`, whose log has headers of 19 bytes."""
        self._server = server
        self._uuid: UUID | None = None
        self._gtid = b""  # up to the number
        self._tables: list[_TableInfo | None] = [None] * _SLOTS
        self._flags: i64 = -1
        self._flags_text = b""

    @staticmethod
    def of(body: FormatDescriptionEvent | StartEventV3, server: ServerRelease) -> ShortInfos | None:
        """Return the infos of a log; None if it has to be decoded."""
        if isinstance(body, FormatDescriptionEvent) and body.header_length == HEADER_LENGTH:
            return ShortInfos(server)
        return None

    def put(self, out: BytesWriter, event: Event) -> bool:
        """Append the info of an event; return False, and append nothing, for all other events."""
        head = event.rows_head
        if head is not None:
            out.write(b"table_id: ")
            put_uint(out, head.table_id)
            if head.flags != self._flags:
                self._flags = head.flags
                self._flags_text = encoded(rows_flags(head.flags, self._server))
            out.write(self._flags_text)
            return True
        type_code = event.type_code
        if type_code == QUERY:
            flags: i64 = event.header.flags
            if (
                self._server.mariadb
                or not flags & LOG_EVENT_SUPPRESS_USE_F
                or event.begin_thread_id == NO_BEGIN
            ):
                return False
            out.write(b"BEGIN")
            return True
        if type_code == TABLE_MAP:
            return self._put_table(out, event)
        if type_code == XID:
            return _put_xid(out, event)
        return type_code == GTID_LOG and self._put_gtid(out, event)

    def _put_table(self, out: BytesWriter, event: Event) -> bool:
        body = event.body
        if not isinstance(body, TableMapEvent):
            return False
        slot: i64 = body.table_id & _SLOT_MASK
        info = self._tables[slot]
        if info is None or info.table_map is not body:
            text = event_info(body, event.header, self._server).translate(ESCAPES)
            info = self._tables[slot] = _TableInfo(body, encoded(text))
        out.write(info.text)
        return True

    def _put_gtid(self, out: BytesWriter, event: Event) -> bool:
        data = event.data
        if len(data) < _GTID_END:
            return False
        number = read_i64_le(data, _GNO)
        if number <= 0 or number >= GNO_END:
            return False
        gtid = gtid_at(data, _UUID, number)
        if gtid.uuid is not self._uuid:
            self._uuid = gtid.uuid
            self._gtid = encoded(f"SET @@SESSION.GTID_NEXT= '{gtid.uuid}:")
        out.write(self._gtid)
        put_uint(out, number)
        out.write(b"'")
        return True


def _put_xid(out: BytesWriter, event: Event) -> bool:
    data = event.data
    trailer: i64 = CHECKSUM_LENGTH if event.checksummed else 0
    if len(data) != HEADER_LENGTH + _XID_LENGTH + trailer:
        return False
    out.write(b"COMMIT /* xid=")
    put_uint64(out, read_i64_le(data, HEADER_LENGTH))
    out.write(b" */")
    return True

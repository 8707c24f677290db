"""`dump --format events`: the rows of SHOW BINLOG EVENTS, with tabs between the columns.

::

    Log_name  Pos  Event_type  Server_id  End_log_pos  Info

Texts are those of the server that wrote the log, byte for byte. So that a row is one line, tabs,
line feeds, carriage returns, zero bytes and backslashes are escaped, much as `mysql --batch` prints
them (`ESCAPES`). The events of a compressed transaction follow it, at the position where it ends,
as the server shows them.

The infos of the events that nearly every transaction has (GTID, BEGIN, table map, rows, XID) are
written from their bytes. They are the same texts as those of `event_info`, but the bodies are not
decoded, or decoded once for many events.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
https://dev.mysql.com/doc/refman/8.4/en/mysql-command-options.html#option_mysql_batch
"""

from typing import Final, final
from uuid import UUID

from librt.strings import BytesWriter, read_i64_le
from mypy_extensions import i64, u8

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.query import NO_BEGIN
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import gtid_at
from connector.binlog.gtid.mysql import GNO_END
from connector.binlog.header import (
    FORMAT_DESCRIPTION,
    GTID_LOG,
    HEADER_LENGTH,
    QUERY,
    TABLE_MAP,
    TRANSACTION_PAYLOAD,
    XID,
    EventType,
)
from connector.binlog.text_writer import put_uint, put_uint64
from connector.logs.event_info import ESCAPES, LOG_EVENT_SUPPRESS_USE_F, event_info, rows_flags
from connector.logs.output import NEWLINE, ByteFormat, LineOutput, encoded
from connector.logs.server_release import ServerRelease, event_type_text

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
    def of(
        body: FormatDescriptionEvent | StartEventV3, server: ServerRelease
    ) -> "ShortInfos | None":
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


HEADER: Final = "Log_name\tPos\tEvent_type\tServer_id\tEnd_log_pos\tInfo"

_UINT32: Final = 0xFFFF_FFFF
_TAB: Final = 9
_START_V3: Final = int(EventType.START_EVENT_V3)


@final
class EventsFormat(ByteFormat):
    """Writes one line for each event; see `ByteFormat`."""

    def __init__(self) -> None:
        """Use the texts of the latest MySQL until a log names its server."""
        self._server = ServerRelease()
        self._v4 = False
        # The infos that are written without decoding; None in logs of old servers.
        self._short: ShortInfos | None = None
        self._file = ""
        self._file_text = b""
        # The names of types with the tabs around them, by type code; b"" before the first use.
        self._types: list[bytes] = [b""] * 256
        self._server_id: i64 = -1
        self._server_id_text = b""

    def begin(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return (HEADER,)

    def put(self, event: Event, output: LineOutput) -> None:
        """Append an event's line, and those of its inner events."""
        type_code = event.type_code
        if type_code in (FORMAT_DESCRIPTION, _START_V3):
            self._use(event)
        end = self._end_log_pos(event)
        out = output.block
        self._put_line(out, event, event.position, end)
        if type_code == TRANSACTION_PAYLOAD:
            body = event.body
            assert isinstance(body, TransactionPayloadEvent)
            for inner in body.events():
                self._put_line(out, inner, event.next_position, end)
                output.give_way()
                out = output.block

    def _use(self, event: Event) -> None:
        """Use the texts of the server that a log names in its first event."""
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            self._server = ServerRelease.of(body)
            self._v4 = isinstance(body, FormatDescriptionEvent)
            self._short = ShortInfos.of(body, self._server)
            self._types = [b""] * 256

    def _put_line(self, out: BytesWriter, event: Event, position: i64, end: i64) -> None:
        start: i64 = len(out)
        header = event.header
        type_code = header.type_code
        if event.file is not self._file:
            self._file = event.file
            self._file_text = encoded(event.file.translate(ESCAPES) + "\t")
        out.write(self._file_text)
        put_uint(out, position)
        type_text = self._types[type_code]
        if not type_text:
            type_text = encoded(f"\t{event_type_text(type_code, self._server)}\t")
            self._types[type_code] = type_text
        out.write(type_text)
        server_id: i64 = header.server_id
        if server_id != self._server_id:
            self._server_id = server_id
            self._server_id_text = encoded(f"{server_id}\t")
        out.write(self._server_id_text)
        put_uint(out, end)
        out.append(u8(_TAB))
        try:
            short = self._short
            if short is None or not short.put(out, event):
                info = event_info(event.body, header, self._server)
                out.write(encoded(info.translate(ESCAPES)))
        except BaseException:
            out.truncate(start)
            raise
        out.append(u8(NEWLINE))

    def _end_log_pos(self, event: Event) -> i64:
        """Return the position in the header; a log of 4.0 or 4.1 has the event's start there."""
        log_pos: i64 = event.header.log_pos
        position: i64 = event.position
        if not self._v4 and log_pos and log_pos == position & _UINT32:
            return log_pos + event.header.event_size
        return log_pos

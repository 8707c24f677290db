r"""Events become the rows of SHOW BINLOG EVENTS, with tabs between the columns.

::

    Log_name  Pos  Event_type  Server_id  End_log_pos  Info

Texts are those of the server that wrote the log, byte for byte. So that a row is one line, `\t`,
`\n`, `\r`, `\0` and `\\` stand for a tab, a line feed, a carriage return, a zero byte and a
backslash, much as `mysql --batch` prints them. The events of a compressed transaction follow it, at
the position where it ends, as the server shows them.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
https://dev.mysql.com/doc/refman/8.4/en/mysql-command-options.html#option_mysql_batch
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.framing.event_types import (
    FORMAT_DESCRIPTION,
    TRANSACTION_PAYLOAD,
    EventType,
)
from connector.codec.digits import put_uint
from connector.dump.events.event_info import ESCAPES, event_info
from connector.dump.events.event_type_text import event_type_text
from connector.dump.events.server_release import ServerRelease
from connector.dump.events.short_infos import ShortInfos
from connector.dump.lines.byte_format import ByteFormat
from connector.dump.lines.output import NEWLINE, encoded

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.event import Event
    from connector.dump.lines.output import LineOutput

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

    def received(self) -> None:
        """Note nothing: no line depends on the time."""

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

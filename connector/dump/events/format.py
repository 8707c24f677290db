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

from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.dump.events.event_info import event_info
from connector.dump.events.event_type_text import event_type_text
from connector.dump.events.server_release import ServerRelease

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.framing.header import EventHeader

HEADER = "Log_name\tPos\tEvent_type\tServer_id\tEnd_log_pos\tInfo"

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_UINT32 = 0xFFFF_FFFF


class EventsWriter:
    """Writes one line for each event; see `EventWriter`."""

    def __init__(self) -> None:
        """Use the texts of the latest MySQL until a log names its server."""
        self._server = ServerRelease()
        self._v4 = False

    def begin(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return (HEADER,)

    def event(self, event: Event) -> Iterator[str]:
        """Yield an event's line, and those of its inner events."""
        header = event.header
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            self._server = ServerRelease.of(body)
            self._v4 = isinstance(body, FormatDescriptionEvent)
        end = self._end_log_pos(event)
        yield self._line(event, event.position, header, end)
        if isinstance(body, TransactionPayloadEvent):
            for inner in body.events():
                yield self._line(inner, event.next_position, inner.header, end)

    def end(self) -> tuple[str, ...]:
        """Return no lines."""
        return ()

    def _line(self, event: Event, position: int, header: EventHeader, end: int) -> str:
        server = self._server
        name = event.file.translate(_ESCAPES)
        event_type = event_type_text(header.type_code, server)
        info = event_info(event.body, header, server).translate(_ESCAPES)
        return f"{name}\t{position}\t{event_type}\t{header.server_id}\t{end}\t{info}"

    def _end_log_pos(self, event: Event) -> int:
        """Return the position in the header; a log of 4.0 or 4.1 has the event's start there."""
        log_pos = event.header.log_pos
        if not self._v4 and log_pos and log_pos == event.position & _UINT32:
            return log_pos + event.header.event_size
        return log_pos

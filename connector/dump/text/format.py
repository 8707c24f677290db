"""`dump --format text`: events like `mysqlbinlog -vvv`.

::

    # at 465
    #190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3 	Xid = 581292
    COMMIT/*!*/;

Dates are in UTC. The output is for people: rows are comments, and there are no BINLOG statements.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.framing.header import HEADER_LENGTH, V1_HEADER_LENGTH
from connector.binlog.framing.version import BinlogVersion
from connector.dump.text.events import describe, short_date
from connector.dump.text.hexdump import hexdump
from connector.dump.text.session import SessionText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event
    from connector.dump.lines.writer import Line


class TextWriter:
    """Writes events for people who know mysqlbinlog."""

    def __init__(self, *, hexdump: bool = False) -> None:
        """With `hexdump`, the bytes of each event come between its header and its summary."""
        self._hexdump = hexdump
        self._session = SessionText()
        self._header_length = HEADER_LENGTH

    def begin(self) -> Iterable[str]:
        """Return the lines before the first event."""
        return ["# Dates are in UTC. Rows are comments: read this, do not pipe it into a server."]

    def event(self, event: Event) -> Iterator[Line]:
        """Yield the lines of one event; rows are decoded meanwhile.

        Raises EventError for a row that cannot be read.
        """
        if isinstance(event.body, (FormatDescriptionEvent, StartEventV3)):
            # Another file, maybe of another server: its first statement shows all variables again.
            self._session = SessionText()
            v1 = event.body.binlog_version == BinlogVersion.V1
            self._header_length = V1_HEADER_LENGTH if v1 else HEADER_LENGTH
        yield f"# at {event.position}"
        yield from self._lines(event)

    def end(self) -> Iterable[str]:
        """Return the lines after the last event."""
        return ["# End of log file"]

    def _lines(self, event: Event) -> Iterator[Line]:
        summary, lines = describe(event, self._session)
        # Names may hold line breaks.
        summary = summary.replace("\n", "\\n")
        if self._hexdump:
            yield _header_line(event)
            yield from hexdump(event.data, event.position, self._header_length)
            yield f"# \t{summary}"
        else:
            yield f"{_header_line(event)}\t{summary}"
        for line in lines:
            if isinstance(line, str):
                yield from line.split("\n")
            else:
                yield line
        if isinstance(event.body, TransactionPayloadEvent):
            yield "# Start of compressed events."
            for inner in event.body.events():
                yield from self._lines(inner)
            yield "# End of compressed events."


def _header_line(event: Event) -> str:
    header = event.header
    # Before 5.0 the header has the start of the event.
    end = event.next_position if header.log_pos == event.position else header.log_pos
    checksum = "" if event.checksum is None else f"CRC32 0x{event.checksum:08x} "
    return (
        f"#{short_date(header.timestamp)} server id {header.server_id}  end_log_pos {end} "
        f"{checksum}"
    )

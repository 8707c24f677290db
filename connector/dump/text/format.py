"""`dump --format text`: events like `mysqlbinlog -vvv`.

::

    # at 465
    #190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3 	Xid = 581292
    COMMIT/*!*/;

Dates are in UTC. The output is for people: rows are comments, and there are no BINLOG statements.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import u8

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.partial_row_data import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.statement import QueryEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, XidEvent
from connector.binlog.framing.header import HEADER_LENGTH, V1_HEADER_LENGTH
from connector.binlog.framing.version import BinlogVersion
from connector.codec.digits import put_uint
from connector.dump.lines.byte_format import ByteFormat
from connector.dump.lines.output import NEWLINE, encoded
from connector.dump.text.events import describe
from connector.dump.text.header import HeaderLine
from connector.dump.text.hexdump import hexdump
from connector.dump.text.session import SessionText
from connector.dump.text.statements import put_query
from connector.dump.text.tables import TablesText
from connector.dump.text.transactions import ANONYMOUS, put_gtid, put_xid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event, EventBody
    from connector.dump.lines.output import LineOutput

_TAB: Final = 9


@final
class TextFormat(ByteFormat):
    """Writes events for people who know mysqlbinlog."""

    def __init__(self, *, hexdump: bool = False) -> None:
        """With `hexdump`, the bytes of each event come between its header and its summary."""
        self._hexdump = hexdump
        self._header_line = HeaderLine()
        self._session = SessionText()
        self._tables = TablesText()
        self._header_length = HEADER_LENGTH

    def begin(self) -> Iterable[str]:
        """Return the lines before the first event."""
        return ["# Dates are in UTC. Rows are comments: read this, do not pipe it into a server."]

    def received(self) -> None:
        """Need nothing of a new block."""

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the lines of one event; rows are decoded meanwhile.

        Raises EventError for an event or a row that cannot be read.
        """
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            # Another file, maybe of another server: its first statement shows all variables again.
            self._session = SessionText()
            v1 = body.binlog_version == BinlogVersion.V1
            self._header_length = V1_HEADER_LENGTH if v1 else HEADER_LENGTH
        out = output.block
        out.write(b"# at ")
        put_uint(out, event.position)
        out.append(u8(NEWLINE))
        self._put(event, output)

    def end(self) -> Iterable[str]:
        """Return the lines after the last event."""
        return ["# End of log file"]

    def _put(self, event: Event, output: LineOutput) -> None:
        out = output.block
        self._header_line.put(event, out)
        if self._hexdump:
            out.append(u8(NEWLINE))
            output.write(hexdump(event.data, event.position, self._header_length))
            out = output.block
            out.write(b"# ")
        out.append(u8(_TAB))
        body = event.body
        if isinstance(body, RowsEvent):
            self._tables.put_rows(event.header.type_code, body, output)
        elif isinstance(body, TableMapEvent):
            self._tables.put_table_map(out, body)
        elif isinstance(body, XidEvent):
            put_xid(out, body)
        elif isinstance(body, QueryEvent):
            put_query(out, self._session, event.header, body)
        elif isinstance(body, (GtidEvent, GtidTaggedEvent)):
            put_gtid(out, body, str(body.gtid).encode("ascii"))
        elif isinstance(body, AnonymousGtidEvent):
            put_gtid(out, body, ANONYMOUS)
        elif isinstance(body, PartialRowDataEvent):
            self._tables.put_fragment(event.header.type_code, body, output)
        else:
            self._put_described(event, body, output)

    def _put_described(self, event: Event, body: EventBody, output: LineOutput) -> None:
        summary, lines = describe(event, self._session)
        # Names may hold line breaks.
        output.block.write(encoded(summary.replace("\n", "\\n")))
        output.block.append(u8(NEWLINE))
        output.write(lines)
        if isinstance(body, TransactionPayloadEvent):
            output.block.write(b"# Start of compressed events.\n")
            for inner in body.events():
                self._put(inner, output)
                output.give_way()
            output.block.write(b"# End of compressed events.\n")

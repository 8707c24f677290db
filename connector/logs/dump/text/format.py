"""`dump --format text`: events like `mysqlbinlog -vvv`.

::

    # at 465
    #190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3      Xid = 581292
    COMMIT/*!*/;

Dates are in UTC. The output is for people: rows are comments, and there are no BINLOG statements.
An event has a header line, which its summary ends, and the lines after it. The summaries of events
about the log itself are here; rows, statements, GTIDs and commits, of which a log is full, become
bytes at once in modules of their own. With `--hexdump`, the bytes of the event come first::

    # Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
    # 00000004 aa ea 2d 5c   0f   01 00 00 00   77 00 00 00   7b 00 00 00   01 00
    # 00000017 04 00 35 2e 37 2e 32 34  2d 6c 6f 67 00 00 00 00 |..5.7.24-log....|

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-hexdump.html
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, final

from librt.strings import BytesWriter, read_i32_le
from mypy_extensions import i64, u8

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.event import Event, EventBody, TransactionPayloadEvent
from connector.binlog.events import control
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import (
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, XidEvent
from connector.binlog.header import (
    HEADER_LENGTH,
    LOG_EVENT_BINLOG_IN_USE_F,
    V1_HEADER_LENGTH,
    BinlogVersion,
    event_name,
)
from connector.binlog.text_writer import put_hex_32, put_uint
from connector.logs.dump.text import statements, transactions
from connector.logs.dump.text.rows import TablesText
from connector.logs.output import NEWLINE, ByteFormat, LineOutput, encoded

_SPACE: Final = 32
_TAB: Final = 9


def short_date(timestamp: int) -> str:
    """Return `yymmdd hh:mm:ss` in UTC, the hour without a leading zero, as header lines have it."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return f"{moment:%y%m%d} {moment.hour:2d}:{moment:%M:%S}"


@final
class HeaderLine:
    """Writes the header lines of one log; what events of one second share is made once."""

    __slots__ = ("_server_id", "_start", "_timestamp")

    def __init__(self) -> None:
        self._timestamp: i64 = -1
        self._server_id: i64 = -1
        self._start = b""

    def put(self, event: Event, out: BytesWriter) -> None:
        """Append the line up to its summary."""
        header = event.header
        timestamp: i64 = header.timestamp
        server_id: i64 = header.server_id
        if timestamp != self._timestamp or server_id != self._server_id:
            self._timestamp = timestamp
            self._server_id = server_id
            text = f"#{short_date(timestamp)} server id {server_id}  end_log_pos "
            self._start = text.encode("ascii")
        out.write(self._start)
        # Before 5.0 the header has the start of the event.
        log_pos = header.log_pos
        put_uint(out, event.next_position if log_pos == event.position else log_pos)
        if event.checksummed:
            data = event.data
            out.write(b" CRC32 0x")
            put_hex_32(out, i64(read_i32_le(data, len(data) - CHECKSUM_LENGTH)))
        out.append(u8(_SPACE))


def describe(event: Event, session: statements.SessionText) -> statements.Description:
    """Return the summary and the lines of an event; `session` keeps the variables that were set."""
    body = event.body
    if isinstance(body, FormatDescriptionEvent):
        return _format(event, body)
    if isinstance(body, StartEventV3):
        return _start(event, body)
    if isinstance(body, control.IgnorableEvent):
        return "Ignorable", [f"# {event_name(event.type_code)}, {len(body.data)} bytes"]
    if isinstance(body, MariadbGtidEvent):
        return transactions.mariadb_gtid(session, body)
    return DESCRIPTIONS[type(body)](body)


def _start(event: Event, body: StartEventV3) -> statements.Description:
    summary = (
        f"Start: binlog v {body.binlog_version}, server v {body.server_version} "
        f"created {short_date(body.create_timestamp or event.header.timestamp)}"
    )
    return summary, []


def _format(event: Event, body: FormatDescriptionEvent) -> statements.Description:
    restarted = body.create_timestamp != 0
    summary = (
        f"Start: binlog v {body.binlog_version}, server v {body.server_version} "
        f"created {short_date(event.header.timestamp)}{' at startup' if restarted else ''}"
    )
    lines = []
    if event.header.flags & LOG_EVENT_BINLOG_IN_USE_F:
        lines.append("# Warning: this binlog is either in use or was not closed properly.")
    if restarted:
        # The server had not committed it when it ended, so it is lost.
        lines.append(f"ROLLBACK{statements.END}")
    return summary, lines


def _rotate(body: control.RotateEvent) -> statements.Description:
    return f"Rotate to {body.next_file}  pos: {body.next_position}", []


def _heartbeat(body: control.HeartbeatEvent) -> statements.Description:
    return f"Heartbeat {body.file}  pos: {body.position}", []


def _checkpoint(body: BinlogCheckpointEvent) -> statements.Description:
    return f"Binlog checkpoint {body.file}", []


def _incident(body: control.IncidentEvent) -> statements.Description:
    message = [f"# {body.message}"] if body.message else []
    return f"Incident: {body.incident} ({body.name})", message


def _slave(body: control.SlaveEvent) -> statements.Description:
    host = f"{body.master_host}:{body.master_port}"
    return f"Slave: master {host}, log {body.master_log}  pos: {body.master_pos}", []


def _start_encryption(body: control.StartEncryptionEvent) -> statements.Description:
    summary = (
        f"Encryption scheme: {body.scheme}, key_version: {body.key_version}, "
        f"nonce: {body.nonce.hex()}"
    )
    return summary, ["# The rest of the binlog is encrypted!"]


def _context(body: control.TransactionContextEvent) -> statements.Description:
    summary = (
        f"Transaction_context: server_uuid={body.server_uuid}\tthread_id={body.thread_id}"
        f"\twrite_set={len(body.write_set)}\tread_set={len(body.read_set)}"
    )
    return summary, statements.comment_lines(f"snapshot_version {body.snapshot_version}")


def _view_change(body: control.ViewChangeEvent) -> statements.Description:
    summary = (
        f"View_change: view_id={body.view_id}\tsequence_number={body.sequence_number}"
        f"\tcertification_info={len(body.certification_info)}"
    )
    return summary, []


DESCRIPTIONS: dict[type, Callable[[Any], statements.Description]] = {
    BinlogCheckpointEvent: _checkpoint,
    control.HeartbeatEvent: _heartbeat,
    control.IncidentEvent: _incident,
    control.RotateEvent: _rotate,
    control.SlaveEvent: _slave,
    control.StartEncryptionEvent: _start_encryption,
    control.StopEvent: lambda _: ("Stop", []),
    control.TransactionContextEvent: _context,
    control.ViewChangeEvent: _view_change,
    **statements.STATEMENTS,
    **transactions.TRANSACTIONS,
}


_ROW = 16
_HALF = 8
_HEADER_FIELDS = ((0, 4), (4, 5), (5, 9), (9, 13), (13, 17), (17, 19))
_HEADER_NAMES = "# Position  Timestamp   Type   Source ID        Size"
_HEADER_NAMES_V3 = "      Source Pos    Flags"
_FIELDS_V1 = 4

# Bytes as text; bytes that are not printable ASCII become dots.
_ASCII = range(0x20, 0x7F)
_PRINTABLE = bytes(code if code in _ASCII else ord(".") for code in range(256))


def hexdump(data: bytes, position: int, header_length: int) -> Iterator[str]:
    """Yield the lines of an event that starts at `position`; its header has 13 or more bytes."""
    fields = _HEADER_FIELDS if header_length >= _HEADER_FIELDS[-1][1] else _HEADER_FIELDS[:4]
    yield _HEADER_NAMES + (_HEADER_NAMES_V3 if len(fields) > _FIELDS_V1 else "")
    header = "   ".join(data[start:end].hex(" ") for start, end in fields)
    yield f"# {position:08x} {header}"
    for offset in range(fields[-1][1], len(data), _ROW):
        row = data[offset : offset + _ROW]
        octets = f"{row[:_HALF].hex(' '):<23}  {row[_HALF:].hex(' '):<23}"
        text = row.translate(_PRINTABLE).decode("ascii")
        yield f"# {position + offset:08x} {octets} |{text}|"


@final
class TextFormat(ByteFormat):
    """Writes events for people who know mysqlbinlog."""

    def __init__(self, *, hexdump: bool = False) -> None:
        """With `hexdump`, the bytes of each event come between its header and its summary."""
        self._hexdump = hexdump
        self._header_line = HeaderLine()
        self._session = statements.SessionText()
        self._tables = TablesText()
        self._header_length = HEADER_LENGTH

    def begin(self) -> Iterable[str]:
        return ["# Dates are in UTC. Rows are comments: read this, do not pipe it into a server."]

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the lines of one event; rows are decoded meanwhile.

        Raises EventError for an event or a row that cannot be read.
        """
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            # Another file, maybe of another server: its first statement shows all variables again.
            self._session = statements.SessionText()
            v1 = body.binlog_version == BinlogVersion.V1
            self._header_length = V1_HEADER_LENGTH if v1 else HEADER_LENGTH
        out = output.block
        out.write(b"# at ")
        put_uint(out, event.position)
        out.append(u8(NEWLINE))
        self._put(event, output)

    def end(self) -> Iterable[str]:
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
            transactions.put_xid(out, body)
        elif isinstance(body, QueryEvent):
            statements.put_query(out, self._session, event.header, body)
        elif isinstance(body, (GtidEvent, GtidTaggedEvent)):
            transactions.put_gtid(out, body, str(body.gtid).encode("ascii"))
        elif isinstance(body, AnonymousGtidEvent):
            transactions.put_gtid(out, body, transactions.ANONYMOUS)
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

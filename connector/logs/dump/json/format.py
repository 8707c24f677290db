"""`dump --format json`: one object a line, one line an event, in the order of the log.

::

    {"file":…,"log_pos":…,"next_pos":…,"type":…,"type_code":…,"timestamp":…,"server_id":…,
     "flags":…,"size":…,"checksum":…,"body":{…}}

`log_pos` is where the event starts, `next_pos` the header's end_log_pos as stored. Events of format
v1 have neither `next_pos` nor `flags`: both are null there. The inner events of a compressed
transaction are in the body of its event, with `log_pos` null.
"""

from typing import ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.event import Event, EventBody, TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.files.event_frames import EventBlock
from connector.binlog.header import FORMAT_DESCRIPTION, BinlogVersion
from connector.binlog.log_errors import EventError
from connector.foundation.errors import DecodeError
from connector.logs.dump.json.event_fields import body_fields
from connector.logs.dump.json.event_lines import NOTHING, EventHeads, ShortBodies
from connector.logs.dump.json.group_lines import GroupLines
from connector.logs.dump.json.table_facts import dumps
from connector.logs.dump.json.table_writer import TableWriter
from connector.logs.output import LARGE, ByteFormat, LineOutput, encoded

# Number of tables whose writers are kept; all are dropped when there are more.
_TABLES_MAX: Final = 256
# Rows of an event of at most so many bytes need not be looked at: even compressed they are few.
_SMALL: Final = 128
_START_V3: Final = 1  # of EventType

_NEWLINE: Final = 0x0A
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


@final
class JsonFormat(ByteFormat):
    """Writes one object for each event."""

    takes_groups: ClassVar[bool] = True

    def __init__(self, *, apply_diffs: bool = False) -> None:
        """With `apply_diffs`, changes of a JSON document are replaced by the resulting document."""
        self._apply_diffs = apply_diffs
        self._v1 = False
        self._mariadb = False
        self._file_name = ""
        self._heads = EventHeads()
        self._heads.name_file("")
        # By identity: equal table maps are one object.
        self._tables: dict[int, TableWriter] = {}
        self._table: TableWriter | None = None  # of the last event
        self._bodies = ShortBodies()
        self._groups = GroupLines(self._heads, self._bodies)

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the event's line.

        Raises EventError for a row that cannot be read.
        """
        type_code = event.type_code
        if type_code in (FORMAT_DESCRIPTION, _START_V3):
            self._begin(event)
        if event.rows_head is not None and event.header.event_size > _SMALL:
            rows = event.body
            assert isinstance(rows, RowsEvent)
            if rows.rows_length > LARGE:
                self._put_large(event, rows, output)
                return
        out = output.block
        start: i64 = len(out)
        try:
            self._put_object(event, event.position, out)
        except BaseException:
            out.truncate(start)
            raise
        out.append(u8(_NEWLINE))

    def put_groups(
        self, events: EventBlock, trailer: i64, position: i64, output: LineOutput
    ) -> i64:
        """Append the lines of the groups at the start of `events`; return where they end."""
        return self._groups.put(events, trailer, position, output)

    def _begin(self, event: Event) -> None:
        """Expect the events of another format."""
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            self._v1 = body.binlog_version == BinlogVersion.V1
            self._mariadb = isinstance(body, FormatDescriptionEvent) and body.mariadb
            self._tables.clear()
            self._table = None
            self._bodies = ShortBodies()
            self._groups = GroupLines(self._heads, self._bodies)

    def _put_large(self, event: Event, rows: RowsEvent, output: LineOutput) -> None:
        """Write what `_put_object` does in pieces; an error comes before the first piece."""
        table = self._table_of(rows.table_map)
        table.require_readable(rows, apply_diffs=self._apply_diffs)
        self._put_head(event, event.position, output.block)
        table.put_rows(rows, output.block, apply_diffs=self._apply_diffs, output=output)
        output.block.write(b"}\n")

    def _put_object(self, event: Event, position: i64, out: BytesWriter) -> None:
        self._put_head(event, position, out)
        if not self._put_short(event, out):
            self._put_body(event.body, out)
        out.append(u8(_CLOSE))

    def _put_head(self, event: Event, position: i64, out: BytesWriter) -> None:
        """Append the JSON of the event up to the body."""
        if event.file != self._file_name:
            self._file_name = event.file
            self._heads.name_file(event.file)
        trailer: i64 = CHECKSUM_LENGTH if event.checksummed else 0
        self._heads.put(out, event.type_code, event.data, 0, trailer, position, v1=self._v1)

    def _put_short(self, event: Event, out: BytesWriter) -> bool:
        """Append the body of a frequent event directly from its bytes; return False for others."""
        body = event.undecoded
        if body is None:
            return False
        try:
            return self._bodies.put(event.type_code, body.data, body.offset, body.end, event, out)
        except EventError:
            raise
        except DecodeError as error:
            raise event.error(error) from error

    def _put_body(self, body: EventBody, out: BytesWriter) -> None:
        if isinstance(body, RowsEvent):
            self._put_rows(body, out)
        elif isinstance(body, TableMapEvent):
            table = self._table_of(body)
            self._groups.know(table)
            table.put_map(out)
        elif isinstance(body, TransactionPayloadEvent):
            self._put_payload(body, out)
        elif isinstance(body, PartialRowDataEvent):
            self._put_fragment(body, out)
        else:
            out.write(encoded(dumps(body_fields(body, mariadb=self._mariadb))))

    def _put_rows(self, rows: RowsEvent, out: BytesWriter) -> None:
        self._table_of(rows.table_map).put_rows(rows, out, apply_diffs=self._apply_diffs)

    def _put_payload(self, body: TransactionPayloadEvent, out: BytesWriter) -> None:
        head = {
            "compression": body.payload.compression.name,
            "payload_size": body.payload.size,
            "uncompressed_size": body.payload.uncompressed_size,
        }
        out.write(encoded(dumps(head)[:-1]))
        out.write(b',"events":[')
        several = False
        for event in body.opened():
            if several:
                out.append(u8(_COMMA))
            several = True
            self._put_object(event, NOTHING, out)
        out.write(b"]}")

    def _put_fragment(self, body: PartialRowDataEvent, out: BytesWriter) -> None:
        head = {
            "total_fragments": body.total_fragments,
            "sequence_number": body.sequence_number,
            "flags": body.flags,
            "original_size": body.original_size,
            "length": len(body.fragment),
        }
        rows = body.rows_event
        if rows is None:
            out.write(encoded(dumps(head)))
            return
        out.write(encoded(dumps(head)[:-1]))
        out.write(b',"rows_event":')
        self._put_rows(rows, out)
        out.append(u8(_CLOSE))

    def _table_of(self, table_map: TableMapEvent) -> TableWriter:
        table = self._table
        if table is not None and table.table_map is table_map:
            return table
        table = self._tables.get(id(table_map))
        if table is None:
            if len(self._tables) >= _TABLES_MAX:
                self._tables.clear()
            table = TableWriter(table_map, mariadb=self._mariadb)
            self._tables[id(table_map)] = table
        self._table = table
        return table

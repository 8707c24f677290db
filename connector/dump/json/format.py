"""`dump --format json`: one object a line, one line an event, in the order of the log.

::

    {"file":…,"log_pos":…,"next_pos":…,"type":…,"type_code":…,"timestamp":…,"server_id":…,
     "flags":…,"size":…,"checksum":…,"body":{…}}

`log_pos` is where the event starts, `next_pos` the header's end_log_pos as stored. Events of format
v1 have neither `next_pos` nor `flags`: both are null there. The inner events of a compressed
transaction are in the body of its event, with `log_pos` null.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.partial_row_data import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.framing.event_types import event_name
from connector.binlog.framing.version import BinlogVersion
from connector.dump.json.bodies import body_fields
from connector.dump.json.rows import columns_of, dumps, large_rows_body, rows_body
from connector.dump.lines.writer import LARGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event, EventBody
    from connector.dump.lines.writer import Line

# Number of tables whose column text is kept; all are dropped when there are more.
_TABLES_MAX = 256


class JsonWriter:
    """Writes one object for each event; see `EventWriter`."""

    def __init__(self, *, apply_diffs: bool = False) -> None:
        """With `apply_diffs`, changes of a JSON document are replaced by the resulting document."""
        self._apply_diffs = apply_diffs
        self._v1 = False
        self._mariadb = False
        # By identity: equal table maps are one object, which is stored here with its text.
        self._columns: dict[int, tuple[TableMapEvent, str]] = {}

    def begin(self) -> tuple[str, ...]:
        """Return no lines: JSON lines need no head."""
        return ()

    def event(self, event: Event) -> Iterator[Line]:
        """Yield the event's line.

        Raises EventError for a row that cannot be read.
        """
        body = event.body
        if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
            self._v1 = body.binlog_version == BinlogVersion.V1
            self._mariadb = isinstance(body, FormatDescriptionEvent) and body.mariadb
        if isinstance(body, RowsEvent) and body.rows_length > LARGE:
            yield self._large_object(event, body)
        else:
            yield self._object(event, event.position)

    def end(self) -> tuple[str, ...]:
        """Return no lines."""
        return ()

    def _large_object(self, event: Event, body: RowsEvent) -> Iterator[str]:
        """Yield the pieces of `_object`; an error comes before the first piece."""
        columns = self._columns_text(body.table_map)
        start = self._head(event, event.position)
        for piece in large_rows_body(body, columns, apply_diffs=self._apply_diffs):
            yield start + piece
            start = ""
        yield "}"

    def _object(self, event: Event, position: int | None) -> str:
        return f"{self._head(event, position)}{self._body(event.body)}}}"

    def _head(self, event: Event, position: int | None) -> str:
        """Return the JSON of the event up to the body."""
        header = event.header
        checksum = "null" if event.checksum is None else f'"{event.checksum:08x}"'
        return (
            f'{{"file":{encode_basestring(event.file)},'
            f'"log_pos":{_number(position)},'
            f'"next_pos":{_number(None if self._v1 else header.log_pos)},'
            f'"type":"{event_name(header.type_code)}",'
            f'"type_code":{header.type_code},'
            f'"timestamp":{header.timestamp},'
            f'"server_id":{header.server_id},'
            f'"flags":{_number(None if self._v1 else header.flags)},'
            f'"size":{header.event_size},'
            f'"checksum":{checksum},'
            f'"body":'
        )

    def _body(self, body: EventBody) -> str:
        if isinstance(body, RowsEvent):
            return self._rows(body)
        if isinstance(body, TableMapEvent):
            return self._table_map(body)
        if isinstance(body, TransactionPayloadEvent):
            return self._payload(body)
        if isinstance(body, PartialRowDataEvent):
            return self._fragment(body)
        return dumps(body_fields(body, mariadb=self._mariadb))

    def _rows(self, body: RowsEvent) -> str:
        columns = self._columns_text(body.table_map)
        return rows_body(body, columns, apply_diffs=self._apply_diffs)

    def _table_map(self, body: TableMapEvent) -> str:
        head = {
            "table_id": body.table_id,
            "schema": body.schema,
            "table": body.table,
            "flags": body.flags,
        }
        return f'{dumps(head)[:-1]},"columns":{self._columns_text(body)}}}'

    def _payload(self, body: TransactionPayloadEvent) -> str:
        head = {
            "compression": body.compression.name,
            "payload_size": body.payload_size,
            "uncompressed_size": body.uncompressed_size,
        }
        events = ",".join(self._object(event, None) for event in body.events())
        return f'{dumps(head)[:-1]},"events":[{events}]}}'

    def _fragment(self, body: PartialRowDataEvent) -> str:
        head = {
            "total_fragments": body.total_fragments,
            "sequence_number": body.sequence_number,
            "flags": body.flags,
            "original_size": body.original_size,
            "length": len(body.fragment),
        }
        rows = body.rows_event
        if rows is None:
            return dumps(head)
        return f'{dumps(head)[:-1]},"rows_event":{self._rows(rows)}}}'

    def _columns_text(self, table_map: TableMapEvent) -> str:
        kept = self._columns.get(id(table_map))
        if kept is None:
            if len(self._columns) >= _TABLES_MAX:
                self._columns.clear()
            kept = table_map, dumps(columns_of(table_map, mariadb=self._mariadb))
            self._columns[id(table_map)] = kept
        return kept[1]


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)

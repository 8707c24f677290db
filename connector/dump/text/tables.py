"""Table maps and rows events become text; what is the same for a table map is made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.framing.event_types import EventType
from connector.codec.digits import put_uint
from connector.codec.quoted_text import ESCAPES
from connector.codec.sql_text import quoted_name
from connector.dump.events.event_info import ROWS_FLAGS
from connector.dump.lines.output import NEWLINE, encoded
from connector.dump.text.rows import TableRows
from connector.dump.text.statements import commented
from connector.errors import DecodeError

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.events.partial_row_data import PartialRowDataEvent
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.dump.lines.output import LineOutput

_NAMES: Final[dict[int, str]] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: "Write_rows_event_old",
    EventType.PRE_GA_UPDATE_ROWS_EVENT: "Update_rows_event_old",
    EventType.PRE_GA_DELETE_ROWS_EVENT: "Delete_rows_event_old",
    EventType.WRITE_ROWS_EVENT_V1: "Write_rows",
    EventType.UPDATE_ROWS_EVENT_V1: "Update_rows",
    EventType.DELETE_ROWS_EVENT_V1: "Delete_rows",
    EventType.WRITE_ROWS_EVENT: "Write_rows",
    EventType.UPDATE_ROWS_EVENT: "Update_rows",
    EventType.DELETE_ROWS_EVENT: "Delete_rows",
    EventType.PARTIAL_UPDATE_ROWS_EVENT: "Update_rows_partial",
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: "Delete_compressed_rows",
    EventType.WRITE_ROWS_COMPRESSED_EVENT: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT: "Delete_compressed_rows",
    EventType.PARTIAL_ROW_DATA_EVENT: "Rows",
}
# Up to the table id, by type code.
_STARTS: Final = [f"{_NAMES.get(code, '')}: table id ".encode() for code in range(256)]

# Table maps whose text is kept; a log has few, but a bad log can have any number.
_TABLES_MAX: Final = 1024


@final
class _TableText:
    """The text of one table map; its rows need more, which is made when the first of them come."""

    __slots__ = ("rows", "summary", "table_map")

    def __init__(self, table_map: TableMapEvent) -> None:
        self.table_map = table_map
        # Names may hold line breaks.
        name = quoted_name(table_map.schema, table_map.table).translate(ESCAPES)
        self.summary = encoded(f"Table_map: {name} mapped to number {table_map.table_id}\n")
        self.rows: TableRows | None = None


@final
class TablesText:
    """Writes the table maps and the rows of one log."""

    __slots__ = ("_flags", "_flags_text", "_latest", "_tables")

    def __init__(self) -> None:
        """Begin without any table."""
        self._latest: _TableText | None = None
        # By the identity of the table map: equal events give the same object.
        self._tables: dict[int, _TableText] = {}
        self._flags: i64 = 0
        self._flags_text = b""

    def put_table_map(self, out: BytesWriter, table_map: TableMapEvent) -> None:
        """Append the summary of a table map."""
        out.write(self._of(table_map).summary)

    def put_rows(self, type_code: int, rows: RowsEvent, output: LineOutput) -> None:
        """Append the summary of a rows event, and the lines of its rows.

        Raises EventError for a row that cannot be read.
        """
        out = output.block
        out.write(_STARTS[type_code])
        put_uint(out, rows.table_map.table_id)
        flags: i64 = rows.flags
        if flags != self._flags:
            names = [name for bit, name in ROWS_FLAGS.items() if flags & bit]
            self._flags = flags
            self._flags_text = f" flags: {' '.join(names)}".encode() if names else b""
        out.write(self._flags_text)
        out.append(u8(NEWLINE))
        if rows.refused is not None:
            for line in commented(f"The rows are not shown: {rows.refused}"):
                out.write(encoded(f"{line}\n"))
            return
        try:
            table = self._of(rows.table_map)
            if table.rows is None:
                table.rows = TableRows(rows.table_map)
            table.rows.put(rows, output)
        except DecodeError as error:
            raise rows.unreadable(error) from error

    def put_fragment(self, type_code: int, body: PartialRowDataEvent, output: LineOutput) -> None:
        """Append the summary of a fragment; the last one has the rows of all of them."""
        summary = (
            f"Partial_row_data: fragment {body.sequence_number} of {body.total_fragments}, "
            f"{len(body.fragment)} bytes"
        )
        output.block.write(summary.encode("ascii"))
        if body.rows_event is None:
            output.block.append(u8(NEWLINE))
        else:
            output.block.write(b", ends ")
            self.put_rows(type_code, body.rows_event, output)

    def _of(self, table_map: TableMapEvent) -> _TableText:
        latest = self._latest
        if latest is not None and latest.table_map is table_map:
            return latest
        table = self._tables.get(id(table_map))
        if table is None:
            if len(self._tables) >= _TABLES_MAX:
                self._tables.clear()
            # It holds the table map, so no other object gets the same identity.
            table = self._tables[id(table_map)] = _TableText(table_map)
        self._latest = table
        return table

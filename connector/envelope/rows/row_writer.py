"""Bytes of row images become JSON without Python values, with one writer for each column.

`RowEncoder` makes the same text from values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import in_column
from connector.codec.payload import PayloadReader
from connector.envelope.columns.changed_cells import ChangedWriter, ConstantWriter
from connector.envelope.debezium.field_names import field_names
from connector.envelope.rows.record_key import record_key_indexes
from connector.envelope.rows.row_images import RowImages
from connector.envelope.rows.row_member import RowMember, put_key
from connector.envelope.rows.writer_choice import cell_writer
from connector.errors import DecodeError

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent
    from connector.envelope.cells.cell_writer import CellWriter
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema

_CLOSE: Final = 0x7D
_NULL: Final = b"null"

_NOTHING: Final = PayloadReader(b"")


@final
class _Member(RowMember):
    """A column, and the writer of its cells."""

    __slots__ = ("null", "writer")

    def __init__(self, index: int, name: str, writer: CellWriter, null: bytes) -> None:
        super().__init__(index, name)
        self.writer = writer
        self.null = null


@final
class RowWriter(RowImages):
    """Writes the rows of one table map, if their images hold every column."""

    __slots__ = (
        "_every",
        "_image",
        "_key",
        "_keyed",
        "_members",
        "_nulls_length",
        "_record_keyed",
        "_rows",
        "_table_map",
    )

    def __init__(
        self, table_map: TableMapEvent, schema: TableSchema, debezium: DebeziumForm | None = None
    ) -> None:
        """Choose a writer for each column, in the profile `exact` or in the form `debezium`.

        Raises DecodeError for a column that cannot be read.
        """
        self._table_map = table_map
        readers = table_map.row_plan.readers
        names = field_names(schema.columns, debezium)
        self._members: list[_Member] = []
        places = schema.places
        for index, column in enumerate(schema.columns):
            reader = readers[places[index]]
            change = schema.changes.get(column["name"])
            writer: CellWriter
            if change is not None and change.constant:
                writer = ConstantWriter(reader, change.null)
            else:
                point = column["name"] in schema.points
                writer = cell_writer(column, reader, debezium, point=point)
                if change is not None:
                    writer = ChangedWriter(writer, change, escapes=debezium is not None)
            null = _NULL if change is None else change.null
            self._members.append(_Member(index, names[index], writer, null))
        # For each column of the table its member, or what skips it; empty if records have all.
        self._every: list[_Member | ColumnReader] = []
        if schema.unlogged:
            self._every = [*readers]
            for member, place in zip(self._members, places, strict=True):
                self._every[place] = member
        self._keyed: list[RowMember] = [self._members[index] for index in schema.key_indexes]
        record_key = record_key_indexes(schema, debezium)
        self._record_keyed: list[RowMember] = [self._members[index] for index in record_key]
        super().__init__(has_message_key=record_key != schema.key_indexes)
        self._nulls_length = bitmap_length(len(readers))
        self._key = BytesWriter()
        self._rows: RowsEvent | None = None
        self._image = _NOTHING

    def begin(self, rows: RowsEvent) -> None:
        """Go to the first row of an event."""
        self._rows = rows
        self._image = rows.images()

    def next_row(self) -> bool:
        """Return whether bytes are left, so that another row follows."""
        if self._image.offset < self._image.end:
            return True
        # Frees the bytes of the event, which may be large.
        self._rows = None
        self._image = _NOTHING
        return False

    def put(self, out: BytesWriter) -> None:
        """Append the next image as a JSON object."""
        try:
            if self._every:
                self._put_some(self._image, out)
            else:
                self._put_members(self._image, out)
        except DecodeError as error:
            assert self._rows is not None
            raise self._rows.unreadable(error) from error

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the key, copied from the columns that were written."""
        return self._copied(self._keyed, out)

    def record_key(self, out: BytesWriter) -> bytes | None:
        """Return the key of the record, copied from the columns that were written."""
        return self._copied(self._record_keyed, out)

    def _copied(self, members: list[RowMember], out: BytesWriter) -> bytes | None:
        if not members:
            return None
        key = self._key
        key.truncate(0)
        put_key(key, members, out)
        return key.getvalue()

    def _put_some(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the image without the columns that records leave out."""
        data = image.data
        nulls = image.take(self._nulls_length)
        index: i64 = 0
        try:
            for each in self._every:
                bits: i64 = data[nulls + (index >> 3)]
                is_null = bool(bits >> (index & 7) & 1)
                if isinstance(each, _Member):
                    each.start = len(out) + 1
                    out.write(each.name)
                    if is_null:
                        out.write(each.null)
                    else:
                        each.writer.put(image, out)
                    each.end = len(out)
                elif not is_null:
                    each.skip(image)
                index += 1
        except DecodeError as error:
            raise in_column(self._table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

    def _put_members(self, image: PayloadReader, out: BytesWriter) -> None:
        data = image.data
        nulls = image.take(self._nulls_length)
        index: i64 = 0
        try:
            for member in self._members:
                member.start = len(out) + 1
                out.write(member.name)
                bits: i64 = data[nulls + (index >> 3)]  # `is_set`, without a call for each column
                if bits >> (index & 7) & 1:
                    out.write(member.null)
                else:
                    member.writer.put(image, out)
                member.end = len(out)
                index += 1
        except DecodeError as error:
            raise in_column(self._table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

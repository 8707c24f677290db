"""Bytes of row images become JSON without Python values, with one writer for each column.

The type of a column and the profile choose its writer. The key of a row is copied from the text of
the row, so its columns are encoded once. `RowEncoder` makes the same text from values.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.column import ColumnReader, PrintedReader
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.row_images import bitmap_length, column_error
from connector.binlog.columns.strings import CharacterReader, GeometryReader
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import DecodeError
from connector.stream.envelope.cells import image_cells
from connector.stream.envelope.cells.labels import KeyLabelWriter, ambiguous_labels
from connector.stream.envelope.debezium.column_cells import TEXTS, debezium_writer
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.debezium.string_cells import EscapedWriter
from connector.stream.envelope.row_images import RowImages
from connector.stream.envelope.schemas.column_masks import ConstantWriter, TransformWriter
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes

_OPEN: Final = 0x7B
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


class RowMember:
    """A column of the JSON object."""

    __slots__ = ("end", "name", "start")

    def __init__(self, index: int, name: str) -> None:
        """Describe the column `name`, number `index` of the object, from 0."""
        self.name = (b"," if index else b"{") + quoted(name) + b":"
        # The bounds of the member in the latest text, without the bytes before its value.
        self.start: i64 = 0
        self.end: i64 = 0


def put_key(key: BytesWriter, members: list[RowMember], row: BytesWriter) -> None:
    """Append to `key` a JSON object of `members`, copied from `row`; both may be the same."""
    before: i64 = _OPEN
    for member in members:
        key.append(u8(before))
        at = member.start
        end = member.end
        while at < end:
            key.append(row[at])
            at += 1
        before = _COMMA
    key.append(u8(_CLOSE))


def cell_writer(
    column: SchemaColumn,
    reader: ColumnReader,
    debezium: DebeziumProfile | None = None,
    *,
    point: bool = False,
) -> image_cells.CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads.

    `debezium` is the form of its profile; `point` as in `debezium_writer`.
    """
    written = _writer(column, reader, debezium, point=point)
    numbers = ambiguous_labels(column)
    if numbers and isinstance(reader, (EnumReader, SetReader)):
        return KeyLabelWriter(column, numbers, reader, written)
    return written


def _writer(
    column: SchemaColumn, reader: ColumnReader, debezium: DebeziumProfile | None, *, point: bool
) -> image_cells.CellWriter:
    if debezium is None:
        return _exact_writer(column, reader)
    writer = debezium_writer(column, reader, debezium, point=point)
    if writer is not None:
        return writer
    written = _exact_writer(column, reader)
    return EscapedWriter(written) if column["type"] in TEXTS else written


def _exact_writer(column: SchemaColumn, reader: ColumnReader) -> image_cells.CellWriter:
    if isinstance(reader, PrintedReader):
        return image_cells.printed_writer(column, reader)
    if isinstance(reader, CharacterReader):
        return image_cells.character_writer(column, reader)
    if isinstance(reader, EnumReader):
        return image_cells.EnumWriter(reader)
    if isinstance(reader, SetReader):
        return image_cells.SetWriter(reader, column["name"])
    assert isinstance(reader, GeometryReader)
    return image_cells.GeometryWriter(reader)


_NULL: Final = b"null"

_NOTHING: Final = PayloadReader(b"")


@final
class _Member(RowMember):
    """A column, and the writer of its cells."""

    __slots__ = ("null", "writer")

    def __init__(self, index: int, name: str, writer: image_cells.CellWriter, null: bytes) -> None:
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
        self, table_map: TableMapEvent, schema: TableSchema, debezium: DebeziumProfile | None = None
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
            writer: image_cells.CellWriter
            if change is not None and change.constant:
                writer = ConstantWriter(reader, change.null)
            else:
                point = column["name"] in schema.points
                writer = cell_writer(column, reader, debezium, point=point)
                if change is not None:
                    writer = TransformWriter(writer, change, escapes=debezium is not None)
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
            for column in self._every:
                bits: i64 = data[nulls + (index >> 3)]
                is_null = bool(bits >> (index & 7) & 1)
                if isinstance(column, _Member):
                    column.start = len(out) + 1
                    out.write(column.name)
                    if is_null:
                        out.write(column.null)
                    else:
                        column.writer.put(image, out)
                    column.end = len(out)
                elif not is_null:
                    column.skip(image)
                index += 1
        except DecodeError as error:
            raise column_error(self._table_map.columns[index], index, error) from error
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
            raise column_error(self._table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

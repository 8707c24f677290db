"""Bytes of row images become JSON without Python values, with one writer for each column.

The family of a column and the profile choose its writer. The key of a row is copied from the text
of the row, so its columns are encoded once.
"""

from json.encoder import encode_basestring
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.cell_writers import CellWriter, DocumentWriter
from connector.binlog.columns.column import ColumnReader
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import ABSENT_BEFORE, NULL_BEFORE, changed_document
from connector.binlog.columns.row_images import all_set, bitmap_length, column_error, is_set
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.labels import KeyLabelWriter, ambiguous_labels
from connector.stream.envelope.cells.selected import TextDocumentReader
from connector.stream.envelope.cells.writers import exact_writer, not_text
from connector.stream.envelope.debezium.column_cells import debezium_writer
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.debezium.string_cells import CompactDocumentWriter
from connector.stream.envelope.row_images import RowImages
from connector.stream.envelope.schemas.column_masks import ConstantWriter, TransformWriter
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes

_OPEN: Final = 0x7B
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


class RowMember:
    """A column of the JSON object, and the writer of its cells."""

    __slots__ = ("end", "name", "null", "start", "writer")

    def __init__(self, index: int, name: str, writer: CellWriter, null: bytes) -> None:
        """Describe the column `name`, number `index` of the object, from 0."""
        self.name = (b"," if index else b"{") + quoted(name) + b":"
        self.writer = writer
        self.null = null
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
) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads.

    `debezium` is the form of its profile; `point` as in `debezium_writer`. Raises
    UnsupportedChange for a type that the envelope cannot hold.
    """
    written = _plain_writer(column, reader, debezium, point=point)
    numbers = ambiguous_labels(column)
    if numbers and isinstance(reader, (EnumReader, SetReader)):
        return KeyLabelWriter(column, numbers, reader, written)
    return written


def _plain_writer(
    column: SchemaColumn, reader: ColumnReader, debezium: DebeziumProfile | None, *, point: bool
) -> CellWriter:
    if debezium is None:
        return exact_writer(column, reader)
    return debezium_writer(column, reader, debezium, point=point)


def schema_writer(
    schema: TableSchema,
    column: SchemaColumn,
    reader: ColumnReader,
    debezium: DebeziumProfile | None,
    *,
    allows_same_key: bool = False,
) -> CellWriter:
    """Return the same for a column of `schema`, whose text may be another one in records.

    Unless `allows_same_key`, labels of a key that stand for another key, too, are refused.
    """
    change = schema.changes.get(column["name"])
    if change is not None and change.constant:
        return ConstantWriter(reader, change.null)
    point = column["name"] in schema.points
    if allows_same_key:
        written = _plain_writer(column, reader, debezium, point=point)
    else:
        written = cell_writer(column, reader, debezium, point=point)
    if change is None:
        return written
    return TransformWriter(written, change, escapes=debezium is not None)


_NULL: Final = b"null"


def null_of(schema: TableSchema, column: SchemaColumn) -> bytes:
    """Return the JSON of NULL in a column of `schema`."""
    change = schema.changes.get(column["name"])
    return _NULL if change is None else change.null


_NOTHING: Final = PayloadReader(b"")


@final
class RowWriter(RowImages):
    """Writes the rows of one table map."""

    __slots__ = (
        "_checked",
        "_debezium",
        "_documents",
        "_every",
        "_image",
        "_is_after",
        "_is_lone",
        "_is_whole",
        "_key",
        "_keyed",
        "_members",
        "_nulls_length",
        "_offsets",
        "_places",
        "_plan",
        "_record_keyed",
        "_rows",
        "_schema",
        "_table_map",
    )

    def __init__(
        self, table_map: TableMapEvent, schema: TableSchema, debezium: DebeziumProfile | None = None
    ) -> None:
        """Choose a writer for each column, in the profile `exact` or in the form `debezium`.

        Raises DecodeError for a column that cannot be read, UnsupportedChange for one that the
        envelope cannot hold.
        """
        self._table_map = table_map
        self._schema = schema
        self._debezium = debezium
        self._plan = table_map.row_plan
        readers = self._plan.readers
        names = field_names(schema.columns, debezium)
        self._members: list[RowMember] = []
        self._places = schema.places
        # For each column of the table its member, or what skips it.
        self._every: list[RowMember | ColumnReader] = [*readers]
        for index, column in enumerate(schema.columns):
            place = self._places[index]
            writer = schema_writer(schema, column, readers[place], debezium)
            member = RowMember(index, names[index], writer, null_of(schema, column))
            self._members.append(member)
            self._every[place] = member
        self._keyed: list[RowMember] = [self._members[index] for index in schema.key_indexes]
        record_key = record_key_indexes(schema, debezium)
        self._record_keyed: list[RowMember] = [self._members[index] for index in record_key]
        super().__init__(has_message_key=record_key != schema.key_indexes)
        self._nulls_length = bitmap_length(len(readers))
        self._key = BytesWriter()
        self._rows: RowsEvent | None = None
        self._image = _NOTHING
        # Of the event: whether each image has all columns, whether it is one row without any
        # byte, and whether the next image is the one after the change.
        self._is_whole = True
        self._is_lone = False
        self._is_after = False
        # Where the documents of the image before are, by column, if the event may change them.
        self._offsets: list[int] = []
        self._checked = b""  # the columns that an image was last found to have
        # By column, what writes the text of a changed document.
        self._documents: dict[int, CellWriter] = {}

    def begin(self, rows: RowsEvent) -> None:
        """Go to the first row of an event; raise DecodeError if no row can be read."""
        columns: i64 = len(self._table_map.columns)
        before, after = rows.before_columns_present, rows.after_columns_present
        self._is_whole = (
            not rows.partial
            and rows.refused is None
            and not self._schema.unlogged
            and columns > 0
            and (before is None or all_set(before, columns))
            and (after is None or all_set(after, columns))
        )
        self._is_lone = not self._is_whole and rows.has_lone_row()
        self._rows = rows
        self._image = rows.images()

    def next_row(self) -> bool:
        """Return whether bytes are left, so that another row follows."""
        rows = self._rows
        if rows is not None and (self._is_lone or self._image.offset < self._image.end):
            self._is_lone = False
            self._is_after = rows.before_columns_present is None
            return True
        # Frees the bytes of the event, which may be large.
        self._rows = None
        self._image = _NOTHING
        return False

    def put(self, out: BytesWriter) -> None:
        """Append the next image as a JSON object."""
        try:
            if not self._is_whole:
                self._put_present(self._image, out)
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

    def _put_members(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an image whose columns are all in records."""
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

    def _put_present(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an image of any event, which may leave out columns, or hold changes of some."""
        rows = self._rows
        assert rows is not None
        is_after = self._is_after
        self._is_after = True
        present = rows.after_columns_present if is_after else rows.before_columns_present
        assert present is not None
        indexes = self._indexes(present)
        readers = self._plan.readers
        if is_after and rows.partial:
            readers = self._plan.partial_readers(image)
        elif rows.partial:
            self._offsets = [ABSENT_BEFORE] * len(readers)
        data = image.data
        nulls = image.take(bitmap_length(len(indexes)))
        if not self._members:
            out.append(u8(_OPEN))
        number: i64 = 0
        index = 0
        try:
            for index in indexes:
                is_null = is_set(data, nulls, number)
                number += 1
                column = self._every[index]
                if rows.partial and not is_after:
                    self._offsets[index] = NULL_BEFORE if is_null else int(image.offset)
                if isinstance(column, RowMember):
                    column.start = len(out) + 1
                    out.write(column.name)
                    if is_null:
                        out.write(column.null)
                    else:
                        self._put_value(index, column, readers[index], image, out)
                    column.end = len(out)
                elif not is_null:
                    readers[index].skip(image)
        except DecodeError as error:
            raise column_error(self._table_map.columns[index], index, error) from error
        out.append(u8(_CLOSE))

    def _put_value(
        self,
        index: int,
        member: RowMember,
        reader: ColumnReader,
        image: PayloadReader,
        out: BytesWriter,
    ) -> None:
        """Append the value of column `index`; `reader` may read changes of a document."""
        if reader is self._plan.readers[index]:
            member.writer.put(image, out)
            return
        name = self._schema.columns[self._places.index(index)]["name"]
        documents = self._plan.readers[index]
        text = changed_document(image, reader, documents, self._offsets[index])
        if not isinstance(text, str):
            raise not_text(name)
        writer = self._documents.get(index)
        if writer is None:
            texts = TextDocumentReader(name)
            exact = self._debezium is None
            writer = DocumentWriter(name, texts) if exact else CompactDocumentWriter(texts)
            self._documents[index] = writer
        writer.put(PayloadReader(text.encode()), out)

    def _indexes(self, present: bytes) -> list[int]:
        """Return the columns of an image; raise UnsupportedChange if it lacks one of records."""
        indexes = self._plan.indexes(present)
        if present == self._checked:
            return indexes
        for index, place in enumerate(self._places):
            if place not in indexes:
                name = field_names(self._schema.columns, self._debezium)[index]
                raise UnsupportedChange(
                    record_errors.COLUMN_ABSENT, column=encode_basestring(name)[1:-1]
                )
        self._checked = present
        return indexes

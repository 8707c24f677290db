"""TABLE_MAP_EVENT becomes a table's name and columns; rows events refer to it by its table id.

::

    table_id u48 │ flags u16 │ length u8 │ schema │ 0 │ length u8 │ table │ 0 │
    column count lenenc │ type u8 * count │ length lenenc │ metadata │
    null bitmap (count + 7) / 8 │ optional metadata

The table id is u32 when FORMAT_DESCRIPTION gives a post-header of 6 bytes. Servers before 5.1.18,
which have no rows events but those of version 0, end the event after the types.

Table maps are decoded once: a server writes the same bytes before each change of a table. Equal
bytes give the same object, so what is derived from it, such as the plan to read rows, is made once,
too.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from dataclasses import dataclass, field
from typing import Final, final

from mypy_extensions import i64

from connector.binlog import log_errors
from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.optional_metadata import (
    KNOWN_FIELDS,
    MetadataField,
    read_optional_metadata,
)
from connector.binlog.columns.row_images import RowPlan, bitmap_length, is_set
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.header import TABLE_MAP, EventType, read_post_header
from connector.binlog.payload_reader import PayloadReader, has_bytes_at, utf8_text
from connector.foundation.errors import DecodeError

TABLE_MAP_HEADER_LENGTH: Final = 8
# The post-header of servers (5.1.4 and older) whose table ids have four bytes.
_SHORT_POST_HEADER_LENGTH: Final = 6

_METADATA_LENGTHS: dict[int, int] = {
    ColumnType.DECIMAL: 0,
    ColumnType.TINY: 0,
    ColumnType.SHORT: 0,
    ColumnType.LONG: 0,
    ColumnType.FLOAT: 1,
    ColumnType.DOUBLE: 1,
    ColumnType.NULL: 0,
    ColumnType.TIMESTAMP: 0,
    ColumnType.LONGLONG: 0,
    ColumnType.INT24: 0,
    ColumnType.DATE: 0,
    ColumnType.TIME: 0,
    ColumnType.DATETIME: 0,
    ColumnType.YEAR: 0,
    ColumnType.NEWDATE: 0,
    ColumnType.VARCHAR: 2,
    ColumnType.BIT: 2,
    ColumnType.TIMESTAMP2: 1,
    ColumnType.DATETIME2: 1,
    ColumnType.TIME2: 1,
    ColumnType.BLOB_COMPRESSED: 1,
    ColumnType.VARCHAR_COMPRESSED: 2,
    ColumnType.VECTOR: 1,
    ColumnType.JSON: 1,
    ColumnType.NEWDECIMAL: 2,
    ColumnType.ENUM: 2,
    ColumnType.SET: 2,
    ColumnType.TINY_BLOB: 1,
    ColumnType.MEDIUM_BLOB: 1,
    ColumnType.LONG_BLOB: 1,
    ColumnType.BLOB: 1,
    ColumnType.VAR_STRING: 2,
    ColumnType.STRING: 2,
    ColumnType.GEOMETRY: 1,
}
# A TYPED_ARRAY has the element's type and metadata; of a VARCHAR, the length has three bytes.
_TYPED_ARRAY_VARCHAR_LENGTH = 3


@dataclass(slots=True)
class TableMapEvent:
    """The definition that the rows events of the same statement refer to.

    Equal events give the same object, so that derived objects can be kept with it; it must not be
    changed.
    """

    table_id: int
    flags: int
    schema: str
    table: str
    columns: list[Column]
    has_metadata: bool = True  # false: nothing but the types is known of the columns
    metadata_fields: tuple[int, ...] = ()  # types of the optional metadata, in its order
    named: bool = True  # whether the log has the names of the columns
    # The body that it was decoded from, where it is kept for others with the same bytes.
    raw: bytes = field(default=b"", repr=False, compare=False)
    _metadata_start: int = field(default=0, repr=False, compare=False)  # in `raw`
    _bitmap: bytes = field(default=b"", repr=False, compare=False)  # read last
    _row_plan: RowPlan | None = field(default=None, repr=False, compare=False)

    @classmethod
    def decode(
        cls,
        body: PayloadReader,
        post_header_length: int | None = None,
        *,
        mariadb: bool = False,
        pre_ga: bool = False,
    ) -> "TableMapEvent":
        """Decode the names, types, metadata and null bitmap, then the optional metadata.

        MariaDB lists the character sets of other columns. Only a server whose rows events are
        `pre_ga` may leave the metadata out.
        """
        start = body.offset
        head = read_post_header(body, post_header_length, TABLE_MAP_HEADER_LENGTH)
        table_id = read_table_id(head, post_header_length)
        flags = head.read_uint16()
        schema = _read_name(body)
        table = _read_name(body)
        types = body.read_bytes(body.read_lenenc())
        if pre_ga and not body.remaining:
            columns = [Column(type_code, metadata=0, nullable=True) for type_code in types]
            return cls(
                table_id, flags, schema, table, columns, has_metadata=False, named=not columns
            )
        metadata = PayloadReader(body.read_lenenc_bytes())
        nullable = body.take(bitmap_length(len(types)))
        columns = [
            Column(
                type_code=type_code,
                metadata=_read_metadata(metadata, type_code),
                nullable=is_set(body.data, nullable, index),
            )
            for index, type_code in enumerate(types)
        ]
        if metadata.remaining:
            raise DecodeError(log_errors.METADATA_LEFT, count=metadata.remaining)
        metadata_start = body.offset - start
        fields = read_optional_metadata(body, columns, mariadb=mariadb)
        return cls(
            table_id,
            flags,
            schema,
            table,
            columns,
            metadata_fields=fields,
            named=MetadataField.COLUMN_NAME in fields or not columns,
            _metadata_start=metadata_start,
        )

    def with_metadata(self, metadata: bytes, *, mariadb: bool) -> "TableMapEvent":
        """Return the same with other optional metadata, as it would be in the event.

        Raises DecodeError if the metadata does not fit the columns.
        """
        columns = [
            Column(column.type_code, column.metadata, column.nullable) for column in self.columns
        ]
        fields = read_optional_metadata(PayloadReader(metadata), columns, mariadb=mariadb)
        return TableMapEvent(
            self.table_id,
            self.flags,
            self.schema,
            self.table,
            columns,
            metadata_fields=fields,
            named=MetadataField.COLUMN_NAME in fields,
            raw=self.raw[: self._metadata_start] + metadata,
            _metadata_start=self._metadata_start,
        )

    @property
    def unknown_fields(self) -> tuple[int, ...]:
        """Types of the optional metadata that was skipped, because they are newer than this."""
        return tuple(field for field in self.metadata_fields if field not in KNOWN_FIELDS)

    def read_bitmap(self, body: PayloadReader) -> bytes:
        """Read one bit for each column; one that is as the last one was is the same object."""
        length = bitmap_length(len(self.columns))
        start = body.take(length)
        data = body.data
        last = self._bitmap
        at: i64 = 0
        if len(last) == length:
            while at < length and data[start + at] == last[at]:
                at += 1
        if at < length:
            last = data[start : start + length]
            self._bitmap = last
        return last

    @property
    def row_plan(self) -> RowPlan:
        """The steps that read a row image, made at the first use.

        Raises DecodeError for a column that cannot be read.
        """
        if self._row_plan is None:
            self._row_plan = RowPlan(self.columns)
        return self._row_plan


def read_table_id(head: PayloadReader, post_header_length: int | None) -> i64:
    """Read the table id at the start of the fixed part of a table map or a rows event."""
    length: i64 = TABLE_MAP_HEADER_LENGTH if post_header_length is None else post_header_length
    return head.read_uint32() if length == _SHORT_POST_HEADER_LENGTH else head.read_uint48()


def _read_name(body: PayloadReader) -> str:
    raw = body.read_bytes(body.read_uint8())
    body.skip(1)
    return utf8_text(raw, "name of the schema or the table")


def _read_metadata(metadata: PayloadReader, type_code: int) -> int:
    if type_code == ColumnType.TYPED_ARRAY:
        element = metadata.read_uint8()
        if element == ColumnType.VARCHAR:
            return metadata.read_uint(_TYPED_ARRAY_VARCHAR_LENGTH) << 8 | element
        return metadata.read_uint(_metadata_length(element)) << 8 | element
    return metadata.read_uint(_metadata_length(type_code))


def _metadata_length(type_code: int) -> int:
    length = _METADATA_LENGTHS.get(type_code)
    if length is None:
        raise DecodeError(log_errors.VALUE_UNKNOWN, field="column type", value=type_code)
    return length


# Number of decoded table maps that are kept; the one decoded first is dropped.
TABLE_MAPS_MAX: Final = 1024

# Slots for the latest table maps, by the lowest bits of the table id, which a server counts up.
_LATEST: Final = 64
_LATEST_MASK: Final = _LATEST - 1


@final
class TableMapCache:
    """The table maps of one format of a log."""

    def __init__(self, log: FormatDescriptionEvent, *, mariadb: bool) -> None:
        """Expect table maps in the format `log`."""
        self._post_header_length = log.post_header_length(TABLE_MAP)
        self._pre_ga = log.post_header_length(EventType.WRITE_ROWS_EVENT_V1) is None
        self._mariadb = mariadb
        self._latest: list[TableMapEvent | None] = [None] * _LATEST
        self._decoded: dict[bytes, TableMapEvent] = {}

    def decode(self, body: PayloadReader) -> TableMapEvent:
        """Return the table map in the body; decode it if these bytes are new.

        Raises DecodeError for one that cannot be read.
        """
        data = body.data
        start = body.offset
        length = body.remaining
        # The lowest byte of the table id; a shorter body cannot be decoded.
        slot: i64 = 0
        if length > 0:
            slot = data[start] & _LATEST_MASK
        latest = self._latest[slot]
        if latest is not None:
            known = latest.raw
            if len(known) == length and has_bytes_at(data, start, known):
                body.take(length)
                return latest
        raw = data[start : body.end]
        table_map = self._decoded.get(raw)
        if table_map is None:
            table_map = TableMapEvent.decode(
                body, self._post_header_length, mariadb=self._mariadb, pre_ga=self._pre_ga
            )
            table_map.raw = raw
            if len(self._decoded) >= TABLE_MAPS_MAX:
                del self._decoded[next(iter(self._decoded))]
            self._decoded[raw] = table_map
        else:
            body.skip(len(raw))
        self._latest[slot] = table_map
        return table_map

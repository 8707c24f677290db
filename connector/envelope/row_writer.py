"""A row image becomes a JSON object without values in between, by steps composed once for a table.

`RowEncoder` makes the same text of the values, which the images of partial updates need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.row_plan import describe
from connector.envelope.cell_writers import CellWriter, cell_writer
from connector.errors import DecodeError
from connector.json_strings import quoted

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.table_map_event import TableMapEvent
    from connector.envelope.table_schema import TableSchema
    from connector.payload import PayloadReader

_OPEN: Final = 0x7B
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D
_NULL: Final = b"null"


@final
class _Member:
    """A column of the object that is written."""

    __slots__ = ("end", "name", "start", "writer")

    def __init__(self, name: bytes, writer: CellWriter) -> None:
        self.name = name  # with what stands before it: `{"id":` or `,"id":`
        self.writer = writer
        # Of the member in the text that was written last, without what stands before it.
        self.start: i64 = 0
        self.end: i64 = 0


@final
class RowWriter:
    """Writes the rows of one table map whose images hold every column."""

    __slots__ = ("_keys", "_members", "_nulls_length", "_table_map")

    def __init__(self, table_map: TableMapEvent, schema: TableSchema) -> None:
        """Compose the steps of the columns.

        Raises DecodeError for a column that cannot be read.
        """
        self._table_map = table_map
        readers = table_map.row_plan.readers
        self._members = [
            _Member(
                (b"," if place else b"{") + quoted(column["name"]) + b":",
                cell_writer(column, readers[place]),
            )
            for place, column in enumerate(schema.columns)
        ]
        self._keys = [self._members[place] for place in schema.key_indexes]
        self._nulls_length: i64 = (len(self._members) + 7) // 8

    def put_image(self, image: PayloadReader, out: BytesWriter) -> None:
        """Take one row image, and append it as a JSON object.

        Raises DecodeError that names the column, UnsupportedChange for a value that the envelope
        has no form for.
        """
        data = image.data
        nulls = image.take(self._nulls_length)
        place: i64 = 0
        try:
            for member in self._members:
                member.start = len(out) + 1
                out.write(member.name)
                bits: i64 = data[nulls + (place >> 3)]
                if bits >> (place & 7) & 1:
                    out.write(_NULL)
                else:
                    member.writer.put(image, out)
                member.end = len(out)
                place += 1
        except DecodeError as error:
            reason = f"{describe(self._table_map.columns[place], place)}: {error}"
            raise DecodeError(reason) from error
        out.append(u8(_CLOSE))

    def key(self, out: BytesWriter, scratch: BytesWriter) -> bytes | None:
        """Return the key of the row that was appended to `out` last; None without a primary key."""
        if not self._keys:
            return None
        scratch.truncate(0)
        before: i64 = _OPEN
        for member in self._keys:
            scratch.append(u8(before))
            at = member.start
            end = member.end
            while at < end:
                scratch.append(out[at])
                at += 1
            before = _COMMA
        scratch.append(u8(_CLOSE))
        return scratch.getvalue()

"""Keys of ENUM and SET whose text is that of another key.

Servers take `ENUM('', 'a')`, which prints its first label as its error value, and without strict
mode labels that are equal, `ENUM('a', 'a')`. They tell rows with such keys by the number, and
records have the text: two rows would have one key, and consumers would lose one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.bits import EnumReader
from connector.envelope.cells.cell_writer import CellWriter
from connector.envelope.cells.selected_cell import SelectedCell
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.columns.bits import SetReader
    from connector.codec.payload import PayloadReader
    from connector.contract import SchemaColumn


def indistinct(column: SchemaColumn) -> frozenset[int]:
    """Return the numbers of ENUM, or the bits of SET, whose text may be that of another one.

    The error value of an ENUM is one if there is an empty label, as it is the rarer of the two.
    Empty if the column is not in the key, or has other labels.
    """
    labels = column.get("labels", [])
    if not column["key"] or (len(set(labels)) == len(labels) and "" not in labels):
        return frozenset()
    is_enum = column["type"] == "enum"
    found = {0} if is_enum and "" in labels else set()
    for place, label in enumerate(labels):
        if label in labels[:place] or (not label and not is_enum):
            found.add(place + 1 if is_enum else 1 << place)
    return frozenset(found)


def require_distinct(column: SchemaColumn, numbers: frozenset[int], stored: int) -> None:
    """Raise UnsupportedChange if the `stored` number is one of `numbers`, or has such a bit."""
    is_indistinct = stored in numbers
    if column["type"] == "set":
        is_indistinct = any(stored & bit for bit in numbers)
    if is_indistinct:
        raise UnsupportedChange(table_rows.SAME_KEY, column=column["name"], number=stored)


@final
class DistinctWriter(CellWriter):
    """Labels of a key in a row image; refuses those that stand for another key, too."""

    __slots__ = ("_column", "_numbers", "_reader", "_written")

    def __init__(
        self,
        column: SchemaColumn,
        numbers: frozenset[int],
        reader: EnumReader | SetReader,
        written: CellWriter,
    ) -> None:
        """Write as `written`, except the `numbers` of `indistinct`."""
        self._column = column
        self._numbers = numbers
        self._reader = reader
        self._written = written

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append what `written` does, or raise UnsupportedChange."""
        start: i64 = image.offset
        reader = self._reader
        stored: int
        if isinstance(reader, EnumReader):
            stored = int(reader.read_index(image))
        else:
            stored = reader.read_mask(image)
        require_distinct(self._column, self._numbers, stored)
        image.offset = start
        self._written.put(image, out)


@final
class DistinctCell(SelectedCell):
    """Labels of a key of a SELECT, sent as their number, with the same refusal."""

    __slots__ = ("_column", "_numbers", "_written")

    def __init__(
        self, column: SchemaColumn, numbers: frozenset[int], written: SelectedCell
    ) -> None:
        """Write as `written`, except the `numbers` of `indistinct`."""
        self._column = column
        self._numbers = numbers
        self._written = written

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append what `written` does, or raise UnsupportedChange."""
        require_distinct(self._column, self._numbers, int(data[start:end]))
        self._written.put(out, data, start, end)

"""Labels of ENUM and SET in keys, of which each must be another text.

Servers take `ENUM('', 'a')`, which prints its first label as its error value, and without strict
mode labels that are equal, `ENUM('a', 'a')`. They tell rows with such keys by the number, and
records have the text: two rows would have one key, and consumers would lose one of them.
"""

from typing import final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors


def ambiguous_labels(column: SchemaColumn) -> frozenset[int]:
    """Return the numbers of ENUM, or the bits of SET, whose text may be that of another one.

    The error value of an ENUM is one if there is an empty label, as it is the rarer of the two.
    Empty if the column is not in the key, or has other labels.
    """
    labels = column.get("labels", [])
    if not column["key"] or (len(set(labels)) == len(labels) and "" not in labels):
        return frozenset()
    is_enum = column["type"] == "enum"
    numbers = {0} if is_enum and "" in labels else set()
    for place, label in enumerate(labels):
        if label in labels[:place] or (not label and not is_enum):
            numbers.add(place + 1 if is_enum else 1 << place)
    return frozenset(numbers)


def require_unambiguous(column: SchemaColumn, numbers: frozenset[int], stored: int) -> None:
    """Raise UnsupportedChange if the `stored` number is one of `numbers`, or has such a bit."""
    is_indistinct = stored in numbers
    if column["type"] == "set":
        is_indistinct = any(stored & bit for bit in numbers)
    if is_indistinct:
        raise UnsupportedChange(record_errors.SAME_KEY, column=column["name"], number=stored)


@final
class KeyLabelWriter(CellWriter):
    """Labels of a key; refuses those that stand for another key, too."""

    __slots__ = ("_column", "_numbers", "_reader", "_written")

    def __init__(
        self,
        column: SchemaColumn,
        numbers: frozenset[int],
        reader: EnumReader | SetReader,
        written: CellWriter,
    ) -> None:
        """Write as `written`, except the `numbers` of `ambiguous_labels`."""
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
        require_unambiguous(self._column, self._numbers, stored)
        image.offset = start
        self._written.put(image, out)


def has_uncertain_labels(column: SchemaColumn) -> bool:
    """Return whether two labels may look the same: servers show some characters as `?`.

    The cells of such an ENUM or SET in a SELECT are labels, as UTF-8, instead of numbers.
    """
    return any("?" in label for label in column.get("labels", ()))

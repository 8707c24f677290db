"""Row images become dicts by column names.

::

    update   before image │ after image     each as in `row_plan`
             ▲ old          ▲ new           the two cursors move over the same columns

Most columns of an updated row keep their value. Equal bytes are one value, so it is read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.bitmap import bitmap_length
from connector.binlog.columns.row_plan import in_column
from connector.codec.payload import PayloadReader
from connector.codec.same_bytes import has_same_bytes
from connector.errors import DecodeError

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.columns.row_plan import RowPlan
    from connector.binlog.columns.values import Value


@final
class _NamedColumn:
    """A column that an image holds.

    Its class is exactly this one, so compiled code need not search the bases of each reader.
    """

    __slots__ = ("index", "name", "reader")

    def __init__(self, index: int, name: str, reader: ColumnReader) -> None:
        self.index = index
        self.name = name
        self.reader = reader


@final
class NamedImages:
    """Reads row images of one table that hold the same columns."""

    __slots__ = ("_blank", "_columns", "_nulls_length", "_plan", "indexes")

    def __init__(self, plan: RowPlan, indexes: list[int], names: list[str]) -> None:
        """Read images that hold the columns at `indexes`, which come from `plan.indexes`.

        `names` are those of all columns of the table.
        """
        self.indexes = indexes
        self._plan = plan
        self._columns = [
            _NamedColumn(index, names[index], plan.readers[index]) for index in indexes
        ]
        # A copy of it does not grow while it is filled.
        self._blank: dict[str, Value] = {names[index]: None for index in indexes}
        self._nulls_length: i64 = bitmap_length(len(indexes))

    def read(self, image: PayloadReader) -> dict[str, Value]:
        """Read one image; columns that it leaves out are absent.

        Raises DecodeError that names the column.
        """
        values = self._blank.copy()
        data = image.data
        nulls = image.take(self._nulls_length)
        number: i64 = 0
        try:
            for column in self._columns:
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                if not bits >> (number & 7) & 1:
                    values[column.name] = column.reader.read(image)
                number += 1
        except DecodeError as error:
            raise self._in_column(number, error) from error
        return values

    def read_update(self, new: PayloadReader) -> tuple[dict[str, Value], dict[str, Value]]:
        """Read the image before an update and the one after it, and move `new` past both.

        A value that the update did not change is the same object in both. Raises DecodeError that
        names the column.
        """
        before = self._blank.copy()
        after = self._blank.copy()
        data = new.data
        start = new.offset
        self._plan.skip_image(new, self.indexes)
        old = PayloadReader(data, start, new.offset)
        old_nulls = old.take(self._nulls_length)
        new_nulls = new.take(self._nulls_length)
        number: i64 = 0
        try:
            for column in self._columns:
                byte = number >> 3
                bit = number & 7
                # `is_set`, without a call for each column
                old_bits: i64 = data[old_nulls + byte]
                new_bits: i64 = data[new_nulls + byte]
                if old_bits >> bit & 1:
                    if not new_bits >> bit & 1:
                        after[column.name] = column.reader.read(new)
                else:
                    start = old.offset
                    value = column.reader.read(old)
                    before[column.name] = value
                    if not new_bits >> bit & 1:
                        # The bytes of a value say where it ends: equal bytes are an equal value.
                        length = old.offset - start
                        at = new.offset
                        if length <= new.end - at and has_same_bytes(data, at, start, length):
                            new.offset = at + length
                        else:
                            value = column.reader.read(new)
                        after[column.name] = value
                number += 1
        except DecodeError as error:
            raise self._in_column(number, error) from error
        return before, after

    def _in_column(self, number: i64, error: DecodeError) -> DecodeError:
        index = self._columns[number].index
        return in_column(self._plan.columns[index], index, error)

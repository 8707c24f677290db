"""The row images of a rows event become rows: lists in the order of the table, or dicts by name.

::

    update   before image │ after image     each as in `columns.row_images`
             ▲ old          ▲ new           two cursors move over the same columns

Most columns of an updated row keep their value. Equal bytes are one value, so for dicts it is read
once.
"""

from dataclasses import dataclass
from typing import final

from mypy_extensions import i64

from connector.binlog.columns.column import ColumnReader, Value
from connector.binlog.columns.json import with_diffs_applied
from connector.binlog.columns.row_images import RowPlan, bitmap_length, column_error
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader, has_same_bytes
from connector.foundation.errors import DecodeError


@dataclass(slots=True)
class Row:
    """One changed row: the columns before and after, in the order of the table.

    An insert has no `before`, a delete no `after`.
    """

    before: list[Value] | None
    after: list[Value] | None


@final
class RowReader:
    """Reads or skips the rows of one event. Raises DecodeError for a row that cannot be read."""

    __slots__ = ("_after", "_before", "_image", "_partial", "_plan")

    def __init__(
        self,
        plan: RowPlan,
        image: PayloadReader,
        before_columns_present: bytes | None,
        after_columns_present: bytes | None,
        *,
        partial: bool,
    ) -> None:
        """Begin at the cursor of `image`; without a bitmap, rows lack that image."""
        self._plan = plan
        self._image = image
        self._before = indexes_of(plan, before_columns_present)
        self._after = indexes_of(plan, after_columns_present)
        self._partial = partial

    @property
    def offset(self) -> i64:
        """Where the next row begins."""
        return self._image.offset

    def has_more(self) -> bool:
        """Return whether bytes are left."""
        return self._image.offset < self._image.end

    def read(self) -> Row:
        """Read the next row."""
        plan = self._plan
        image = self._image
        before: list[Value] | None = None
        after: list[Value] | None = None
        if self._before is not None:
            before = plan.read_image(image, self._before)
        if self._after is not None:
            after = plan.read_image(image, self._after, partial=self._partial)
        return Row(before, after)

    def skip(self) -> None:
        """Skip the next row."""
        plan = self._plan
        image = self._image
        if self._before is not None:
            plan.skip_image(image, self._before)
        if self._after is not None:
            plan.skip_image(image, self._after, partial=self._partial)


def indexes_of(plan: RowPlan, columns_present: bytes | None) -> list[int] | None:
    """Return the indexes of the columns that an image holds; None without the image."""
    return None if columns_present is None else plan.indexes(columns_present)


def with_whole_documents(row: Row, table_map: TableMapEvent) -> Row:
    """Return a row of a partial update with whole documents instead of their changes.

    Raises DecodeError that names the column.
    """
    before, after = row.before, row.after
    assert before is not None
    assert after is not None
    whole: list[Value] = []
    index = 0
    try:
        for value in before:
            whole.append(with_diffs_applied(value, after[index]))
            index += 1
    except DecodeError as error:
        raise column_error(table_map.columns[index], index, error) from error
    return Row(before, whole)


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
        return column_error(self._plan.columns[index], index, error)

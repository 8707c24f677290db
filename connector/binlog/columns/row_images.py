"""Row images: the columns of a table become the steps that read an image of a row.

::

    row image       null_bitmap, one bit for each column present │ value of each column not NULL
    partial image   value_options lenenc │ [1: bitmap of the JSON columns that are changes] │
                    row image

In bitmaps, bit n is bit n % 8 of byte n / 8, the lowest bit first.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html
"""

from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64

from connector.binlog import log_errors, value_errors
from connector.binlog.columns import decimal, floats, integers, json, strings, temporal
from connector.binlog.columns.column import (
    ABSENT,
    Column,
    ColumnReader,
    ColumnType,
    Value,
    column_type_name,
)
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_EIGHT_BITS: Final = 0xFF


def bitmap_length(count: i64) -> i64:
    """Return the number of bytes for `count` bits."""
    return (count + 7) >> 3


def is_set(data: bytes, start: i64, number: i64) -> bool:
    """Return whether bit `number` is set in the bitmap that begins at `data[start]`.

    The loops that read rows repeat these two lines, because a call for each column costs too much.
    """
    octet: i64 = data[start + (number >> 3)]
    return octet >> (number & 7) & 1 != 0


def set_indexes(bitmap: bytes, count: i64) -> list[int]:
    """Return the numbers of the bits that are set, of `count` bits."""
    indexes: list[int] = []
    number: i64 = 0
    while number < count:
        if is_set(bitmap, 0, number):
            indexes.append(number)
        number += 1
    return indexes


def all_set(bitmap: bytes, count: i64) -> bool:
    """Return whether the first `count` bits are set."""
    index: i64 = 0
    while count >= 8:  # noqa: PLR2004 - a byte of the bitmap
        if bitmap[index] != _EIGHT_BITS:
            return False
        index += 1
        count -= 8
    if not count:
        return True
    rest: i64 = (1 << count) - 1
    return bitmap[index] & rest == rest


def _bit_reader(column: Column) -> integers.BitReader:
    bits = column.length
    assert bits is not None
    return integers.BitReader(bits)


def _blob_reader(column: Column) -> strings.StringReader:
    return strings.StringReader(column, strings.require_blob_length(column))


def _varchar_reader(column: Column) -> strings.StringReader:
    return strings.StringReader(column, strings.varchar_prefix(column))


def _refuse_old_decimal(_: Column) -> ColumnReader:
    """Refuse a DECIMAL of a table that was made before 5.0: text, whose length the log has not."""
    raise DecodeError(value_errors.OLD_DECIMAL)


_READERS: dict[int, Callable[[Column], ColumnReader]] = {
    ColumnType.TINY: lambda column: integers.IntegerReader(1, column.unsigned),
    ColumnType.SHORT: lambda column: integers.IntegerReader(2, column.unsigned),
    ColumnType.INT24: lambda column: integers.IntegerReader(3, column.unsigned),
    ColumnType.LONG: lambda column: integers.IntegerReader(4, column.unsigned),
    ColumnType.LONGLONG: lambda column: integers.IntegerReader(8, column.unsigned),
    ColumnType.YEAR: lambda _: integers.YearReader(),
    ColumnType.FLOAT: lambda _: floats.FloatReader(),
    ColumnType.DOUBLE: lambda _: floats.DoubleReader(),
    ColumnType.NEWDECIMAL: lambda column: decimal.DecimalReader(
        column.metadata & 0xFF, column.metadata >> 8
    ),
    ColumnType.DECIMAL: _refuse_old_decimal,
    ColumnType.DATE: lambda _: temporal.DateReader(),
    ColumnType.NEWDATE: lambda _: temporal.DateReader(),
    ColumnType.TIMESTAMP2: lambda column: temporal.Timestamp2Reader(column.metadata),
    ColumnType.DATETIME2: lambda column: temporal.Datetime2Reader(column.metadata),
    ColumnType.TIME2: lambda column: temporal.Time2Reader(column.metadata),
    ColumnType.TIMESTAMP: lambda _: temporal.TimestampReader(),
    ColumnType.DATETIME: lambda _: temporal.DatetimeReader(),
    ColumnType.TIME: lambda _: temporal.TimeReader(),
    ColumnType.STRING: strings.char_reader,
    ColumnType.VARCHAR: _varchar_reader,
    ColumnType.VAR_STRING: _varchar_reader,
    ColumnType.BLOB: _blob_reader,
    ColumnType.TINY_BLOB: _blob_reader,
    ColumnType.MEDIUM_BLOB: _blob_reader,
    ColumnType.LONG_BLOB: _blob_reader,
    ColumnType.VARCHAR_COMPRESSED: lambda column: strings.CompressedReader(
        column, strings.varchar_prefix(column)
    ),
    ColumnType.BLOB_COMPRESSED: lambda column: strings.CompressedReader(
        column, strings.require_blob_length(column)
    ),
    ColumnType.BIT: _bit_reader,
    ColumnType.ENUM: lambda column: integers.EnumReader(column.stored_length, column.labels or []),
    ColumnType.SET: lambda column: integers.SetReader(column.stored_length, column.labels),
    ColumnType.JSON: lambda column: json.JsonReader(strings.require_blob_length(column)),
    ColumnType.TYPED_ARRAY: lambda _: json.TypedArrayReader(),
    ColumnType.GEOMETRY: lambda column: strings.GeometryReader(strings.require_blob_length(column)),
    ColumnType.VECTOR: lambda column: floats.VectorReader(strings.require_blob_length(column)),
}

_OLD_TEMPORAL = (ColumnType.TIME, ColumnType.DATETIME, ColumnType.TIMESTAMP)


@final
class RowPlan:
    """Reads row images of one table; each column's reader is chosen once."""

    __slots__ = ("_json_indexes", "_steps", "columns", "old_temporal", "readers")

    def __init__(self, columns: list[Column]) -> None:
        """Choose the readers of `columns`.

        Raises DecodeError for a column that cannot be read.
        """
        self.columns = columns
        self.readers = [_reader(column, index) for index, column in enumerate(columns)]
        self._json_indexes = [
            index for index, column in enumerate(columns) if column.real_type == ColumnType.JSON
        ]
        # Which columns are TIME, DATETIME or TIMESTAMP in the format before 5.6.
        self.old_temporal = [
            index for index, column in enumerate(columns) if column.type_code in _OLD_TEMPORAL
        ]
        # By bitmap, because statements of one table mostly write the same columns.
        self._steps: dict[bytes, list[int]] = {}

    def indexes(self, columns_present: bytes) -> list[int]:
        """Return the indexes of the columns whose bit is set."""
        indexes = self._steps.get(columns_present)
        if indexes is None:
            indexes = set_indexes(columns_present, len(self.readers))
            if len(self._steps) < _STEPS_MAX:
                self._steps[columns_present] = indexes
        return indexes

    def read_image(
        self, image: PayloadReader, indexes: list[int], *, partial: bool = False
    ) -> list[Value]:
        """Read one row image that holds the columns at `indexes`.

        In a `partial` one, the after image of a PARTIAL_UPDATE_ROWS_EVENT, JSON columns may be
        `JsonDiffs`. Raises DecodeError that names the column.
        """
        readers = self.partial_readers(image) if partial else self.readers
        data = image.data
        nulls = image.take(bitmap_length(len(indexes)))
        values: list[Value] = [ABSENT] * len(readers)
        number: i64 = 0  # of the columns that the image holds
        index = 0
        try:
            for index in indexes:
                bits: i64 = data[nulls + (number >> 3)]  # `is_set`, without a call for each column
                if bits >> (number & 7) & 1:
                    values[index] = None
                else:
                    values[index] = readers[index].read(image)
                number += 1
        except DecodeError as error:
            raise column_error(self.columns[index], index, error) from error
        return values

    def partial_readers(self, image: PayloadReader) -> list[ColumnReader]:
        """Read the part before the row image in a partial one; return the readers of its columns.

        A document that the image holds as changes has a JsonDiffsReader. Raises DecodeError.
        """
        options = image.read_lenenc()
        if options > _PARTIAL_JSON:
            raise DecodeError(log_errors.VALUE_OPTIONS, options=options)
        readers = self.readers
        if options == _PARTIAL_JSON:
            # One bit for each JSON column of the table, also of those that the image leaves out.
            partial = int.from_bytes(
                image.read_bytes(bitmap_length(len(self._json_indexes))), "little"
            )
            readers = readers.copy()
            for number, index in enumerate(self._json_indexes):
                if partial >> number & 1:
                    readers[index] = json.JsonDiffsReader(
                        strings.require_blob_length(self.columns[index])
                    )
        return readers

    def skip_image(
        self, image: PayloadReader, indexes: list[int], *, partial: bool = False
    ) -> None:
        """Skip one row image; arguments and errors as of `read_image`."""
        readers = self.partial_readers(image) if partial else self.readers
        self.read_chosen(image, indexes, readers, _NONE, _NO_VALUES)

    def read_chosen(
        self,
        image: PayloadReader,
        indexes: list[int],
        readers: list[ColumnReader],
        chosen: frozenset[int],
        values: list[Value],
    ) -> None:
        """Read the `chosen` columns of one row image into `values`, and skip the others.

        A column that is NULL or that the image leaves out stays as it is in `values`. Raises
        DecodeError that names the column.
        """
        data = image.data
        nulls = image.take(bitmap_length(len(indexes)))
        reads = len(chosen) > 0
        number: i64 = 0  # of the columns that the image holds
        index = 0
        try:
            for index in indexes:
                if not is_set(data, nulls, number):
                    if reads and index in chosen:
                        values[index] = readers[index].read(image)
                    else:
                        readers[index].skip(image)
                number += 1
        except DecodeError as error:
            raise column_error(self.columns[index], index, error) from error


# The one value option: binlog_row_value_options=PARTIAL_JSON.
_PARTIAL_JSON = 1

# What `read_chosen` takes to skip an image.
_NONE: Final[frozenset[int]] = frozenset()
_NO_VALUES: Final[list[Value]] = []

# Bitmaps that one plan remembers; with binlog_row_image=MINIMAL there may be many.
_STEPS_MAX = 64


def _reader(column: Column, index: int) -> ColumnReader:
    choose = _READERS.get(column.real_type)
    if choose is None:
        raise column_error(column, index, DecodeError(log_errors.TYPE_NOT_READ))
    try:
        return choose(column)
    except DecodeError as error:
        raise column_error(column, index, error) from error


def column_label(column: Column, index: int) -> str:
    """Return a column's name in messages: its name, or its number from 1, and its type."""
    return f"column {_name(column, index)} ({column_type_name(column.real_type)})"


def column_error(column: Column, index: int, error: DecodeError) -> DecodeError:
    """Return the error with its column, which is at `index` of the table."""
    return DecodeError(
        log_errors.COLUMN,
        column=_name(column, index),
        type=column_type_name(column.real_type),
        why=error,
    )


def _name(column: Column, index: int) -> str:
    return column.name if column.name is not None else str(index + 1)

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

from connector.binlog import log_errors
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


_READERS: dict[int, Callable[[Column], ColumnReader]] = {
    ColumnType.TINY: integers.integer_reader,
    ColumnType.SHORT: integers.integer_reader,
    ColumnType.INT24: integers.integer_reader,
    ColumnType.LONG: integers.integer_reader,
    ColumnType.LONGLONG: integers.integer_reader,
    ColumnType.YEAR: integers.year_reader,
    ColumnType.FLOAT: floats.float_reader,
    ColumnType.DOUBLE: floats.double_reader,
    ColumnType.NEWDECIMAL: decimal.decimal_reader,
    ColumnType.DECIMAL: decimal.old_decimal_reader,
    ColumnType.DATE: temporal.date_reader,
    ColumnType.NEWDATE: temporal.date_reader,
    ColumnType.TIMESTAMP2: temporal.timestamp2_reader,
    ColumnType.DATETIME2: temporal.datetime2_reader,
    ColumnType.TIME2: temporal.time2_reader,
    ColumnType.TIMESTAMP: temporal.timestamp_reader,
    ColumnType.DATETIME: temporal.datetime_reader,
    ColumnType.TIME: temporal.time_reader,
    ColumnType.STRING: strings.char_reader,
    ColumnType.VARCHAR: strings.varchar_reader,
    ColumnType.VAR_STRING: strings.varchar_reader,
    ColumnType.BLOB: strings.blob_reader,
    ColumnType.TINY_BLOB: strings.blob_reader,
    ColumnType.MEDIUM_BLOB: strings.blob_reader,
    ColumnType.LONG_BLOB: strings.blob_reader,
    ColumnType.VARCHAR_COMPRESSED: strings.compressed_varchar_reader,
    ColumnType.BLOB_COMPRESSED: strings.compressed_blob_reader,
    ColumnType.BIT: integers.bit_reader,
    ColumnType.ENUM: integers.enum_reader,
    ColumnType.SET: integers.set_reader,
    ColumnType.JSON: json.json_reader,
    ColumnType.TYPED_ARRAY: json.typed_array_reader,
    ColumnType.GEOMETRY: strings.geometry_reader,
    ColumnType.VECTOR: floats.vector_reader,
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

    def read_image(self, image: PayloadReader, indexes: list[int]) -> list[Value]:
        """Read one row image that holds the columns at `indexes`.

        Raises DecodeError that names the column.
        """
        return self._read_image(image, indexes, self.readers)

    def read_partial_image(self, image: PayloadReader, indexes: list[int]) -> list[Value]:
        """Read an after image of a PARTIAL_UPDATE_ROWS_EVENT: JSON columns may be `JsonDiffs`.

        Raises DecodeError that names the column.
        """
        return self._read_image(image, indexes, self.partial_readers(image))

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
                    readers[index] = json.json_diffs_reader(self.columns[index])
        return readers

    def skip_image(self, image: PayloadReader, indexes: list[int]) -> None:
        """Skip one row image that holds the columns at `indexes`.

        Raises DecodeError that names the column.
        """
        self.read_chosen(image, indexes, self.readers, _NONE, _NO_VALUES)

    def skip_partial_image(self, image: PayloadReader, indexes: list[int]) -> None:
        """Skip an after image of a PARTIAL_UPDATE_ROWS_EVENT.

        Raises DecodeError that names the column.
        """
        self.read_chosen(image, indexes, self.partial_readers(image), _NONE, _NO_VALUES)

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

    def _read_image(
        self, image: PayloadReader, indexes: list[int], readers: list[ColumnReader]
    ) -> list[Value]:
        data = image.data
        nulls = image.take(bitmap_length(len(indexes)))
        values: list[Value] = [ABSENT] * len(readers)
        number: i64 = 0  # of the columns that the image holds
        index = 0
        try:
            for index in indexes:
                integers: i64 = data[
                    nulls + (number >> 3)
                ]  # `is_set`, without a call for each column
                if integers >> (number & 7) & 1:
                    values[index] = None
                else:
                    values[index] = readers[index].read(image)
                number += 1
        except DecodeError as error:
            raise column_error(self.columns[index], index, error) from error
        return values


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

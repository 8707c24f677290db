"""The columns of a table become the steps that read a row image.

::

    row image       null_bitmap, one bit for each column present │ value of each column not NULL
    partial image   value_options lenenc │ [1: bitmap of the JSON columns that are changes] │
                    row image

Bit n of a bitmap is bit n % 8 of byte n / 8, the lowest bit first.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns import (
    bits,
    compressed,
    decimal,
    floats,
    geometry,
    integers,
    json,
    json_diffs,
    old_temporal,
    strings,
    temporal,
    vector,
)
from connector.binlog.columns.column_types import ColumnType, column_type_name
from connector.binlog.columns.values import ABSENT, Value
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader

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
    ColumnType.TIMESTAMP: old_temporal.timestamp_reader,
    ColumnType.DATETIME: old_temporal.datetime_reader,
    ColumnType.TIME: old_temporal.time_reader,
    ColumnType.STRING: strings.char_reader,
    ColumnType.VARCHAR: strings.varchar_reader,
    ColumnType.VAR_STRING: strings.varchar_reader,
    ColumnType.BLOB: strings.blob_reader,
    ColumnType.TINY_BLOB: strings.blob_reader,
    ColumnType.MEDIUM_BLOB: strings.blob_reader,
    ColumnType.LONG_BLOB: strings.blob_reader,
    ColumnType.VARCHAR_COMPRESSED: compressed.compressed_varchar_reader,
    ColumnType.BLOB_COMPRESSED: compressed.compressed_blob_reader,
    ColumnType.BIT: bits.bit_reader,
    ColumnType.ENUM: bits.enum_reader,
    ColumnType.SET: bits.set_reader,
    ColumnType.JSON: json.json_reader,
    ColumnType.TYPED_ARRAY: json.typed_array_reader,
    ColumnType.GEOMETRY: geometry.geometry_reader,
    ColumnType.VECTOR: vector.vector_reader,
}


_OLD_TEMPORAL = (ColumnType.TIME, ColumnType.DATETIME, ColumnType.TIMESTAMP)


@final
class RowPlan:
    """Reads row images of one table; each column's reader is chosen once."""

    __slots__ = ("_columns", "_json_places", "_steps", "old_temporal", "readers")

    def __init__(self, columns: list[Column]) -> None:
        """Choose the readers of `columns`.

        Raises DecodeError for a column that cannot be read.
        """
        self._columns = columns
        self.readers = [_reader(column, place) for place, column in enumerate(columns)]
        self._json_places = [
            place for place, column in enumerate(columns) if column.real_type == ColumnType.JSON
        ]
        # The places of TIME, DATETIME and TIMESTAMP in the format before 5.6.
        self.old_temporal = [
            place for place, column in enumerate(columns) if column.type_code in _OLD_TEMPORAL
        ]
        # By bitmap: statements of one table mostly write the same columns.
        self._steps: dict[bytes, list[int]] = {}

    def places(self, columns_present: bytes) -> list[int]:
        """Return the places of the columns whose bit is set."""
        places = self._steps.get(columns_present)
        if places is None:
            places = [
                place
                for place in range(len(self.readers))
                if columns_present[place >> 3] >> (place & 7) & 1
            ]
            if len(self._steps) < _STEPS_MAX:
                self._steps[columns_present] = places
        return places

    def read_image(self, image: PayloadReader, places: list[int]) -> list[Value]:
        """Read one row image that holds the columns at `places`.

        Raises DecodeError that names the column.
        """
        return self._read_image(image, places, self.readers)

    def read_partial_image(self, image: PayloadReader, places: list[int]) -> list[Value]:
        """Read an after image of a PARTIAL_UPDATE_ROWS_EVENT: JSON columns may be `JsonDiffs`.

        Raises DecodeError that names the column.
        """
        return self._read_image(image, places, self.partial_readers(image))

    def partial_readers(self, image: PayloadReader) -> list[ColumnReader]:
        """Read what stands before the row image in a partial one; return what reads its columns.

        That is a JsonDiffsReader for each document of which it has the changes. Raises DecodeError.
        """
        options = image.read_lenenc()
        if options > _PARTIAL_JSON:
            reason = f"value options {options:#x} are not known: upgrade the connector"
            raise DecodeError(reason)
        readers = self.readers
        if options == _PARTIAL_JSON:
            # One bit for each JSON column of the table, also of those that the image leaves out.
            partial = int.from_bytes(image.read_bytes((len(self._json_places) + 7) // 8), "little")
            readers = readers.copy()
            for number, place in enumerate(self._json_places):
                if partial >> number & 1:
                    readers[place] = json_diffs.json_diffs_reader(self._columns[place])
        return readers

    def skip_image(self, image: PayloadReader, places: list[int]) -> None:
        """Move behind one row image that holds the columns at `places`.

        Raises DecodeError that names the column.
        """
        self._skip_image(image, places, self.readers)

    def skip_partial_image(self, image: PayloadReader, places: list[int]) -> None:
        """Move behind an after image of a PARTIAL_UPDATE_ROWS_EVENT.

        Raises DecodeError that names the column.
        """
        self._skip_image(image, places, self.partial_readers(image))

    def read_named_image(
        self, image: PayloadReader, places: list[int], names: list[str]
    ) -> dict[str, Value]:
        """Read one row image by the names of the columns; those that are absent are not in it.

        Raises DecodeError that names the column.
        """
        readers = self.readers
        data = image.data
        nulls = image.take((len(places) + 7) >> 3)
        values: dict[str, Value] = {}
        number: i64 = 0  # of the columns that the image holds
        place = 0
        try:
            for place in places:
                bits: i64 = data[nulls + (number >> 3)]
                if bits >> (number & 7) & 1:
                    values[names[place]] = None
                else:
                    values[names[place]] = readers[place].read(image)
                number += 1
        except DecodeError as error:
            reason = f"{describe(self._columns[place], place)}: {error}"
            raise DecodeError(reason) from error
        return values

    def _read_image(
        self, image: PayloadReader, places: list[int], readers: list[ColumnReader]
    ) -> list[Value]:
        data = image.data
        nulls = image.take((len(places) + 7) >> 3)
        values: list[Value] = [ABSENT] * len(readers)
        number: i64 = 0  # of the columns that the image holds
        place = 0
        try:
            for place in places:
                bits: i64 = data[nulls + (number >> 3)]
                if bits >> (number & 7) & 1:
                    values[place] = None
                else:
                    values[place] = readers[place].read(image)
                number += 1
        except DecodeError as error:
            reason = f"{describe(self._columns[place], place)}: {error}"
            raise DecodeError(reason) from error
        return values

    def _skip_image(
        self, image: PayloadReader, places: list[int], readers: list[ColumnReader]
    ) -> None:
        data = image.data
        nulls = image.take((len(places) + 7) >> 3)
        number: i64 = 0  # of the columns that the image holds
        place = 0
        try:
            for place in places:
                bits: i64 = data[nulls + (number >> 3)]
                if not bits >> (number & 7) & 1:
                    readers[place].skip(image)
                number += 1
        except DecodeError as error:
            reason = f"{describe(self._columns[place], place)}: {error}"
            raise DecodeError(reason) from error


# The one value option: binlog_row_value_options=PARTIAL_JSON.
_PARTIAL_JSON = 1

# Bitmaps that one plan remembers; with binlog_row_image=MINIMAL there may be many.
_STEPS_MAX = 64


def _reader(column: Column, place: int) -> ColumnReader:
    choose = _READERS.get(column.real_type)
    if choose is None:
        reason = (
            f"{describe(column, place)}: values of this type are not supported: exclude the table"
        )
        raise DecodeError(reason)
    try:
        return choose(column)
    except DecodeError as error:
        reason = f"{describe(column, place)}: {error}"
        raise DecodeError(reason) from error


def describe(column: Column, place: int) -> str:
    """Return how messages call a column: its name, or its place, and its type."""
    name = column.name if column.name is not None else str(place + 1)
    return f"column {name} ({column_type_name(column.real_type)})"

"""The columns of a table become columns of Arrow: each has a type, and what builds its arrays.

Every value is exact, or an error: what a type of Arrow cannot hold, such as the date 0000-00-00, is
refused by name, unless dates are asked for as text.

=============================  ========================================================
TINYINT … BIGINT               int8 … int64, uint8 … uint64; MEDIUMINT as INT
YEAR, BIT                      uint16, uint64
DECIMAL                        decimal128, above 38 digits decimal256
FLOAT, DOUBLE                  float, double
CHAR, VARCHAR, ENUM, SET       string; binary without a character set in the log, and
                               uint64 for ENUM and SET without labels
TEXT, JSON                     large_string
BINARY, VARBINARY              binary; UUID and INET6 of MariaDB look like them
BLOB                           large_binary
DATE                           date32
DATETIME, TIMESTAMP            timestamp[us], timestamp[us, UTC]
TIME                           duration[us]
GEOMETRY                       struct<srid: uint32, wkb: large_binary>
VECTOR                         list<float>
=============================  ========================================================

https://arrow.apache.org/docs/python/api/datatypes.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from connector.binlog.columns.bits import BitReader, EnumReader, SetReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.column_types import ColumnType
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.floats import DoubleReader, FloatReader
from connector.binlog.columns.geometry import GeometryReader
from connector.binlog.columns.integers import IntegerReader, YearReader
from connector.binlog.columns.strings import CharacterReader, StringReader
from connector.binlog.columns.vector import VectorReader
from connector.errors import DecodeError, log_arrow, log_values
from connector.reader.arrow.nested import GeometryBuilder, VectorBuilder
from connector.reader.arrow.numbers import (
    DecimalBuilder,
    DoubleBuilder,
    FloatBuilder,
    IntegerBuilder,
    UnsignedBuilder,
    YearBuilder,
)
from connector.reader.arrow.temporal import (
    DateBuilder,
    Datetime2Builder,
    DatetimeBuilder,
    Time2Builder,
    TimeBuilder,
    Timestamp2Builder,
    TimestampBuilder,
)
from connector.reader.arrow.text import (
    BytesBuilder,
    ConvertedBuilder,
    EnumBuilder,
    PrintedBuilder,
    SetBuilder,
    Utf8Builder,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.reader.arrow.builder import ArrayBuilder

_INTEGERS = {
    "tinyint": (pa.int8(), pa.uint8()),
    "smallint": (pa.int16(), pa.uint16()),
    "mediumint": (pa.int32(), pa.uint32()),
    "int": (pa.int32(), pa.uint32()),
    "bigint": (pa.int64(), pa.uint64()),
}
_OTHERS = {
    "year": pa.uint16(),
    "bit": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "char": pa.string(),
    "varchar": pa.string(),
    "text": pa.large_string(),
    "json": pa.large_string(),
    "binary": pa.binary(),
    "varbinary": pa.binary(),
    "blob": pa.large_binary(),
    "time": pa.duration("us"),
    "geometry": pa.struct([("srid", pa.uint32()), ("wkb", pa.large_binary())]),
    "vector": pa.list_(pa.float32()),
}
_DATES = {
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_DECIMAL128_DIGITS_MAX = 38
_DECIMAL_DIGITS_MAX = 65


def arrow_type(column: Column, *, dates_as_text: bool) -> pa.DataType:
    """Return the type for a column.

    Raises DecodeError for one without a form in Arrow.
    """
    kind = column.type_name
    if kind in _INTEGERS:
        return _INTEGERS[kind][column.unsigned]
    if kind in _OTHERS:
        return _OTHERS[kind]
    if kind in ("enum", "set"):
        return pa.uint64() if column.labels is None else pa.string()
    if kind == "decimal":
        return _decimal(column.precision or 0, column.scale or 0)
    if kind in _DATES:
        return pa.string() if dates_as_text else _DATES[kind]
    raise DecodeError(log_arrow.NO_TYPE, type=kind)


def _decimal(digits: int, scale: int) -> pa.DataType:
    if not 0 < digits <= _DECIMAL_DIGITS_MAX:
        raise DecodeError(log_values.DECIMAL_DIGITS, precision=digits, scale=scale)
    make = pa.decimal128 if digits <= _DECIMAL128_DIGITS_MAX else pa.decimal256
    return make(digits, scale)


def array_builder(kind: pa.DataType, column: Column, reader: ColumnReader) -> ArrayBuilder:
    """Return what gathers the values of a column, which `reader` reads, in arrays of its type."""
    if isinstance(reader, CharacterReader):
        return _text_builder(kind, column, reader)
    if isinstance(reader, (EnumReader, SetReader)):
        return _label_builder(kind, column, reader)
    if isinstance(reader, BitReader):
        return UnsignedBuilder(kind, ((column.length or 0) + 7) // 8, big_endian=True)
    if isinstance(reader, GeometryReader):
        return GeometryBuilder(kind, reader, column.metadata)
    if isinstance(reader, VectorReader):
        return VectorBuilder(kind, reader, column.metadata)
    if isinstance(reader, DecimalReader):
        return DecimalBuilder(kind, reader)
    assert isinstance(reader, PrintedReader)
    if kind in (pa.string(), pa.large_string()):
        return PrintedBuilder(kind, reader)
    if column.real_type in _TEMPORAL:
        return _TEMPORAL[column.real_type](kind, reader, column.fraction or 0)
    return _number_builder(kind, reader)


def _text_builder(kind: pa.DataType, column: Column, reader: CharacterReader) -> ArrayBuilder:
    if isinstance(reader, StringReader):
        if column.binary:
            return BytesBuilder(kind, reader.prefix, reader.pad)
        if reader.utf8:
            return Utf8Builder(kind, reader.prefix)
    return ConvertedBuilder(kind, reader, binary=column.binary)


def _label_builder(
    kind: pa.DataType, column: Column, reader: EnumReader | SetReader
) -> ArrayBuilder:
    if column.labels is None:
        return UnsignedBuilder(kind, column.stored_length, big_endian=False)
    if isinstance(reader, EnumReader):
        return EnumBuilder(kind, reader)
    return SetBuilder(kind, reader, column.stored_length)


def _number_builder(kind: pa.DataType, reader: PrintedReader) -> ArrayBuilder:
    if isinstance(reader, FloatReader):
        return FloatBuilder(kind, reader)
    if isinstance(reader, DoubleReader):
        return DoubleBuilder(kind, reader)
    if isinstance(reader, YearReader):
        return YearBuilder(kind, reader)
    assert isinstance(reader, IntegerReader)
    return IntegerBuilder(kind, reader)


_TEMPORAL: dict[int, Callable[[pa.DataType, PrintedReader, int], ArrayBuilder]] = {
    ColumnType.DATE: DateBuilder,
    ColumnType.NEWDATE: DateBuilder,
    ColumnType.TIMESTAMP2: Timestamp2Builder,
    ColumnType.DATETIME2: Datetime2Builder,
    ColumnType.TIME2: Time2Builder,
    ColumnType.TIMESTAMP: TimestampBuilder,
    ColumnType.DATETIME: DatetimeBuilder,
    ColumnType.TIME: TimeBuilder,
}

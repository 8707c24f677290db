"""The columns of a batch: where each row comes from, and the table's columns by Arrow's types.

Every value is exact, or an error. A value that the Arrow type cannot hold, such as the date
0000-00-00, is an error that names the column, unless dates are requested as text.

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

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import pyarrow as pa
from mypy_extensions import i64

from connector.binlog import argument_errors, value_errors
from connector.binlog.arrow import builder, temporal, variable_size
from connector.binlog.columns import integers
from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    Column,
    ColumnReader,
    ColumnType,
    Family,
    PrintedReader,
)
from connector.binlog.columns.strings import CharacterReader, StringReader
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    from connector.binlog.event import Event


_DECIMAL128_DIGITS_MAX = 38
_DECIMAL_DIGITS_MAX = 65


def arrow_type(column: Column, *, dates_as_text: bool) -> pa.DataType:
    """Return the type for a column.

    Raises DecodeError for a column without a type in Arrow.
    """
    family = column.family
    if family is None:
        raise DecodeError(argument_errors.NO_TYPE, type=column.type_name)
    if dates_as_text and family in _DATES:
        return pa.string()
    return TYPES[family](column)


def array_builder(kind: pa.DataType, column: Column, reader: ColumnReader) -> builder.ArrayBuilder:
    """Return the builder that collects the values of a column, read by `reader`, in arrays."""
    family = column.family
    assert family is not None
    return BUILDERS[family](kind, column, reader)


_DATES: Final = frozenset({Family.DATE, Family.DATETIME, Family.TIMESTAMP})


def _always(kind: pa.DataType) -> Callable[[Column], pa.DataType]:
    return lambda _: kind


def _integer(signed: pa.DataType, unsigned: pa.DataType) -> Callable[[Column], pa.DataType]:
    return lambda column: unsigned if column.unsigned else signed


def _decimal(column: Column) -> pa.DataType:
    digits, scale = column.precision or 0, column.scale or 0
    if not 0 < digits <= _DECIMAL_DIGITS_MAX:
        raise DecodeError(value_errors.DECIMAL_DIGITS, precision=digits, scale=scale)
    make = pa.decimal128 if digits <= _DECIMAL128_DIGITS_MAX else pa.decimal256
    return make(digits, scale)


def _labels(column: Column) -> pa.DataType:
    return pa.uint64() if column.labels is None else pa.string()


TYPES: Final[dict[Family, Callable[[Column], pa.DataType]]] = {
    **dict.fromkeys(PRINTED, _always(pa.string())),
    Family.TINYINT: _integer(pa.int8(), pa.uint8()),
    Family.SMALLINT: _integer(pa.int16(), pa.uint16()),
    Family.MEDIUMINT: _integer(pa.int32(), pa.uint32()),
    Family.INT: _integer(pa.int32(), pa.uint32()),
    Family.BIGINT: _integer(pa.int64(), pa.uint64()),
    Family.DECIMAL: _decimal,
    Family.FLOAT: _always(pa.float32()),
    Family.DOUBLE: _always(pa.float64()),
    Family.BIT: _always(pa.uint64()),
    **dict.fromkeys(CHARACTERS, _always(pa.string())),
    Family.TEXT: _always(pa.large_string()),
    Family.ENUM: _labels,
    Family.SET: _labels,
    **dict.fromkeys(BINARIES, _always(pa.binary())),
    Family.BLOB: _always(pa.large_binary()),
    Family.DATE: _always(pa.date32()),
    Family.DATETIME: _always(pa.timestamp("us")),
    Family.TIMESTAMP: _always(pa.timestamp("us", tz="UTC")),
    Family.TIME: _always(pa.duration("us")),
    Family.YEAR: _always(pa.uint16()),
    Family.JSON: _always(pa.large_string()),
    Family.GEOMETRY: _always(pa.struct([("srid", pa.uint32()), ("wkb", pa.large_binary())])),
    Family.VECTOR: _always(pa.list_(pa.float32())),
}


def _text_builder(
    kind: pa.DataType, column: Column, reader: CharacterReader
) -> builder.ArrayBuilder:
    if isinstance(reader, StringReader):
        if column.binary:
            return variable_size.BytesBuilder(kind, reader.prefix, reader.pad)
        if reader.utf8:
            return variable_size.Utf8Builder(kind, reader.prefix)
    return variable_size.ConvertedBuilder(kind, reader, binary=column.binary)


def _label_builder(
    kind: pa.DataType, column: Column, reader: integers.EnumReader | integers.SetReader
) -> builder.ArrayBuilder:
    if column.labels is None:
        return builder.UnsignedBuilder(kind, column.stored_length, big_endian=False)
    if isinstance(reader, integers.EnumReader):
        return variable_size.EnumBuilder(kind, reader)
    return variable_size.SetBuilder(kind, reader, column.stored_length)


def _bit_builder(kind: pa.DataType, column: Column, _: ColumnReader) -> builder.ArrayBuilder:
    return builder.UnsignedBuilder(kind, ((column.length or 0) + 7) // 8, big_endian=True)


def _time_builder(kind: pa.DataType, column: Column, reader: PrintedReader) -> builder.ArrayBuilder:
    if kind == pa.string():
        return variable_size.PrintedBuilder(kind, reader)
    return _TIMES[column.real_type](kind, reader, column.fraction or 0)


_TIMES: Final[dict[int, Callable[[pa.DataType, PrintedReader, int], builder.ArrayBuilder]]] = {
    ColumnType.DATE: temporal.DateBuilder,
    ColumnType.NEWDATE: temporal.DateBuilder,
    ColumnType.TIMESTAMP2: temporal.Timestamp2Builder,
    ColumnType.DATETIME2: temporal.Datetime2Builder,
    ColumnType.TIME2: temporal.Time2Builder,
    ColumnType.TIMESTAMP: temporal.TimestampBuilder,
    ColumnType.DATETIME: temporal.DatetimeBuilder,
    ColumnType.TIME: temporal.TimeBuilder,
}

# Any stands for the reader of the family.
_Choice: TypeAlias = Callable[[pa.DataType, Column, Any], builder.ArrayBuilder]


def _of_reader(made: Callable[[pa.DataType, Any], builder.ArrayBuilder]) -> _Choice:
    return lambda kind, _, reader: made(kind, reader)


def _of_stored(made: Callable[[pa.DataType, Any, int], builder.ArrayBuilder]) -> _Choice:
    return lambda kind, column, reader: made(kind, reader, column.metadata)


_integer_builder: Final = _of_reader(builder.IntegerBuilder)

BUILDERS: Final[dict[Family, _Choice]] = {
    **dict.fromkeys(INTEGERS, _integer_builder),
    **dict.fromkeys(CHARACTERS, _text_builder),
    **dict.fromkeys(BINARIES, _text_builder),
    **dict.fromkeys(PRINTED, _time_builder),
    Family.DECIMAL: _of_reader(builder.DecimalBuilder),
    Family.FLOAT: _of_reader(builder.FloatBuilder),
    Family.DOUBLE: _of_reader(builder.DoubleBuilder),
    Family.BIT: _bit_builder,
    Family.ENUM: _label_builder,
    Family.SET: _label_builder,
    Family.YEAR: _of_reader(builder.YearBuilder),
    Family.JSON: _of_reader(variable_size.PrintedBuilder),
    Family.GEOMETRY: _of_stored(variable_size.GeometryBuilder),
    Family.VECTOR: _of_stored(variable_size.VectorBuilder),
}


_OP: Final = pa.field("_op", pa.string(), nullable=False)
_IMAGE: Final = pa.field("_image", pa.string(), nullable=False)
_FILE: Final = pa.field("_file", pa.string(), nullable=False)
_POS: Final = pa.field("_pos", pa.uint64(), nullable=False)
_GTID: Final = pa.field("_gtid", pa.string())
_TIMESTAMP: Final = pa.field("_timestamp", pa.timestamp("us", tz="UTC"), nullable=False)
_SEQ: Final = pa.field("_seq", pa.uint64(), nullable=False)
_ABSENT: Final = pa.field("_absent", pa.list_(pa.string()))
CHANGE: Final = [_OP, _IMAGE, _FILE, _POS, _GTID, _TIMESTAMP, _SEQ, _ABSENT]
CHANGE_NAMES: Final = frozenset(field.name for field in CHANGE)

_MICROSECONDS: Final = 1_000_000


@final
class ChangeColumns:
    """The columns, and the values that the images of the current event share."""

    def __init__(self) -> None:
        self._op = builder.VariableWidthBuilder(_OP.type)
        self._image = builder.VariableWidthBuilder(_IMAGE.type)
        self._file = builder.VariableWidthBuilder(_FILE.type)
        self._pos = builder.FixedWidthBuilder(_POS.type)
        self._gtid = builder.VariableWidthBuilder(_GTID.type)
        self._timestamp = builder.FixedWidthBuilder(_TIMESTAMP.type)
        self._seq = builder.FixedWidthBuilder(_SEQ.type)
        self._absent = variable_size.NamesBuilder(_ABSENT.type)
        self.builders: list[builder.ArrayBuilder] = [  # in the order of the columns
            self._op,
            self._image,
            self._file,
            self._pos,
            self._gtid,
            self._timestamp,
            self._seq,
            self._absent,
        ]
        self._op_text = b""
        self._file_name = ""
        self._file_text = b""
        self._event_pos: i64 = 0
        self._gtid_text: bytes | None = None
        self._microseconds: i64 = 0

    def begin(self, event: Event, rows: RowsEvent, gtid: bytes | None) -> None:
        """Expect images of this event."""
        kind = rows.kind
        self._op_text = b"insert" if kind is INSERT else b"delete" if kind is DELETE else b"update"
        if event.file != self._file_name:
            self._file_name = event.file
            self._file_text = event.file.encode()
        self._event_pos = event.position
        self._gtid_text = gtid
        self._microseconds = i64(event.header.timestamp) * _MICROSECONDS

    def append(self, image: bytes, absent: list[bytes], seq: i64, row: i64) -> None:
        """Add a row for an image of the event; the columns in `absent` are not in the image."""
        self._op.append_bytes(self._op_text)
        self._image.append_bytes(image)
        self._file.append_bytes(self._file_text)
        self._pos.append_int64(self._event_pos)
        gtid = self._gtid_text
        if gtid is None:
            self._gtid.append_null(row)
        else:
            self._gtid.append_bytes(gtid)
        self._timestamp.append_int64(self._microseconds)
        self._seq.append_int64(seq)
        if absent:
            self._absent.append_names(absent)
        else:
            self._absent.append_null(row)

"""The columns of a table become Arrow's types, and their values Arrow's values.

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

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connector.binlog.values import EnumIndex, JsonDiffs
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column

    # Makes an Arrow value of one that is not NULL; None where they are the same.
    Convert = Callable[[Any], Any] | None

_INTEGERS = {
    "tinyint": (pa.int8(), pa.uint8()),
    "smallint": (pa.int16(), pa.uint16()),
    "mediumint": (pa.int32(), pa.uint32()),
    "int": (pa.int32(), pa.uint32()),
    "bigint": (pa.int64(), pa.uint64()),
}
_PLAIN = {
    "year": pa.uint16(),
    "bit": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "varbinary": pa.binary(),
    "blob": pa.large_binary(),
    "vector": pa.list_(pa.float32()),
}
_TEXTS = {
    "char": pa.string(),
    "varchar": pa.string(),
    "text": pa.large_string(),
    "json": pa.large_string(),
}
_GEOMETRY = pa.struct([("srid", pa.uint32()), ("wkb", pa.large_binary())])
_DECIMAL128_DIGITS_MAX = 38
_DECIMAL_DIGITS_MAX = 65
_TIME = re.compile(r"(-?)([0-9]+):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")


def arrow_type(column: Column, *, dates_as_text: bool) -> tuple[pa.DataType, Convert]:
    """Return the type for a column, and what makes its values of those that were decoded.

    The function raises DecodeError for a value that the type cannot hold. Raises DecodeError for a
    type without a form in Arrow.
    """
    kind = column.type_name
    if kind in _INTEGERS:
        return _INTEGERS[kind][column.unsigned], None
    if kind in _PLAIN:
        return _PLAIN[kind], None
    if kind in _TEXTS:
        return _TEXTS[kind], _text
    if kind in ("enum", "set"):
        if column.labels is None:
            return pa.uint64(), _number
        return pa.string(), _text
    if kind == "decimal":
        return _decimal(column.precision or 0, column.scale or 0), Decimal
    if kind == "geometry":
        return _GEOMETRY, _geometry
    if kind == "time":
        return pa.duration("us"), _duration
    if kind in _DATES:
        return (pa.string(), None) if dates_as_text else _DATES[kind]
    reason = f"its type {kind} has no form in Arrow"
    raise DecodeError(reason)


def _decimal(digits: int, scale: int) -> pa.DataType:
    if not 0 < digits <= _DECIMAL_DIGITS_MAX:
        reason = f"DECIMAL({digits},{scale}) does not exist"
        raise DecodeError(reason)
    make = pa.decimal128 if digits <= _DECIMAL128_DIGITS_MAX else pa.decimal256
    return make(digits, scale)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, EnumIndex):
        reason = f"its value {value.index} has no label"
    elif isinstance(value, JsonDiffs):
        reason = "it has changes of a document, which the log does not have (binlog_row_image=FULL)"
    else:
        reason = "its value is not text of its character set"
    raise DecodeError(reason)


def _number(value: Any) -> Any:
    """Return an ENUM's index or a SET's mask; the index 0 needs no label to be the empty text."""
    if isinstance(value, EnumIndex):
        return value.index
    return 0 if value == "" else value


def _geometry(value: Any) -> dict[str, object]:
    return {"srid": value.srid, "wkb": value.wkb}


def _duration(value: str) -> timedelta:
    match = _TIME.fullmatch(value)
    assert match is not None
    sign, hours, minutes, seconds, fraction = match.groups()
    duration = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(seconds),
        microseconds=int((fraction or "").ljust(6, "0")),
    )
    return -duration if sign else duration


def _date(value: str) -> date:
    return _datetime(value).date()


def _datetime(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        reason = f"Arrow has no date {value}: ask for dates as text"
        raise DecodeError(reason) from None


def _timestamp(value: str) -> datetime:
    return _datetime(value).replace(tzinfo=UTC)


_DATES: dict[str, tuple[pa.DataType, Convert]] = {
    "date": (pa.date32(), _date),
    "datetime": (pa.timestamp("us"), _datetime),
    "timestamp": (pa.timestamp("us", tz="UTC"), _timestamp),
}

"""A column of a schema record becomes a Spark type; its JSON values become values of this type.

A value takes three steps, so that a value that does not fit is an error and never becomes NULL:

    JSON text ──from_json──▶ `parsed` type ──form and cast──▶ `stored` type, or NULL and a problem

Types whose JSON form is text (decimals, dates) are parsed as STRING; their form is checked before
the cast, because Spark's casts accept more spellings than MySQL prints.

https://spark.apache.org/docs/latest/sql-ref-datatypes.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from connector.contract import SchemaColumn

# Spark's DECIMAL has at most 38 digits, MySQL's 65.
DECIMAL_PRECISION_MAX = 38
_UNSIGNED_64 = DecimalType(20, 0)
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"  # after the hour


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How JSON values of one column become values of the table."""

    stored: DataType
    parsed: DataType
    # The pattern that a text must match before it is cast.
    form: str | None = None
    # Whether a text that matches may be a date that Spark cannot hold.
    is_date: bool = False

    @classmethod
    def of(cls, column: SchemaColumn) -> ColumnType:
        """Return the type of `column`; raises KeyError for a type that is not in the contract."""
        return _FAMILIES[column["type"]](column)

    def has_form(self, parsed: Column) -> Column:
        """Return whether a parsed value has the form of the contract."""
        return F.lit(True) if self.form is None else parsed.rlike(f"^{self.form}$")

    def store(self, parsed: Column) -> Column:
        """Return the value of the stored type; NULL if it does not fit."""
        if self.parsed == self.stored:
            return parsed if self.form is None else F.when(self.has_form(parsed), parsed)
        cast = parsed.try_cast(self.stored)
        return cast if self.form is None else F.when(self.has_form(parsed), cast)


def type_text(column: SchemaColumn) -> str:
    """Return a column's type as MySQL spells it: `decimal(10,2) unsigned`."""
    text = column["type"]
    if "precision" in column and "scale" in column:
        text += f"({column['precision']},{column['scale']})"
    elif "length" in column:
        text += f"({column['length']})"
    elif column.get("fraction"):
        text += f"({column['fraction']})"
    return f"{text} unsigned" if column.get("unsigned") else text


def _integer(signed: DataType, unsigned: DataType) -> Callable[[SchemaColumn], ColumnType]:
    def family(column: SchemaColumn) -> ColumnType:
        stored = unsigned if column.get("unsigned") else signed
        # Spark's JSON parser wraps 128..255 into a negative BYTE; SHORT and up are strict.
        return ColumnType(stored, ShortType() if isinstance(stored, ByteType) else stored)

    return family


def _bigint(column: SchemaColumn) -> ColumnType:
    if column.get("unsigned"):
        return ColumnType(_UNSIGNED_64, StringType(), "[0-9]{1,20}")
    return ColumnType(LongType(), LongType())


def _decimal(column: SchemaColumn) -> ColumnType:
    precision, scale = column["precision"], column["scale"]
    form = "-?[0-9]+" + (rf"\.[0-9]{{{scale}}}" if scale else "")
    if precision > DECIMAL_PRECISION_MAX:
        return ColumnType(StringType(), StringType(), form)
    return ColumnType(DecimalType(precision, scale), StringType(), form)


def _bit(column: SchemaColumn) -> ColumnType:
    if column["length"] == 1:
        return _same(BooleanType())(column)
    return ColumnType(_UNSIGNED_64, StringType(), "[0-9]{1,20}")


def _same(stored: DataType) -> Callable[[SchemaColumn], ColumnType]:
    return lambda _column: ColumnType(stored, stored)


def _date(stored: DataType, form: str) -> Callable[[SchemaColumn], ColumnType]:
    return lambda _column: ColumnType(stored, StringType(), form, is_date=True)


def _time(_column: SchemaColumn) -> ColumnType:
    return ColumnType(StringType(), StringType(), f"-?[0-9]{{2,3}}:{_CLOCK}")


_GEOMETRY = StructType([StructField("wkb", BinaryType()), StructField("srid", LongType())])

_FAMILIES: dict[str, Callable[[SchemaColumn], ColumnType]] = {
    "tinyint": _integer(ByteType(), ShortType()),
    "smallint": _integer(ShortType(), IntegerType()),
    "mediumint": _integer(IntegerType(), IntegerType()),
    "int": _integer(IntegerType(), LongType()),
    "bigint": _bigint,
    "decimal": _decimal,
    "float": _same(FloatType()),
    "double": _same(DoubleType()),
    "bit": _bit,
    "char": _same(StringType()),
    "varchar": _same(StringType()),
    "text": _same(StringType()),
    "enum": _same(StringType()),
    "set": _same(StringType()),
    "binary": _same(BinaryType()),
    "varbinary": _same(BinaryType()),
    "blob": _same(BinaryType()),
    "date": _date(DateType(), _DATE),
    "datetime": _date(TimestampNTZType(), f"{_DATE} [0-9]{{2}}:{_CLOCK}"),
    "timestamp": _date(TimestampType(), f"{_DATE}T[0-9]{{2}}:{_CLOCK}Z"),
    "time": _time,
    "year": _same(ShortType()),
    "json": _same(StringType()),
    "geometry": _same(_GEOMETRY),
    "vector": _same(ArrayType(FloatType())),
}

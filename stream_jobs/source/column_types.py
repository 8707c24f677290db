"""The Arrow type of a source column, and the mask that hides its values.

A value takes three steps, so that a value that does not fit is an error and never becomes NULL:

    JSON text ──parser──▶ `parsed` type ──form and cast──▶ `stored` type, or a problem

Types whose JSON form is text (decimals, dates) are parsed as text; their form is checked before
the cast, because Arrow's casts accept more spellings than MySQL prints.

A masked value becomes its hash or a constant text, and NULL stays NULL. Equal values have equal
hashes, even after their column got a wider type: the hash is taken of a text in which 1, 1.0 and
1.00 are the same. For texts it is Spark's `sha2(concat(salt, text), 256)`.

https://arrow.apache.org/docs/python/api/datatypes.html
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NotRequired, TypedDict, cast

import pyarrow as pa
import pyarrow.compute as pc

from connector.foundation.contract import SchemaColumn


@dataclass(frozen=True, slots=True)
class HashMask:
    """The values become the SHA-256 of `salt` and their text, in hexadecimal digits."""

    salt: str = field(repr=False)

    def applied(self, values: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
        """Return the texts of `values`, whose column has the type `kind` at the source."""
        start = hashlib.sha256(self.salt.encode())
        hashes: list[str | None] = []
        for value in _texts(values, kind):
            if value is None:
                hashes.append(None)
                continue
            digest = start.copy()
            digest.update(value)
            hashes.append(digest.hexdigest())
        return pa.chunked_array([pa.array(hashes, pa.string())])

    @property
    def label(self) -> str:
        """What a mirror notes about it, so that another salt is noticed."""
        return f"hash {hashlib.sha256(b'salt of ' + self.salt.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class TextMask:
    """The values become `text`."""

    text: str

    def applied(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the texts of `values`, of any type."""
        return pc.if_else(pc.is_valid(values), pa.scalar(self.text), pa.scalar(None, pa.string()))

    @property
    def label(self) -> str:
        """What a mirror notes about it, so that another text is noticed."""
        return f"mask {self.text}"


Mask = HashMask | TextMask


class _MaskedColumn(TypedDict):
    mask: NotRequired[Mask]


def masked_column(column: SchemaColumn, mask: Mask) -> SchemaColumn:
    """Return a column of the source whose values `mask` changes."""
    return cast("SchemaColumn", {**column, "mask": mask})


def mask_of(column: SchemaColumn) -> Mask | None:
    """Return what changes the values of a column; None if nothing does."""
    return cast("_MaskedColumn", column).get("mask")


def _texts(values: pa.ChunkedArray, kind: str) -> list[bytes | None]:
    types, stored = pa.types, values.type
    if types.is_binary(stored):
        return cast("list[bytes | None]", values.to_pylist())
    if types.is_boolean(stored):
        # BIT(1) can become BIT(8).
        values = values.cast(pa.int8())
    elif types.is_floating(stored):
        values = values.cast(pa.float64())
    elif types.is_date(stored) or types.is_timestamp(stored):
        values = values.cast(pa.string())
    return [None if value is None else _text(value, kind).encode() for value in values.to_pylist()]


def _text(value: Any, kind: str) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=bytes.hex)
    text = format(value, "f") if kind == "decimal" and not isinstance(value, str) else str(value)
    if kind == "decimal" and "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if kind == "decimal" and text == "-0" else text


# Spark's DECIMAL has at most 38 digits, MySQL's 65.
DECIMAL_PRECISION_MAX = 38
_UNSIGNED_64 = pa.decimal128(20, 0)
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"  # after the hour


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How JSON values of one column become values of the table."""

    stored: pa.DataType
    parsed: pa.DataType
    # The pattern that a text must match before it is cast.
    form: str | None = None
    # Whether a text that matches may be a date that Spark cannot hold.
    is_date: bool = False
    # Whether the text, or a part of the object, is base64.
    is_base64: bool = False

    @classmethod
    def of(cls, column: SchemaColumn) -> "ColumnType":
        """Return the type of `column` in the mirror, where hashes and masks are texts.

        Raises KeyError for a type that is not in the contract.
        """
        kind = cls.of_source(column)
        return kind if mask_of(column) is None else replace(kind, stored=pa.string())

    @classmethod
    def of_source(cls, column: SchemaColumn) -> "ColumnType":
        """Return the type of the values of `column` before they are hashed or masked."""
        facts = tuple(map(column.get, _DECIDING))
        known = _known.get(facts)
        if known is None:
            known = _known[facts] = _FAMILIES[column["type"]](column)
        return known


# What decides the type of a column.
_DECIDING: Final = ("type", "unsigned", "precision", "scale", "length")
# Types that were made. Each batch of each table asks for them, and making one costs as much as
# converting some values.
_known: dict[tuple[object, ...], ColumnType] = {}


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


def _integer(signed: pa.DataType, unsigned: pa.DataType) -> Callable[[SchemaColumn], ColumnType]:
    def family(column: SchemaColumn) -> ColumnType:
        stored = unsigned if column.get("unsigned") else signed
        # A number that is too large for one byte is a wrong value, not a wrong record.
        return ColumnType(stored, pa.int16() if pa.types.is_int8(stored) else stored)

    return family


def _bigint(column: SchemaColumn) -> ColumnType:
    if column.get("unsigned"):
        return ColumnType(_UNSIGNED_64, pa.string(), "[0-9]{1,20}")
    return ColumnType(pa.int64(), pa.int64())


def _decimal(column: SchemaColumn) -> ColumnType:
    precision, scale = column["precision"], column["scale"]
    form = "-?[0-9]+" + (rf"\.[0-9]{{{scale}}}" if scale else "")
    if precision > DECIMAL_PRECISION_MAX:
        return ColumnType(pa.string(), pa.string(), form)
    return ColumnType(pa.decimal128(precision, scale), pa.string(), form)


def _bit(column: SchemaColumn) -> ColumnType:
    if column["length"] == 1:
        return ColumnType(pa.bool_(), pa.bool_())
    return ColumnType(_UNSIGNED_64, pa.string(), "[0-9]{1,20}")


def _same(stored: pa.DataType) -> Callable[[SchemaColumn], ColumnType]:
    return lambda _column: ColumnType(stored, stored)


def _base64(_column: SchemaColumn) -> ColumnType:
    return ColumnType(pa.binary(), pa.string(), is_base64=True)


def _date(stored: pa.DataType, form: str) -> Callable[[SchemaColumn], ColumnType]:
    return lambda _column: ColumnType(stored, pa.string(), form, is_date=True)


def _time(_column: SchemaColumn) -> ColumnType:
    return ColumnType(pa.string(), pa.string(), f"-?[0-9]{{2,3}}:{_CLOCK}")


def _geometry(_column: SchemaColumn) -> ColumnType:
    return ColumnType(
        pa.struct([("wkb", pa.binary()), ("srid", pa.int64())]),
        pa.struct([("wkb", pa.string()), ("srid", pa.int64())]),
        is_base64=True,
    )


_FAMILIES: dict[str, Callable[[SchemaColumn], ColumnType]] = {
    "tinyint": _integer(pa.int8(), pa.int16()),
    "smallint": _integer(pa.int16(), pa.int32()),
    "mediumint": _integer(pa.int32(), pa.int32()),
    "int": _integer(pa.int32(), pa.int64()),
    "bigint": _bigint,
    "decimal": _decimal,
    "float": _same(pa.float32()),
    "double": _same(pa.float64()),
    "bit": _bit,
    "char": _same(pa.string()),
    "varchar": _same(pa.string()),
    "text": _same(pa.string()),
    "enum": _same(pa.string()),
    "set": _same(pa.string()),
    "binary": _base64,
    "varbinary": _base64,
    "blob": _base64,
    "date": _date(pa.date32(), _DATE),
    "datetime": _date(pa.timestamp("us"), f"{_DATE} [0-9]{{2}}:{_CLOCK}"),
    "timestamp": _date(pa.timestamp("us", "UTC"), f"{_DATE}T[0-9]{{2}}:{_CLOCK}Z"),
    "time": _time,
    "year": _same(pa.int16()),
    "json": _same(pa.string()),
    "geometry": _geometry,
    "vector": _same(pa.list_(pa.float32())),
}


# Arrow writes a small number with an exponent if its scale is greater.
_PLAIN_SCALE_MAX: Final = 6


def decimal_texts(values: pa.Array) -> pa.Array:
    """Return decimals of 128 bits as texts; NULL stays NULL."""
    scale = values.type.scale
    if scale <= _PLAIN_SCALE_MAX:
        return values.cast(pa.string())
    whole = pa.decimal128(values.type.precision, 0)
    digits = values.view(whole).cast(pa.string())
    is_negative = pc.starts_with(digits, "-")
    digits = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    before = pc.utf8_slice_codeunits(digits, 0, -scale)
    after = pc.utf8_slice_codeunits(digits, -scale)
    sign = pc.if_else(is_negative, "-", "")
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, before, ""), after, ".")


# Digits of the largest number of so many bits.
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}


def holds_all_values(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether every value of `narrow` is one of `wide`."""
    if wide == narrow:
        return True
    types = pa.types
    if types.is_integer(narrow):
        if types.is_integer(wide):
            return bool(wide.bit_width >= narrow.bit_width)
        digits = _DIGITS[narrow.bit_width]
        return bool(types.is_decimal(wide) and wide.precision - wide.scale >= digits)
    if types.is_decimal(narrow) and types.is_decimal(wide):
        return bool(
            wide.scale >= narrow.scale
            and wide.precision - wide.scale >= narrow.precision - narrow.scale
        )
    return bool(types.is_float32(narrow) and types.is_float64(wide))

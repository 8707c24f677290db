"""A decoded value becomes its JSON text, one small function for each column type.

The forms are those of `contract.COLUMN_TYPES` (the `lossless` profile): every value is exact and
readable without a schema. The caller writes NULL.
"""

from __future__ import annotations

from base64 import b64encode
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from connector.binlog.columns.floats import float32_text
from connector.binlog.columns.values import EnumIndex
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.contract import SchemaColumn


def value_encoder(column: SchemaColumn) -> Callable[[Any], str]:
    """Return the function that writes a non-NULL value of `column` as JSON.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    kind = column["type"]
    if kind == "bigint" and column.get("unsigned", False):
        return _digits
    if kind == "bit":
        return _boolean if column.get("length") == 1 else _digits
    if kind in _TEXTS:
        return _text_encoder(column)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise UnsupportedChange(table_rows.NO_FORM, column=column["name"], type=kind)
    return encoder


def _text_encoder(column: SchemaColumn) -> Callable[[Any], str]:
    def encode(value: Any) -> str:
        if isinstance(value, str):
            return encode_basestring(value)
        raise not_text(column["name"])

    return encode


def not_text(column: str) -> UnsupportedChange:
    """Return the refusal of a value that is bytes, or a number, where text should be."""
    return UnsupportedChange(table_rows.NOT_TEXT, column=column)


def _digits(value: int) -> str:
    return f'"{value}"'


def _boolean(value: int) -> str:
    return "true" if value else "false"


def _quoted(value: str) -> str:
    """Quote text without characters that JSON escapes: digits, signs, dates."""
    return f'"{value}"'


def _base64(value: bytes) -> str:
    return f'"{b64encode(value).decode("ascii")}"'


def _timestamp(value: str) -> str:
    return f'"{value[:10]}T{value[11:]}Z"'


def _label(value: str | EnumIndex) -> str:
    if isinstance(value, EnumIndex):
        return f'{{"index":{value.index}}}'
    return encode_basestring(value)


def _geometry(value: Any) -> str:
    return f'{{"wkb":{_base64(value.wkb)},"srid":{value.srid}}}'


def _vector(value: list[float]) -> str:
    return f"[{','.join(map(float32_text, value))}]"


_TEXTS = frozenset({"char", "varchar", "text", "set", "json"})

_ENCODERS: dict[str, Callable[[Any], str]] = {
    "tinyint": str,
    "smallint": str,
    "mediumint": str,
    "int": str,
    "bigint": str,
    "decimal": _quoted,
    "float": float32_text,
    "double": repr,
    "enum": _label,
    "binary": _base64,
    "varbinary": _base64,
    "blob": _base64,
    "date": _quoted,
    "datetime": _quoted,
    "timestamp": _timestamp,
    "time": _quoted,
    "year": str,
    "geometry": _geometry,
    "vector": _vector,
}

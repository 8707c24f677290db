"""Decoded values as JSON, by the type of their column.

The forms are those of `contract.COLUMN_TYPES` (the `lossless` profile): every value is exact and
readable without a schema. Records are written from bytes (`stream.envelope.cells`), in the same
forms. The caller writes NULL.
"""

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from librt.base64 import b64encode

from connector.binlog.columns.column import EnumIndex
from connector.binlog.columns.floats import float32_text
from connector.foundation.contract import SchemaColumn
from connector.stream.envelope.cells.writers import not_text, require_form


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
    require_form(column)
    return _ENCODERS[kind]


def _text_encoder(column: SchemaColumn) -> Callable[[Any], str]:
    def encode(value: Any) -> str:
        if isinstance(value, str):
            return encode_basestring(value)
        raise not_text(column["name"])

    return encode


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

"""Decoded values as JSON, by the type of their column: the oracle for what is written from bytes.

The forms are those of `contract.COLUMN_TYPES`. The caller writes NULL.
"""

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Final

from librt.base64 import b64encode

from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    EnumIndex,
    Family,
)
from connector.binlog.columns.floats import float32_text
from connector.foundation.contract import SchemaColumn
from connector.stream.envelope.cells.writers import not_text, require_form


def value_encoder(column: SchemaColumn) -> Callable[[Any], str]:
    """Return the function that writes a non-NULL value of `column` as JSON.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    require_form(column)
    return VALUES[column["type"]](column)


def _always(encode: Callable[[Any], str]) -> Callable[[SchemaColumn], Callable[[Any], str]]:
    return lambda _: encode


def _bigint(column: SchemaColumn) -> Callable[[Any], str]:
    return _digits if column.get("unsigned", False) else str


def _bits(column: SchemaColumn) -> Callable[[Any], str]:
    return _boolean if column.get("length") == 1 else _digits


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


VALUES: Final[dict[str, Callable[[SchemaColumn], Callable[[Any], str]]]] = {
    **dict.fromkeys(INTEGERS, _always(str)),
    **dict.fromkeys(CHARACTERS, _text_encoder),
    **dict.fromkeys(BINARIES, _always(_base64)),
    **dict.fromkeys(PRINTED, _always(_quoted)),
    Family.BIGINT: _bigint,
    Family.DECIMAL: _always(_quoted),
    Family.FLOAT: _always(float32_text),
    Family.DOUBLE: _always(repr),
    Family.BIT: _bits,
    Family.ENUM: _always(_label),
    Family.SET: _text_encoder,
    Family.TIMESTAMP: _always(_timestamp),
    Family.YEAR: _always(str),
    Family.JSON: _text_encoder,
    Family.GEOMETRY: _always(_geometry),
    Family.VECTOR: _always(_vector),
}

"""The JSON forms of values: of decoded values by column type, and of values built from parts.

The forms are those of `contract.COLUMN_TYPES` (the `lossless` profile): every value is exact and
readable without a schema. The caller writes NULL. The functions that append a label or a geometry
to bytes serve the cells of the log and of SELECTs; they take labels as JSON strings that were
quoted once for a column.
"""

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Final

from librt.base64 import b64encode
from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.column import EnumIndex
from connector.binlog.columns.floats import float32_text
from connector.binlog.text_writer import QUOTE, put_uint
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors


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
        raise UnsupportedChange(record_errors.NO_FORM, column=column["name"], type=kind)
    return encoder


def _text_encoder(column: SchemaColumn) -> Callable[[Any], str]:
    def encode(value: Any) -> str:
        if isinstance(value, str):
            return encode_basestring(value)
        raise not_text(column["name"])

    return encode


def not_text(column: str) -> UnsupportedChange:
    """Return the refusal of a value that is bytes, or a number, where text should be."""
    return UnsupportedChange(record_errors.NOT_TEXT, column=column)


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


_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


def put_label(out: BytesWriter, labels: list[bytes], index: i64) -> None:
    """Append the label of an ENUM, or an object with an index that has no label."""
    if index < len(labels):
        out.write(labels[index])
        return
    out.write(b'{"index":')
    put_uint(out, index)
    out.append(u8(_CLOSE))


def put_labels(out: BytesWriter, labels: list[bytes], mask: int) -> None:
    """Append the labels of a SET as one string, with commas between them.

    `labels` have no quotes; bits of `mask` without a label are ignored.
    """
    out.append(u8(QUOTE))
    several = False
    for label in labels:
        if mask & 1:
            if several:
                out.append(u8(_COMMA))
            out.write(label)
            several = True
        mask >>= 1
    out.append(u8(QUOTE))


def put_geometry(out: BytesWriter, wkb: bytes, srid: i64) -> None:
    """Append an object with the SRID and the base64 of the WKB."""
    out.write(b'{"wkb":"')
    out.write(b64encode(wkb))
    out.write(b'","srid":')
    put_uint(out, srid)
    out.append(u8(_CLOSE))

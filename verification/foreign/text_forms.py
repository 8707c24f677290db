"""The forms of texts, bytes, labels and documents."""

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from connector.foundation.contract import SchemaColumn
from verification.foreign import form_parts


def text(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a text in a type."""
    kind = form_parts.decoded_kind(kind)
    del column
    if form_parts.is_text(kind):
        return [form_parts.Reading("text", str, form_parts.same)]
    return (
        [form_parts.Reading("UTF-8", _utf8, lambda v: v.cast(pa.string()))]
        if form_parts.is_bytes(kind)
        else []
    )


def binary(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of bytes in a type."""
    kind = form_parts.decoded_kind(kind)
    is_padded = column["type"] == "binary"
    length = column.get("length", 0)

    def own(value: bytes) -> bytes:
        # The log has a BINARY without the zeros at its end.
        return value.ljust(length, b"\0") if is_padded else value

    if form_parts.is_bytes(kind):
        return [form_parts.Reading("bytes", own, None if is_padded else form_parts.same)]
    if not form_parts.is_text(kind):
        return []
    return [
        form_parts.Reading("base64", lambda value: own(form_parts.from_base64(value))),
        form_parts.Reading("base64 for URLs", lambda value: own(urlsafe_b64decode(value))),
        form_parts.Reading(
            "hexadecimal", lambda value: own(bytes.fromhex(value.removeprefix("0x")))
        ),
        form_parts.Reading("UTF-8", lambda value: own(value.encode())),
    ]


def enum(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of an ENUM in a type."""
    kind = form_parts.decoded_kind(kind)
    labels = ["", *column.get("labels", [])]

    def of_index(value: Any) -> str:
        index = int(value)
        if not 0 <= index < len(labels):
            raise ValueError(value)
        return labels[index]

    if pa.types.is_integer(kind):
        return [form_parts.Reading("index", of_index)]
    if form_parts.is_text(kind):
        return [
            form_parts.Reading("text", str, form_parts.same),
            form_parts.Reading("index as text", of_index),
        ]
    return text(column, kind)


def label_set(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a SET in a type."""
    kind = form_parts.decoded_kind(kind)
    labels = column.get("labels", [])

    def of_mask(value: Any) -> str:
        mask = int(value)
        if not 0 <= mask < 1 << len(labels):
            raise ValueError(value)
        return ",".join(label for place, label in enumerate(labels) if mask >> place & 1)

    def of_list(value: Any) -> str:
        if not set(value) <= set(labels):
            raise ValueError(value)
        return ",".join(label for label in labels if label in value)

    if pa.types.is_integer(kind):
        return [form_parts.Reading("mask", of_mask)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [form_parts.Reading("list", of_list)]
    if form_parts.is_text(kind):
        return [
            form_parts.Reading("text", str, form_parts.same),
            form_parts.Reading("mask as text", of_mask),
        ]
    return text(column, kind)


def json(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a document in a type."""
    kind = form_parts.decoded_kind(kind)
    del column
    if form_parts.is_text(kind) or form_parts.is_bytes(kind):
        return [form_parts.Reading("document", _document)]
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        return [form_parts.Reading("values", _written)]
    if pa.types.is_map(kind):
        return [form_parts.Reading("values", lambda value: _written(dict(value)))]
    return []


def documents(values: pa.Array) -> pa.Array:
    """Return documents, each in the one form in which it is compared."""
    return pa.array([None if v is None else _document(v) for v in values.to_pylist()], pa.string())


def _utf8(value: bytes) -> str:
    return value.decode()


def _document(value: str | bytes) -> str:
    return _written(orjson.loads(value))


_SORTED: Final = orjson.OPT_SORT_KEYS
# A whole number outside of 64 bits is a double on both sides.
_LEAST: Final = -(1 << 63)
_LIMIT: Final = 1 << 64


def _written(value: object) -> str:
    return orjson.dumps(_plain(value), option=_SORTED).decode()


def _plain(value: Any) -> object:
    """Return a document in which 1 and 1.0 are the same."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and _LEAST <= value < _LIMIT else value
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value

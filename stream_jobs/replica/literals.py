"""Values of a mirror become literals of SQL, a column at a time.

The session has NO_BACKSLASH_ESCAPES, so a quote is the only character of a text that has a meaning.
Bytes are hexadecimal digits. Floats are quoted: the server reads such a text as the nearest number,
and keeps the sign of zero.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream_jobs.schema.decimal_text import decimal_texts

if TYPE_CHECKING:
    from connector.contract import SchemaColumn

_TEXT = pa.large_string()
_HEX_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)


def literals(values: pa.ChunkedArray, column: SchemaColumn) -> pa.Array:
    """Return `values` of a column of the mirror as texts; NULL stays NULL."""
    array = values.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    kind, types = array.type, pa.types
    if types.is_boolean(kind):
        return array.cast(pa.int8()).cast(_TEXT)
    if types.is_integer(kind):
        return array.cast(_TEXT)
    if types.is_decimal(kind):
        return decimal_texts(array).cast(_TEXT)
    if types.is_floating(kind):
        return _quoted(array.cast(pa.float64()).cast(_TEXT))
    if types.is_binary(kind):
        return _bytes(array)
    if types.is_struct(kind):
        return _bytes(_mapped(array, _geometry))
    if types.is_list(kind):
        return _bytes(_mapped(array, _vector))
    if types.is_timestamp(kind):
        # TIMESTAMP is UTC, as the session is.
        return _quoted(array.cast(pa.timestamp("us")).cast(_TEXT))
    text = array.cast(_TEXT)
    # Compared with a quoted text, the server would take a DECIMAL as a float.
    return text if column["type"] == "decimal" else _quoted(text)


def _quoted(texts: pa.Array) -> pa.Array:
    return _between("'", pc.replace_substring(texts, "'", "''"), "'")


def _between(before: str, texts: pa.Array, after: str) -> pa.Array:
    first, last, none = (pa.scalar(text, _TEXT) for text in (before, after, ""))
    return pc.binary_join_element_wise(first, texts, last, none)


def _bytes(values: pa.Array) -> pa.Array:
    """Return X'…' of binary values: all digits are made at once."""
    values = values.cast(pa.large_binary())
    if not len(values):
        return values.cast(_TEXT)
    _, offsets, content = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    raw = np.frombuffer(content or b"", np.uint8)[ends[0] : ends[-1]]
    digits = np.empty(2 * len(raw), np.uint8)
    digits[0::2], digits[1::2] = _HEX_DIGITS[raw >> 4], _HEX_DIGITS[raw & 15]
    texts = pa.LargeStringArray.from_buffers(
        len(values), pa.py_buffer(2 * (ends - ends[0])), pa.py_buffer(digits)
    )
    texts = pc.if_else(values.is_valid(), texts, pa.scalar(None, _TEXT))
    return _between("X'", texts, "'")


def _mapped(values: pa.Array, form: Any) -> pa.Array:
    found = [None if value is None else form(value) for value in values.to_pylist()]
    return pa.array(found, pa.large_binary())


def _geometry(value: dict[str, Any]) -> bytes:
    """Return a geometry as servers store it."""
    return struct.pack("<I", value["srid"]) + bytes(value["wkb"])


def _vector(value: list[float]) -> bytes:
    return struct.pack(f"<{len(value)}f", *value)

"""JSON: MySQL's binary documents become the text that the server prints for them.

::

    column     length 1 to 4 bytes │ document; an empty one is `null`
    document   type u8 │ value
    object     count │ size │ (key offset │ key length u16) * count │
               (type u8 │ offset or value) * count │ keys │ values
    array      count │ size │ (type u8 │ offset or value) * count │ values
    string     length varint │ utf8mb4
    opaque     column type u8 │ length varint │ bytes

`count`, `size` and offsets are u16 in a small and u32 in a large object or array; offsets count
from `count`. A literal, a 16-bit number and, in a large one, a 32-bit number stand in place of
their offset. A varint has seven bits a byte, the lowest first.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.floats import FLOAT64
from connector.binlog.columns.json_text import double_text, opaque_text, quote
from connector.binlog.columns.strings import require_blob_length
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column

DEPTH_MAX = 100  # the server's limit

_SMALL_OBJECT = 0x00
_LARGE_OBJECT = 0x01
_SMALL_ARRAY = 0x02
_LARGE_ARRAY = 0x03
_LITERAL = 0x04
_INT16 = 0x05
_UINT16 = 0x06
_INT32 = 0x07
_UINT32 = 0x08
_INT64 = 0x09
_UINT64 = 0x0A
_DOUBLE = 0x0B
_STRING = 0x0C
_OPAQUE = 0x0F

_LITERALS = ("null", "true", "false")

_SMALL_INLINED = frozenset({_LITERAL, _INT16, _UINT16})
_LARGE_INLINED = _SMALL_INLINED | {_INT32, _UINT32}

_VARINT_BYTES_MAX = 5
_VARINT_MORE = 0x80


def json_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads a JSON document as the text that MySQL prints."""
    prefix = require_blob_length(column)

    def read(image: PayloadReader) -> str:
        return json_text(image.read_bytes(image.read_uint(prefix)))

    return read


def typed_array_reader(column: Column) -> Callable[[PayloadReader], str]:
    """Return the function that reads the column of a multi-valued index: a JSON array."""
    del column
    return lambda image: json_text(image.read_bytes(image.read_uint32()))


def json_text(document: bytes) -> str:
    """Return the text of a binary JSON document.

    Raises DecodeError for bytes that are not one.
    """
    if not document:
        return "null"
    parts: list[str] = []
    _Document(document, parts).write(document[0], 1, len(document), 0)
    return "".join(parts)


def require_depth(depth: int) -> None:
    """Raise DecodeError for a value that is nested deeper than the server allows."""
    if depth > DEPTH_MAX:
        reason = f"a JSON document is nested deeper than {DEPTH_MAX} levels"
        raise DecodeError(reason)


class _Document:
    """One walk over a document, which appends its text to `parts`."""

    __slots__ = ("_bytes_left", "_data", "_parts")

    def __init__(self, data: bytes, parts: list[str]) -> None:
        self._data = data
        self._parts = parts
        # No byte belongs to two values, so reading more of them means that offsets cross, and a
        # small document could stand for an endless text.
        self._bytes_left = len(data)

    def write(self, kind: int, start: int, end: int, depth: int) -> None:
        """Append the value of type `kind` in `data[start:end]`."""
        require_depth(depth)
        self._spend(1)  # the type byte
        reader = PayloadReader(self._data, start, end)
        if kind <= _LARGE_OBJECT:
            self._write_object(reader, kind == _LARGE_OBJECT, depth)
        elif kind <= _LARGE_ARRAY:
            self._write_array(reader, kind == _LARGE_ARRAY, depth)
        else:
            self._parts.append(_scalar_text(kind, reader))
            self._spend(reader.offset - start)

    def _spend(self, length: int) -> None:
        self._bytes_left -= length
        if self._bytes_left < 0:
            reason = "a JSON document refers to the same bytes more than once"
            raise DecodeError(reason)

    def _write_object(self, reader: PayloadReader, large: bool, depth: int) -> None:
        start, end, count = _read_container_head(reader, large)
        keys = [(reader.read_uint(4 if large else 2), reader.read_uint16()) for _ in range(count)]
        self._parts.append("{")
        for number, (offset, length) in enumerate(keys):
            if number:
                self._parts.append(", ")
            self._spend(length)
            key = PayloadReader(self._data, min(start + offset, end), end).read_bytes(length)
            self._parts.append(quote(_utf8(key)))
            self._parts.append(": ")
            self._write_entry(reader, large, start, end, depth)
        self._parts.append("}")

    def _write_array(self, reader: PayloadReader, large: bool, depth: int) -> None:
        start, end, count = _read_container_head(reader, large)
        self._parts.append("[")
        for number in range(count):
            if number:
                self._parts.append(", ")
            self._write_entry(reader, large, start, end, depth)
        self._parts.append("]")

    def _write_entry(
        self, reader: PayloadReader, large: bool, start: int, end: int, depth: int
    ) -> None:
        """Append the value of the next value entry of a container in `data[start:end]`."""
        kind = reader.read_uint8()
        place = reader.offset
        offset = reader.read_uint(4 if large else 2)
        if kind in (_LARGE_INLINED if large else _SMALL_INLINED):
            self.write(kind, place, reader.offset, depth + 1)
        else:
            self.write(kind, min(start + offset, end), end, depth + 1)


def _read_container_head(reader: PayloadReader, large: bool) -> tuple[int, int, int]:
    """Return where the container starts and ends, and how many values it has."""
    width = 4 if large else 2
    start = reader.offset
    count = reader.read_uint(width)
    size = reader.read_uint(width)
    end = start + size
    if end > reader.end:
        reason = f"a JSON container of {size} bytes is longer than the {reader.end - start} left"
        raise DecodeError(reason)
    reader.end = end
    return start, end, count


def _scalar_text(kind: int, reader: PayloadReader) -> str:
    read = _SCALARS.get(kind)
    if read is None:
        reason = f"JSON type {kind:#04x} is not known"
        raise DecodeError(reason)
    return read(reader)


def _literal(reader: PayloadReader) -> str:
    code = reader.read_uint8()
    if code >= len(_LITERALS):
        reason = f"JSON literal {code:#04x} is not known"
        raise DecodeError(reason)
    return _LITERALS[code]


def _double(reader: PayloadReader) -> str:
    return double_text(FLOAT64.unpack(reader.read_bytes(8))[0])


def _string(reader: PayloadReader) -> str:
    return quote(_utf8(reader.read_bytes(_read_varint(reader))))


def _opaque(reader: PayloadReader) -> str:
    kind = reader.read_uint8()
    return opaque_text(kind, reader.read_bytes(_read_varint(reader)))


_SCALARS: dict[int, Callable[[PayloadReader], str]] = {
    _LITERAL: _literal,
    _INT16: lambda reader: str(reader.read_int(2)),
    _UINT16: lambda reader: str(reader.read_uint(2)),
    _INT32: lambda reader: str(reader.read_int(4)),
    _UINT32: lambda reader: str(reader.read_uint(4)),
    _INT64: lambda reader: str(reader.read_int(8)),
    _UINT64: lambda reader: str(reader.read_uint(8)),
    _DOUBLE: _double,
    _STRING: _string,
    _OPAQUE: _opaque,
}


def _read_varint(reader: PayloadReader) -> int:
    value = 0
    for number in range(_VARINT_BYTES_MAX):
        byte = reader.read_uint8()
        value |= (byte & 0x7F) << (7 * number)
        if not byte & _VARINT_MORE:
            return value
    reason = "the length of a JSON string takes more than five bytes"
    raise DecodeError(reason)


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        reason = "a JSON string is not UTF-8"
        raise DecodeError(reason) from None

"""JSON documents: the binary form in which MySQL stores them becomes the text that it prints.

::

    document   type u8 │ value
    object     count │ size │ (key offset │ key length u16) * count │
               (type u8 │ offset or value) * count │ keys │ values
    array      count │ size │ (type u8 │ offset or value) * count │ values
    string     length varint │ utf8mb4
    opaque     column type u8 │ length varint │ bytes

`count`, `size` and offsets are u16 in a small and u32 in a large object or array; offsets count
from `count`. A literal, a 16-bit number and, in a large one, a 32-bit number stand in place of
their offset. A varint has seven bits a byte, the lowest first. No bytes at all are `null`.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html
"""

from typing import Final, final

from librt.strings import BytesWriter, read_f64_le, read_i16_le, read_i32_le, write_i16_le
from mypy_extensions import i64, mypyc_attr, u8

from connector.binlog import text_writer, value_errors
from connector.binlog.columns.column import ColumnType
from connector.binlog.columns.floats import FLOAT64_LENGTH
from connector.binlog.columns.json_scalars import put_double, put_opaque
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

DEPTH_MAX: Final = 100  # the server's limit

_SMALL_OBJECT: Final = 0x00
_LARGE_OBJECT: Final = 0x01
_SMALL_ARRAY: Final = 0x02
_LARGE_ARRAY: Final = 0x03
_LITERAL: Final = 0x04
_INT16: Final = 0x05
_UINT16: Final = 0x06
_INT32: Final = 0x07
_UINT32: Final = 0x08
_INT64: Final = 0x09
_UINT64: Final = 0x0A
_DOUBLE: Final = 0x0B
_STRING: Final = 0x0C
_OPAQUE: Final = 0x0F

_DECIMAL: Final = ColumnType.NEWDECIMAL.value
_LITERALS: Final = [b"null", b"true", b"false"]

_KIND_LENGTH: Final = 1  # bytes of a value's type
_KEY_LENGTH: Final = 2  # bytes of a key's length
_VARINT_BITS_MAX: Final = 5 * 7
_VARINT_MORE: Final = 0x80

_OPENING_BRACE: Final = 123
_CLOSING_BRACE: Final = 125
_OPENING_BRACKET: Final = 91
_CLOSING_BRACKET: Final = 93
_COMMA_SPACE: Final = 0x202C
_COLON_SPACE: Final = 0x203A
_ESCAPED_QUOTE: Final = 0x225C


def json_text(document: bytes) -> str:
    """Return the text of a binary JSON document.

    Raises DecodeError for bytes that are not one.
    """
    out = BytesWriter()
    put_json(out, document)
    return out.getvalue().decode("utf-8")


def put_json(out: BytesWriter, document: bytes, in_string: bool = False) -> bool:
    """Append the text of a binary JSON document; DecodeError as in `json_text`.

    With `in_string`, the text is escaped for a JSON string. Returns whether a number in it is a
    DECIMAL: a server that reads the text takes it for a DOUBLE.
    """
    if len(document) == 0:
        out.write(_LITERALS[0])
        return False
    walk = _Document(document, out, in_string)
    walk.put(document[0], 1, len(document), 0)
    return walk.has_decimal


def require_depth(depth: i64) -> None:
    """Raise DecodeError for a value that is nested deeper than the server allows."""
    if depth > DEPTH_MAX:
        raise DecodeError(value_errors.DEPTH, limit=DEPTH_MAX)


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class _Document:
    """One walk over a document, which appends its text to `out`."""

    __slots__ = ("_bytes_left", "_cursor", "_in_string", "_out", "has_decimal")

    def __init__(self, data: bytes, out: BytesWriter, in_string: bool) -> None:
        # It starts after the type byte and goes from value to value; each value sets its end.
        self._cursor = PayloadReader(data, 1)
        self._out = out
        self._in_string = in_string
        # No byte belongs to two values. More reads than bytes mean that offsets cross, and then a
        # small document could stand for an endless text.
        self._bytes_left: i64 = len(data)
        self.has_decimal = False

    def put(self, kind: i64, start: i64, end: i64, depth: i64) -> None:
        """Append the value of type `kind` between `start` and `end`."""
        require_depth(depth)
        self._spend(1)  # the type byte
        self._cursor.offset = start
        self._cursor.end = end
        if kind <= _LARGE_OBJECT:
            self._put_object(kind == _LARGE_OBJECT, depth)
        elif kind <= _LARGE_ARRAY:
            self._put_array(kind == _LARGE_ARRAY, depth)
        else:
            self._put_scalar(kind)
            self._spend(self._cursor.offset - start)

    def _spend(self, length: i64) -> None:
        self._bytes_left -= length
        if self._bytes_left < 0:
            raise DecodeError(value_errors.TWICE)

    def _put_object(self, large: bool, depth: i64) -> None:
        out = self._out
        cursor = self._cursor
        data = cursor.data
        start = cursor.offset
        count = self._read_head(large)
        end = cursor.end
        width = _size_length(large)
        key = self._skip_table(count, width, _KEY_LENGTH)
        entry = self._skip_table(count, _KIND_LENGTH, width)
        out.append(u8(_OPENING_BRACE))
        for number in range(count):
            if number:
                write_i16_le(out, _COMMA_SPACE)
            length = i64(read_i16_le(data, key + width)) & 0xFFFF
            self._spend(length)
            cursor.offset = min(start + _size_at(data, key, large), end)
            cursor.end = end
            self._put_string(length)
            write_i16_le(out, _COLON_SPACE)
            self._put_entry(entry, large, start, end, depth)
            key += width + _KEY_LENGTH
            entry += _KIND_LENGTH + width
        out.append(u8(_CLOSING_BRACE))

    def _put_array(self, large: bool, depth: i64) -> None:
        out = self._out
        cursor = self._cursor
        start = cursor.offset
        count = self._read_head(large)
        end = cursor.end
        width = _size_length(large)
        entry = self._skip_table(count, _KIND_LENGTH, width)
        out.append(u8(_OPENING_BRACKET))
        for number in range(count):
            if number:
                write_i16_le(out, _COMMA_SPACE)
            self._put_entry(entry, large, start, end, depth)
            entry += _KIND_LENGTH + width
        out.append(u8(_CLOSING_BRACKET))

    def _read_head(self, large: bool) -> i64:
        """Return the number of values in the container at the cursor; end the cursor at its end."""
        cursor = self._cursor
        width = _size_length(large)
        start = self._skip_table(1, width, width)
        count = _size_at(cursor.data, start, large)
        size = _size_at(cursor.data, start + width, large)
        left = cursor.end - start
        if size > left:
            raise DecodeError(value_errors.CONTAINER_SIZE, size=size, left=left)
        cursor.end = start + size
        return count

    def _skip_table(self, count: i64, first: i64, second: i64) -> i64:
        """Skip `count` pairs of fields, whose lengths are given, and return where they start."""
        cursor = self._cursor
        start = cursor.offset
        length = count * (first + second)
        if length <= cursor.end - start:
            return cursor.take(length)
        for _ in range(count):  # up to the one that is cut off
            cursor.skip(first)
            cursor.skip(second)
        return start

    def _put_entry(self, entry: i64, large: bool, start: i64, end: i64, depth: i64) -> None:
        """Append the value of a container's value entry, which has been skipped."""
        data = self._cursor.data
        kind: i64 = data[entry]
        value = entry + _KIND_LENGTH
        if _is_inlined(kind, large):
            self.put(kind, value, value + _size_length(large), depth + 1)
        else:
            self.put(kind, min(start + _size_at(data, value, large), end), end, depth + 1)

    def _put_scalar(self, kind: i64) -> None:
        out = self._out
        cursor = self._cursor
        if kind == _STRING:
            self._put_string(_read_varint(cursor))
        elif kind == _LITERAL:
            code = cursor.read_uint8()
            if code >= len(_LITERALS):
                raise DecodeError(value_errors.LITERAL, value=code)
            out.write(_LITERALS[code])
        elif _INT16 <= kind <= _DOUBLE:
            _put_number(out, cursor, kind)
        elif kind == _OPAQUE:
            self._put_opaque(cursor.read_uint8())
        else:
            raise DecodeError(value_errors.KIND, value=kind)

    def _put_string(self, length: i64) -> None:
        out = self._out
        cursor = self._cursor
        data = cursor.data
        start = cursor.take(length)
        if self._in_string:
            write_i16_le(out, _ESCAPED_QUOTE)
            valid = text_writer.put_utf8(out, data, start, start + length, text_writer.TWICE)
            write_i16_le(out, _ESCAPED_QUOTE)
        else:
            out.append(u8(text_writer.QUOTE))
            valid = text_writer.put_utf8(out, data, start, start + length)
            out.append(u8(text_writer.QUOTE))
        if not valid:
            raise DecodeError(value_errors.NOT_UTF8)

    def _put_opaque(self, column_type: i64) -> None:
        data = self._cursor.read_bytes(_read_varint(self._cursor))
        if column_type == _DECIMAL:
            self.has_decimal = True
        if not self._in_string:
            put_opaque(self._out, column_type, data)
            return
        text = BytesWriter()
        put_opaque(text, column_type, data)
        text_writer.put_written(self._out, text)


def _put_number(out: BytesWriter, cursor: PayloadReader, kind: i64) -> None:
    if kind == _INT16:
        text_writer.put_int(out, cursor.read_int16())
    elif kind == _UINT16:
        text_writer.put_uint(out, cursor.read_uint16())
    elif kind == _INT32:
        text_writer.put_int(out, cursor.read_int32())
    elif kind == _UINT32:
        text_writer.put_uint(out, cursor.read_uint32())
    elif kind == _INT64:
        text_writer.put_int(out, cursor.read_int64())
    elif kind == _UINT64:
        text_writer.put_uint64(out, cursor.read_int64())
    else:
        put_double(out, read_f64_le(cursor.data, cursor.take(FLOAT64_LENGTH)))


def _size_length(large: bool) -> i64:
    """Return the bytes of a count, a size or an offset of a container."""
    return 4 if large else 2


def _size_at(data: bytes, at: i64, large: bool) -> i64:
    """Return a count, a size or an offset of a container."""
    if large:
        return i64(read_i32_le(data, at)) & 0xFFFF_FFFF
    return i64(read_i16_le(data, at)) & 0xFFFF


def _is_inlined(kind: i64, large: bool) -> bool:
    """Return whether a value is stored in place of its offset."""
    if large and kind in (_INT32, _UINT32):
        return True
    return kind in (_LITERAL, _INT16, _UINT16)


def _read_varint(cursor: PayloadReader) -> i64:
    value: i64 = 0
    bits: i64 = 0
    while bits < _VARINT_BITS_MAX:
        byte = cursor.read_uint8()
        value |= (byte & 0x7F) << bits
        if not byte & _VARINT_MORE:
            return value
        bits += 7
    raise DecodeError(value_errors.STRING_LENGTH)

"""Records in JSON become Avro's binary form.

The rows of all sources (the log, a SELECT, quarantine) are written as JSON, so this is the only
place that knows Avro's values. A plan of the schema is made once for each column list. A record has
all fields of its schema, in their order and without spaces, so their names are passed over::

    {"id":7,"note":null}     ,"id":  is 6 bytes long, as  {"id":

https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

import struct
from binascii import a2b_base64
from typing import Final, final

import orjson
from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.text_writer import quoted
from connector.foundation.errors import UnsupportedChange
from connector.foundation.kafka_records import put_varint
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.registry_schemas import ConnectSchema

_BOOLEAN: Final = 0
_LONG: Final = 1
_FLOAT: Final = 2
_DOUBLE: Final = 3
_STRING: Final = 4
_BYTES: Final = 5
_ARRAY: Final = 6  # of FLOAT
_RECORD: Final = 7

_KINDS: Final = {
    "boolean": _BOOLEAN,
    "int16": _LONG,
    "int32": _LONG,
    "int64": _LONG,
    "float": _FLOAT,
    "double": _DOUBLE,
    "string": _STRING,
    "bytes": _BYTES,
    "array": _ARRAY,
    "struct": _RECORD,
}

# Branches of a union, as Avro counts them: zigzag of 0 and 1.
_FIRST: Final = b"\x00"
_SECOND: Final = b"\x02"

_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_MINUS: Final = ord("-")
_ZERO: Final = ord("0")
_TRUE: Final = ord("t")
_NULL: Final = ord("n")
_OPENED: Final = ord("[")
_NULL_LENGTH: Final = 4
_DIGITS: Final = 10
# Numbers of so many digits are below 2^61.
_SHORT_DIGITS: Final = 18

_MORE: Final = 0x80
_BITS: Final = 0x7F
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


@final
class AvroField:
    """A value of a record, and how it is written."""

    __slots__ = ("fields", "is_nullable", "kind", "name", "null_branch", "skipped", "value_branch")

    def __init__(self, schema: ConnectSchema) -> None:
        """Plan the field with the schema `schema`."""
        self.name: str = schema["field"]
        # The name, with what is before and after it.
        self.skipped: i64 = len(quoted(self.name)) + 2
        self.kind: i64 = _KINDS[schema["type"]]
        self.is_nullable: bool = schema["optional"]
        # NULL is the first branch, unless the field has another default.
        first, second = (_SECOND, _FIRST) if "default" in schema else (_FIRST, _SECOND)
        self.null_branch = first
        self.value_branch = second
        self.fields = [AvroField(field) for field in schema.get("fields", ())]


@final
class AvroRecord:
    """Writes the records of one schema."""

    __slots__ = ("_escape", "_fields", "_out", "_prefix", "_text")

    def __init__(self, schema: ConnectSchema, prefix: bytes) -> None:
        """Write records of a struct, each after `prefix`."""
        self._fields = [AvroField(field) for field in schema["fields"]]
        self._prefix = prefix
        self._out = BytesWriter()
        self._text = b""
        # Where the next backslash is; strings before it are as they are.
        self._escape: i64 = 0

    def encoded(self, text: bytes) -> bytes:
        """Return the record with the JSON text `text`, which has all fields in their order.

        Raises UnsupportedChange for a NULL that the schema does not allow, and for a number above
        64 bits.
        """
        out = self._out
        out.truncate(0)
        out.write(self._prefix)
        self._text = text
        self._find_escape(0)
        end = self._put_fields(self._fields, 0)
        assert end == len(text), "a record has the fields of its schema"
        return out.getvalue()

    def _find_escape(self, at: i64) -> None:
        place: i64 = self._text.find(b"\\", at)
        self._escape = len(self._text) if place < 0 else place

    def _put_fields(self, fields: list[AvroField], at: i64) -> i64:
        """Append the object at `at`; return the position after it."""
        out, text = self._out, self._text
        for field in fields:
            at += field.skipped
            if text[at] == _NULL:
                if not field.is_nullable:
                    raise UnsupportedChange(record_errors.NO_NULL, column=field.name)
                out.write(field.null_branch)
                at += _NULL_LENGTH
                continue
            if field.is_nullable:
                out.write(field.value_branch)
            kind = field.kind
            if kind == _LONG:
                at = self._put_number(field, at)
            elif kind == _STRING:
                at = self._put_string(at)
            elif kind == _RECORD:
                at = self._put_fields(field.fields, at)
            else:
                at = self._put_rare(kind, at)
        return at + 1

    def _put_number(self, field: AvroField, at: i64) -> i64:
        text = self._text
        start = at
        is_negative = text[at] == _MINUS
        if is_negative:
            at += 1
        digits_start = at
        value: i64 = 0
        digit: i64 = text[at] - _ZERO
        while 0 <= digit < _DIGITS:
            value = value * _DIGITS + digit
            at += 1
            digit = text[at] - _ZERO
        if at - digits_start > _SHORT_DIGITS:
            self._put_long(field, int(text[start:at]))
        else:
            put_varint(self._out, -value if is_negative else value)
        return at

    def _put_long(self, field: AvroField, value: int) -> None:
        """Append what `put_varint` does, also for the numbers that need 64 bits."""
        if not _INT64_MIN <= value <= _INT64_MAX:
            raise UnsupportedChange(record_errors.NO_LONG, column=field.name)
        rest = (value << 1) ^ (value >> 63)
        while rest >= _MORE:
            self._out.append(u8(rest & _BITS | _MORE))
            rest >>= 7
        self._out.append(u8(rest))

    def _put_string(self, at: i64) -> i64:
        text, out = self._text, self._out
        end: i64 = text.find(b'"', at + 1)
        if end < self._escape:
            put_varint(out, end - at - 1)
            out.write(text[at + 1 : end])
            return end + 1
        end = at + 1
        while text[end] != _QUOTE:
            end += 2 if text[end] == _BACKSLASH else 1
        end += 1
        self._find_escape(end)
        value: str = orjson.loads(text[at:end])
        encoded = value.encode()
        put_varint(out, len(encoded))
        out.write(encoded)
        return end

    def _put_rare(self, kind: i64, at: i64) -> i64:
        text, out = self._text, self._out
        if kind == _BYTES:
            end: i64 = text.find(b'"', at + 1)
            value = a2b_base64(text[at + 1 : end])
            put_varint(out, len(value))
            out.write(value)
            return end + 1
        if kind == _BOOLEAN:
            is_true = text[at] == _TRUE
            out.append(u8(1) if is_true else u8(0))
            return at + (4 if is_true else 5)
        if kind == _ARRAY:
            return self._put_array(at)
        end = at + 1
        while text[end] not in b",}":
            end += 1
        number = float(text[at:end])
        out.write(struct.pack("<d" if kind == _DOUBLE else "<f", number))
        return end

    def _put_array(self, at: i64) -> i64:
        """Append an array: a block of items, and an empty block."""
        out = self._out
        assert self._text[at] == _OPENED
        end: i64 = self._text.find(b"]", at) + 1
        items: list[float] = orjson.loads(self._text[at:end])
        if items:
            put_varint(out, len(items))
            out.write(struct.pack(f"<{len(items)}f", *items))
        out.append(u8(0))
        return end

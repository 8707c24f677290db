"""Reads the records of a batch into columns: of the headers, only those that a mirror needs.

The layout is in `connector.foundation.record_batch`. Numbers are written as bytes, so that
numpy can use them without an object for each record::

    offsets     8 bytes, little-endian
    sequences   38 bytes: the digits of cdc.seq; NO_SEQUENCE or WRONG_SEQUENCE instead of others
    ops         1 byte: cdc.op; NO_OP or WRONG_OP instead of others
    schemas     4 bytes, little-endian: the index of cdc.schema in `schema_ids`, or NO_SCHEMA
"""

from typing import Final, final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, u8

SEQUENCE_BYTES: Final = 38
NO_SEQUENCE: Final = bytes(SEQUENCE_BYTES)
WRONG_SEQUENCE: Final = b"\x01" * SEQUENCE_BYTES
NO_OP: Final = 0
WRONG_OP: Final = 1
NO_SCHEMA: Final = -1

_SEQ: Final = b"cdc.seq"
_OP: Final = b"cdc.op"
_SCHEMA: Final = b"cdc.schema"
_MORE: Final = 0x80
_BITS: Final = 0x7F
_VARINT_BITS: Final = 64


class DamagedRecordsError(Exception):
    """The bytes are not the records that the header of their batch announces."""


@final
class RecordColumns:
    """Records of one partition, in the order of their offsets."""

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.offsets = BytesWriter()
        self.sequences = BytesWriter()
        self.ops = BytesWriter()
        self.schemas = BytesWriter()
        self.schema_ids: list[bytes] = []
        self._numbers: dict[bytes, int] = {}

    def schema_number(self, schema_id: bytes) -> i64:
        """Return the index of `schema_id` in `schema_ids`."""
        number = self._numbers.get(schema_id)
        if number is None:
            number = len(self.schema_ids)
            self._numbers[schema_id] = number
            self.schema_ids.append(schema_id)
        return number


@final
class _Cursor:
    """A position in the records of a batch."""

    def __init__(self, data: bytes, at: i64) -> None:
        self.data = data
        self.at: i64 = at
        self.end: i64 = len(data)

    def number(self) -> i64:
        """Read a varint."""
        data = self.data
        at = self.at
        rest: i64 = 0
        shift: i64 = 0
        while at < self.end and shift < _VARINT_BITS:
            byte: i64 = data[at]
            at += 1
            rest |= (byte & _BITS) << shift
            if byte < _MORE:
                self.at = at
                return (rest >> 1) ^ -(rest & 1)
            shift += 7
        raise DamagedRecordsError

    def skip(self, length: i64) -> i64:
        """Pass `length` bytes, and return where they begin."""
        start = self.at
        if length < 0 or length > self.end - start:
            raise DamagedRecordsError
        self.at = start + length
        return start

    def optional(self) -> bytes | None:
        """Read bytes after their length; -1 stands for none."""
        length = self.number()
        if length == -1:
            return None
        start = self.skip(length)
        return self.data[start : start + length]


def read_records(
    data: bytes, at: i64, count: i64, base_offset: i64, first: i64, end: i64, out: RecordColumns
) -> None:
    """Append the records with offsets from `first` to before `end` to `out`.

    `data` has `count` records from `at` on; their offsets count from `base_offset`. Raises
    DamagedRecordsError if the bytes do not hold exactly these records.
    """
    cursor = _Cursor(data, at)
    done: i64 = 0
    while done < count:
        length = cursor.number()
        start = cursor.skip(length)
        after = cursor.at
        # Attributes have no meaning in this version.
        cursor.at = start + 1
        cursor.number()
        offset = base_offset + cursor.number()
        if first <= offset < end:
            out.keys.append(cursor.optional())
            out.values.append(cursor.optional())
            write_i64_le(out.offsets, offset)
            _read_headers(cursor, out)
            if cursor.at != after:
                raise DamagedRecordsError
        cursor.at = after
        done += 1
    if cursor.at != cursor.end:
        raise DamagedRecordsError


def _read_headers(cursor: _Cursor, out: RecordColumns) -> None:
    """Append the three headers; of several with one name, the first."""
    data = cursor.data
    sequence = NO_SEQUENCE
    op: i64 = NO_OP
    schema: i64 = NO_SCHEMA
    left = cursor.number()
    while left > 0:
        left -= 1
        length = cursor.number()
        start = cursor.skip(length)
        name = data[start : start + length]
        length = cursor.number()
        if length == -1:
            continue
        start = cursor.skip(length)
        if name == _SEQ:
            if sequence == NO_SEQUENCE:
                is_whole = length == SEQUENCE_BYTES
                sequence = data[start : start + length] if is_whole else WRONG_SEQUENCE
        elif name == _OP:
            if op == NO_OP:
                op = data[start] if length == 1 else WRONG_OP
                op = max(op, WRONG_OP)
        elif name == _SCHEMA and schema == NO_SCHEMA:
            schema = out.schema_number(data[start : start + length])
    out.sequences.write(sequence)
    out.ops.append(u8(op))
    write_i32_le(out.schemas, i32(schema))

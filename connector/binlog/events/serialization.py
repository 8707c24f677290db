"""MySQL's `mysql::serialization` format becomes integers and strings (8.3).

::

    message  version │ size │ last_non_ignorable_field_id │ (field_id │ value) …     all varlen
    varlen   the number of one-bits at the low end of the first byte is the number of bytes that
             follow; the value is what remains of all bytes, little-endian:

             xxxxxxx0                     7 bits          xxxxxx01 xxxxxxxx     14 bits
             01111111 and 7 bytes …       56 bits          11111111 and 8 bytes  64 bits

    signed   the sign is in the lowest bit: 0, -1, 1, -2 are 0, 1, 2, 3
    string   length varlen │ bytes

https://dev.mysql.com/doc/dev/mysql-server/latest/PageLibsMysqlSerialization.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import DecodeError, log, log_payloads

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

SERIALIZATION_VERSION = 1

_LONGEST = 8  # bytes after a first byte of 0xFF


def read_varlen(reader: PayloadReader) -> int:
    """Read an unsigned integer of one to nine bytes."""
    # Not an i64: the calculations below can exceed 64 bits.
    first: int = reader.read_uint8()
    following = 0
    while first >> following & 1:
        following += 1
    if following == _LONGEST:
        return reader.read_uint64()
    rest = reader.read_uint(following)
    return (rest << 8 | first) >> (following + 1)


def read_signed_varlen(reader: PayloadReader) -> int:
    """Read a signed integer of one to nine bytes."""
    raw = read_varlen(reader)
    return -(raw >> 1) - 1 if raw & 1 else raw >> 1


def read_varlen_bytes(reader: PayloadReader) -> bytes:
    """Read a length and that many bytes."""
    return reader.read_bytes(read_varlen(reader))


def read_message_head(reader: PayloadReader) -> int:
    """Read what precedes a message's fields; return the last field that must be known."""
    start = reader.offset
    version = read_varlen(reader)
    if version != SERIALIZATION_VERSION:
        raise DecodeError(log.VALUE_UNKNOWN, field="serialization version", value=version)
    size = read_varlen(reader)
    # An int, because native numbers would overflow here.
    available: int = reader.end - start
    if size != available:
        raise DecodeError(log_payloads.MESSAGE_SIZE, size=size, found=available)
    return read_varlen(reader)


def varlen(value: int) -> bytes:
    """Return an unsigned integer below 2**64 in its shortest form."""
    following = min((max(value.bit_length(), 1) - 1) // 7, _LONGEST)
    if following == _LONGEST:
        return b"\xff" + value.to_bytes(_LONGEST, "little")
    ones = (1 << following) - 1
    return (value << (following + 1) | ones).to_bytes(following + 1, "little")


def signed_varlen(value: int) -> bytes:
    """Return a signed integer of 64 bits in its shortest form."""
    return varlen(value << 1 if value >= 0 else (-value - 1) << 1 | 1)


def message(last_non_ignorable_field: int, fields: bytes) -> bytes:
    """Return a message with encoded `fields`, after its head."""
    rest = varlen(last_non_ignorable_field) + fields
    version = varlen(SERIALIZATION_VERSION)
    # The size counts itself.
    size = len(version) + 1 + len(rest)
    while len(version) + len(varlen(size)) + len(rest) > size:
        size += 1
    return version + varlen(size) + rest

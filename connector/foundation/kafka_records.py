"""Kafka's records: the interface that takes them, their headers, varints and partitions.

*Headers* have the form of a Kafka record from the start, so they are encoded once and then
copied::

    count varint │ (name length varint │ name │ value length varint │ value) …

https://kafka.apache.org/documentation/#record

*Varints* have seven bits a byte, the lowest first, and zigzag for the sign::

    value      0   -1    1   -2    2  …  -64     64
    encoded   00   01   02   03   04  …   7f  80 01

https://kafka.apache.org/documentation/#messageformat

*Partitions* are the ones that Kafka's Java client chooses. Its `DefaultPartitioner` is murmur2 of
the key bytes, its sign bit cleared, modulo the number of partitions. So records of other producers
with the same key are in the same partition.

https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/utils/Utils.java
"""

from typing import Any, Final, NamedTuple

from librt.strings import BytesWriter, read_i32_le
from mypy_extensions import i64, mypyc_attr, u8

_MORE: Final = 0x80
_BITS: Final = 0x7F


def put_varint(out: BytesWriter, value: i64) -> None:
    """Append a signed number of at most 63 bits."""
    rest = _zigzag(value)
    while rest >= _MORE:
        out.append(u8(rest & _BITS | _MORE))
        rest >>= 7
    out.append(u8(rest))


def varint_length(value: i64) -> i64:
    """Return how many bytes `put_varint` appends."""
    rest = _zigzag(value)
    length: i64 = 1
    while rest >= _MORE:
        rest >>= 7
        length += 1
    return length


def read_varint(data: bytes, at: i64) -> tuple[int, int]:
    """Return the number at `at`, and the position after it.

    Raises IndexError if `data` ends before the number does.
    """
    rest: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[at]
        at += 1
        rest |= (byte & _BITS) << shift
        if byte < _MORE:
            return (rest >> 1) ^ -(rest & 1), at
        shift += 7


def _zigzag(value: i64) -> i64:
    return value << 1 if value >= 0 else ~(value << 1)


NO_HEADERS: Final = b"\x00"


class Record(NamedTuple):
    """Bytes for a topic; the sink chooses the partition by the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, Any]]  # bytes, or None for NULL
    timestamp_ms: int  # time of the source's commit


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordTarget:
    """Takes records, in their order."""

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Take one record; `headers` are encoded, `timestamp_ms` is when the source committed.

        Raises before anything is taken if the record is too large for the target, or the topic is
        missing and cannot be created.
        """
        raise NotImplementedError

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the errors that `take` would raise before it takes a record that is too large."""

    def require_topic(self, topic: str) -> None:
        """Raise the error that `take` would raise because the target cannot create `topic`."""


def put_header(out: BytesWriter, name: bytes, value: bytes) -> None:
    """Append one header; the caller writes the count of all headers first, as a varint."""
    put_varint(out, len(name))
    out.write(name)
    put_varint(out, len(value))
    out.write(value)


def decode_headers(headers: bytes) -> list[tuple[str, Any]]:
    """Return the headers of a record as names and values; a value may be NULL."""
    count, at = read_varint(headers, 0)
    decoded: list[tuple[str, Any]] = []
    for _ in range(count):
        length, at = read_varint(headers, at)
        name = headers[at : at + length].decode()
        length, at = read_varint(headers, at + length)
        if length < 0:
            decoded.append((name, None))
            continue
        decoded.append((name, headers[at : at + length]))
        at += length
    return decoded


_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_WITHOUT_SIGN: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> i64:
    """Return the 32-bit murmur2 hash of `data`, unsigned."""
    length: i64 = len(data)
    h: i64 = (_SEED ^ length) & _MASK
    at: i64 = 0
    whole = length & ~3
    while at < whole:
        k = (i64(read_i32_le(data, at)) & _MASK) * _M & _MASK
        k ^= k >> 24
        h = (h * _M & _MASK) ^ (k * _M & _MASK)
        at += 4
    if at < length:
        rest: i64 = 0
        shift: i64 = 0
        while at < length:
            byte: i64 = data[at]
            rest |= byte << shift
            shift += 8
            at += 1
        h = (h ^ rest) * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    return h ^ (h >> 15)


def partition_of(key: bytes | None, partitions: i64) -> i64:
    """Return the partition of a record with `key`.

    Records without a key belong to tables without a primary key. They all go to partition 0,
    because only their order identifies them.
    """
    if key is None:
        return 0
    return (murmur2(key) & _WITHOUT_SIGN) % partitions

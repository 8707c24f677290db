"""A record's key becomes its partition, the same one that Kafka's Java client chooses.

Java's `DefaultPartitioner` is murmur2 of the key bytes, its sign bit cleared, modulo the number of
partitions. So records of other producers with the same key are in the same partition.

https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/utils/Utils.java
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

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

"""A record's key becomes its partition, the same one that Kafka's Java client chooses.

Java's `DefaultPartitioner` is murmur2 of the key bytes, its sign bit cleared, modulo the number of
partitions; records of other producers with the same key land beside ours.

https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/utils/Utils.java
"""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit murmur2 hash of `data`, unsigned."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _M & _MASK
        k ^= k >> 24
        h = (h * _M & _MASK) ^ (k * _M & _MASK)
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    return h ^ (h >> 15)


def partition_of(key: bytes | None, partitions: int) -> int:
    """Return the partition of a record with `key`.

    Records without a key belong to tables without a primary key; they share partition 0, because
    their order is all that identifies them.
    """
    if key is None:
        return 0
    return (murmur2(key) & 0x7FFFFFFF) % partitions

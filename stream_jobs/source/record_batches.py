"""The answer of a broker to a fetch becomes columns of committed records.

A batch of format v2::

    base offset 8 │ length 4 │ leader epoch 4 │ magic 1 │ crc32c 4 │ attributes 2
    last offset delta 4 │ first timestamp 8 │ max timestamp 8 │ producer id 8 │ producer epoch 2
    base sequence 4 │ count 4 │ records, maybe compressed

`crc32c` covers everything after it. The answer may end inside a batch, which is then left out. It
names the aborted transactions: a producer's records are left out from the first offset of such a
transaction to its ABORT marker.

https://kafka.apache.org/documentation/#recordbatch
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import crc32c

from connector.errors import MirrorError, mirror_records
from connector.records.record_reader import DamagedRecordsError, read_records
from stream_jobs.source.codecs import (
    CONTENT_BYTES_MAX,
    ERRORS,
    ContentTooLargeError,
    decompressed,
)

if TYPE_CHECKING:
    from connector.records.record_reader import RecordColumns

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
# The length does not count the base offset and itself.
_LENGTH_END: Final = 12
_MAGIC_AT: Final = 16
_MAGIC: Final = 2
_CRC_END: Final = 21
_CODEC_MASK: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_LENGTH: Final = struct.Struct(">i")
_MARKER: Final = struct.Struct(">hh")
_ABORT: Final = 0


class AbortedTransaction(NamedTuple):
    """A transaction that was rolled back."""

    producer_id: int
    first_offset: int


class FetchedBytes(NamedTuple):
    """What a broker returned for one partition."""

    topic: str
    partition: int
    data: bytes
    aborted: tuple[AbortedTransaction, ...]


def read_fetched(fetched: FetchedBytes, first: int, end: int, out: RecordColumns) -> int:
    """Append the committed records from `first` to before `end`, and return the next offset.

    The next offset is `first` if the bytes have no whole batch. Raises MirrorError for a damaged
    batch, and for one whose records would fill the memory.
    """
    data, at, next_offset = fetched.data, 0, first
    # Those that may have begun, earliest last.
    waiting = sorted(fetched.aborted, key=lambda each: each.first_offset, reverse=True)
    rolled_back: set[int] = set()
    while at + _HEADER.size <= len(data) and next_offset < end:
        (base, length, _, magic, crc, attributes, last_delta, _, _, producer, _, _, count) = (
            _HEADER.unpack_from(data, at)
        )
        after = at + _LENGTH_END + length
        if magic != _MAGIC or length < _HEADER.size - _LENGTH_END:
            raise _damaged(fetched, base)
        if after > len(data):
            break
        if crc32c.crc32c(memoryview(data)[at + _CRC_END : after]) != crc:
            raise _damaged(fetched, base)
        body = data[at + _HEADER.size : after]
        last = base + last_delta
        while waiting and waiting[-1].first_offset <= last:
            rolled_back.add(waiting.pop().producer_id)
        if attributes & _CONTROL:
            if _is_abort(body):
                rolled_back.discard(producer)
        elif last >= first and not (attributes & _TRANSACTIONAL and producer in rolled_back):
            try:
                content = decompressed(attributes & _CODEC_MASK, body)
                read_records(content, 0, count, base, first, end, out)
            except (ContentTooLargeError, DamagedRecordsError, *ERRORS) as error:
                raise _refused(fetched, base, error) from error
        next_offset = max(next_offset, last + 1)
        at = after
    return next_offset


def first_committed(fetched: FetchedBytes, first: int) -> tuple[int, int | None]:
    """Return the time of the first committed batch from `first` on, and the offset after it.

    The time is that of its first record, in milliseconds since 1970; None if there are only markers
    and records that were rolled back. The offset is `first` if the bytes have no whole batch.
    """
    data, at, next_offset = fetched.data, 0, first
    waiting = sorted(fetched.aborted, key=lambda each: each.first_offset, reverse=True)
    rolled_back: set[int] = set()
    while at + _HEADER.size <= len(data):
        (base, length, _, _, _, attributes, last_delta, time, _, producer, _, _, _) = (
            _HEADER.unpack_from(data, at)
        )
        after = at + _LENGTH_END + length
        if after > len(data):
            break
        last = base + last_delta
        while waiting and waiting[-1].first_offset <= last:
            rolled_back.add(waiting.pop().producer_id)
        next_offset = max(next_offset, last + 1)
        if attributes & _CONTROL:
            if _is_abort(data[at + _HEADER.size : after]):
                rolled_back.discard(producer)
        elif last >= first and not (attributes & _TRANSACTIONAL and producer in rolled_back):
            return next_offset, time
        at = after
    return next_offset, None


def newest_time(data: bytes) -> int | None:
    """Return the newest time of the first batch, in milliseconds since 1970; None without one."""
    if len(data) < _HEADER.size or data[_MAGIC_AT] != _MAGIC:
        return None
    time: int = _HEADER.unpack_from(data)[8]
    return time


def _is_abort(body: bytes) -> bool:
    """Return whether a control batch ends a transaction by a roll-back.

    Its only record has a key of four bytes: a version and a type, after the length, attributes, two
    deltas and the key's length, which have a byte each.
    """
    key_at = 5
    if len(body) < key_at + _MARKER.size:
        return False
    _, kind = _MARKER.unpack_from(body, key_at)
    return bool(kind == _ABORT)


def _refused(fetched: FetchedBytes, offset: int, error: Exception) -> MirrorError:
    if not isinstance(error, ContentTooLargeError):
        return _damaged(fetched, offset)
    return MirrorError(
        mirror_records.BATCH_TOO_LARGE,
        topic=fetched.topic,
        partition=fetched.partition,
        offset=offset,
        limit=CONTENT_BYTES_MAX,
    )


def _damaged(fetched: FetchedBytes, offset: int) -> MirrorError:
    return MirrorError(
        mirror_records.DAMAGED_BATCH,
        topic=fetched.topic,
        partition=fetched.partition,
        offset=offset,
    )

"""Record batches: a broker's answer to a fetch becomes columns of committed records.

A batch of format v2::

    base offset 8 │ length 4 │ leader epoch 4 │ magic 1 │ crc32c 4 │ attributes 2
    last offset delta 4 │ first timestamp 8 │ max timestamp 8 │ producer id 8 │ producer epoch 2
    base sequence 4 │ count 4 │ records, maybe compressed

`crc32c` covers everything after it. The answer may end inside a batch, which is then left out.
The answer names the aborted transactions: a producer's records are left out from the first offset
of such a transaction to its ABORT marker.

A batch is compressed with one of Kafka's codecs, and its content may not exceed
`CONTENT_BYTES_MAX`. Kafka's Java clients frame snappy as the library xerial-java does; other
clients send one raw block.

https://kafka.apache.org/documentation/#recordbatch
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Final, NamedTuple

import crc32c
import lz4.frame
import pyarrow as pa
import zstandard

from connector.foundation.record_reader import DamagedRecordsError, RecordColumns, read_records
from stream_jobs.errors import MirrorError, record_errors

_GZIP_WINDOW: Final = 31
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_BLOCK_LENGTH: Final = struct.Struct(">i")
_MORE: Final = 0x80
_INCOMPLETE: Final = "the compressed bytes end too soon"
# As the largest event of a server. A batch of the connector has one record, or far less bytes.
CONTENT_BYTES_MAX: Final = 1 << 30
_STEP_BYTES: Final = 1 << 18
# A copy of 64 bytes takes two at least.
_SNAPPY_RATIO_MAX: Final = 32


class ContentTooLargeError(Exception):
    """The records of a batch have more than CONTENT_BYTES_MAX bytes."""


def decompress(codec: int, data: bytes) -> bytes:
    """Return the bytes that `data` was compressed from; memory holds little more than them.

    Raises ContentTooLargeError, or one of the errors in ERRORS if they cannot be had.
    """
    return _CODECS[codec](data)


def _plain(data: bytes) -> bytes:
    return data


def _gzip(data: bytes) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    content = _limited(stream.decompress(data, CONTENT_BYTES_MAX + 1))
    if not stream.eof:
        raise EOFError(_INCOMPLETE)
    return content


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _snappy_block(data, CONTENT_BYTES_MAX)
    content = BytesIO()
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at += _BLOCK_LENGTH.size
        if length <= 0 or at + length > len(data):
            raise EOFError(_INCOMPLETE)
        content.write(_snappy_block(data[at : at + length], CONTENT_BYTES_MAX - content.tell()))
        at += length
    return content.getvalue()


def _snappy_block(data: bytes, bytes_max: int) -> bytes:
    """Decompress a block, which begins with the length of its content."""
    length = shift = 0
    for byte in data[:5]:
        length |= (byte & ~_MORE) << shift
        shift += 7
        if byte < _MORE:
            break
    if length > _SNAPPY_RATIO_MAX * len(data):
        reason = "the announced length is impossible"
        raise ValueError(reason)
    if length > bytes_max:
        raise ContentTooLargeError
    content: bytes = pa.Codec("snappy").decompress(data, length, asbytes=True)
    return content


def _lz4(data: bytes) -> bytes:
    stream = lz4.frame.LZ4FrameDecompressor()
    content = BytesIO()
    # The library makes room for all that it may return.
    piece = stream.decompress(data, _STEP_BYTES)
    while piece:
        content.write(piece)
        if content.tell() > CONTENT_BYTES_MAX:
            raise ContentTooLargeError
        piece = b"" if stream.eof else stream.decompress(b"", _STEP_BYTES)
    if not stream.eof:
        raise EOFError(_INCOMPLETE)
    return content.getvalue()


def _zstd(data: bytes) -> bytes:
    size = zstandard.frame_content_size(data)
    if size > CONTENT_BYTES_MAX:
        raise ContentTooLargeError
    if size >= 0:
        # The frame tells its length, and zstd writes no more.
        return zstandard.ZstdDecompressor().decompress(data)
    content = BytesIO()
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        while piece := stream.read(_STEP_BYTES):
            content.write(piece)
            if content.tell() > CONTENT_BYTES_MAX:
                raise ContentTooLargeError
    return content.getvalue()


def _limited(content: bytes) -> bytes:
    if len(content) > CONTENT_BYTES_MAX:
        raise ContentTooLargeError
    return content


_CODECS: Final[dict[int, Callable[[bytes], bytes]]] = {
    0: _plain,
    1: _gzip,
    2: _snappy,
    3: _lz4,
    4: _zstd,
}

CODEC_ERRORS: Final = (
    KeyError,
    ValueError,
    OSError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    pa.ArrowException,
    zstandard.ZstdError,
)


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
# Behind every offset.
_NO_END: Final = 1 << 63


class AbortedTransaction(NamedTuple):
    """A transaction that was rolled back."""

    producer_id: int
    first_offset: int


class FetchResponse(NamedTuple):
    """What a broker returned for one partition."""

    topic: str
    partition: int
    data: bytes
    aborted: tuple[AbortedTransaction, ...]


class _Batch(NamedTuple):
    """A whole batch: its bytes are `data[start:after]` of the answer."""

    base: int
    next_offset: int  # behind it, and never before where the answer was asked from
    start: int
    after: int
    crc: int
    codec: int
    time: int
    records: int
    # Whether it has committed records from the asked offset on.
    is_wanted: bool


def _batches(fetched: FetchResponse, first: int, end: int) -> Iterator[_Batch]:
    """Yield the whole batches, up to the one that reaches `end`; raises MirrorError for damage."""
    data, at, next_offset = fetched.data, 0, first
    # Those that may have begun, earliest last.
    waiting = sorted(fetched.aborted, key=lambda aborted: aborted.first_offset, reverse=True)
    rolled_back: set[int] = set()
    while at + _HEADER.size <= len(data) and next_offset < end:
        (base, length, _, magic, crc, attributes, last_delta, time, _, producer, _, _, count) = (
            _HEADER.unpack_from(data, at)
        )
        after = at + _LENGTH_END + length
        if magic != _MAGIC or length < _HEADER.size - _LENGTH_END:
            raise _damaged(fetched, base)
        if after > len(data):
            break
        last = base + last_delta
        while waiting and waiting[-1].first_offset <= last:
            rolled_back.add(waiting.pop().producer_id)
        is_wanted = False
        if attributes & _CONTROL:
            if _is_abort(data[at + _HEADER.size : after]):
                rolled_back.discard(producer)
        else:
            is_rolled_back = attributes & _TRANSACTIONAL and producer in rolled_back
            is_wanted = last >= first and not is_rolled_back
        next_offset = max(next_offset, last + 1)
        yield _Batch(
            base, next_offset, at, after, crc, attributes & _CODEC_MASK, time, count, is_wanted
        )
        at = after


def read_committed_records(fetched: FetchResponse, first: int, end: int, out: RecordColumns) -> int:
    """Append the committed records from `first` to before `end`, and return the next offset.

    The next offset is `first` if the bytes have no whole batch. Raises MirrorError for a damaged
    batch, and for one whose records would fill the memory.
    """
    data, next_offset = fetched.data, first
    for batch in _batches(fetched, first, end):
        if crc32c.crc32c(memoryview(data)[batch.start + _CRC_END : batch.after]) != batch.crc:
            raise _damaged(fetched, batch.base)
        if batch.is_wanted:
            try:
                content = decompress(batch.codec, data[batch.start + _HEADER.size : batch.after])
                read_records(content, 0, batch.records, batch.base, first, end, out)
            except (ContentTooLargeError, DamagedRecordsError, *CODEC_ERRORS) as error:
                raise _refused(fetched, batch.base, error) from error
        next_offset = batch.next_offset
    return next_offset


def first_committed_time(fetched: FetchResponse, first: int) -> tuple[int, int | None]:
    """Return the time of the first committed batch from `first` on, and the offset after it.

    The time is that of its first record, in milliseconds since 1970; None if there are only markers
    and records that were rolled back. The offset is `first` if the bytes have no whole batch.
    Raises MirrorError for a damaged batch.
    """
    next_offset = first
    for batch in _batches(fetched, first, _NO_END):
        next_offset = batch.next_offset
        if batch.is_wanted:
            return next_offset, batch.time
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


def _refused(fetched: FetchResponse, offset: int, error: Exception) -> MirrorError:
    if not isinstance(error, ContentTooLargeError):
        return _damaged(fetched, offset)
    return MirrorError(
        record_errors.BATCH_TOO_LARGE,
        topic=fetched.topic,
        partition=fetched.partition,
        offset=offset,
        limit=CONTENT_BYTES_MAX,
    )


def _damaged(fetched: FetchResponse, offset: int) -> MirrorError:
    return MirrorError(
        record_errors.DAMAGED_BATCH,
        topic=fetched.topic,
        partition=fetched.partition,
        offset=offset,
    )

"""Compressed events: MySQL's TRANSACTION_PAYLOAD_EVENT (8.0.20), and MariaDB's (10.2.3).

::

    TRANSACTION_PAYLOAD   (field lenenc │ length lenenc │ value) … │ 0 │ payload
                          1 payload_size lenenc │ 2 compression_type lenenc │
                          3 uncompressed_size lenenc

    QUERY_COMPRESSED      the body of QUERY up to the query │ record
    rows, compressed      the body of the rows event up to the first row │ record
    record                1 │ algorithm 3 bits = 0 │ 0 │ n 3 bits │ length, n bytes, BE │ zlib

A payload holds all events of a transaction after its GTID event. They have no checksums, and their
log_pos is 0: they have no position in the file. MariaDB compresses single events
(log_bin_compress), which become the bodies of the plain ones; `length` is the number of bytes
before compression.

*Memory.* A payload may expand ten thousand times. It is decompressed while it is read, so memory
holds one event and the window of zstd. An event may have no more bytes than one outside of a
payload.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html
https://mariadb.com/kb/en/compressing-events-to-reduce-size-of-the-binary-log/
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from io import BytesIO
from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from connector.binlog import header, log_errors
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    import zstandard

    _Source = BytesIO | zstandard.ZstdDecompressionReader


# Bytes that are decompressed at a time, so that a size that lies allocates nothing.
STEP_LENGTH: Final = 1 << 20

_END = 0
_PAYLOAD_SIZE = 1
_COMPRESSION_TYPE = 2
_UNCOMPRESSED_SIZE = 3

_U32: Final = 0xFFFF_FFFF


class CompressionType(IntEnum):
    """How the events are compressed."""

    ZSTD = 0
    NONE = 255


@dataclass(slots=True)
class TransactionPayload:
    """The events of a transaction after its GTID event, compressed; `split` gives their bytes."""

    compression: CompressionType
    size: int  # bytes, compressed
    uncompressed_size: int  # bytes of the events
    unknown_fields: int  # number of the header's fields that this version does not know
    _data: bytes = field(repr=False)
    _start: int  # of the payload in `_data`

    @classmethod
    def decode(cls, body: PayloadReader) -> TransactionPayload:
        """Decode the body of a TRANSACTION_PAYLOAD_EVENT."""
        fields: dict[int, int] = {}
        unknown = 0
        while (number := body.read_lenenc()) != _END:
            value = PayloadReader(body.read_lenenc_bytes())
            if number not in (_PAYLOAD_SIZE, _COMPRESSION_TYPE, _UNCOMPRESSED_SIZE):
                unknown += 1
                continue
            fields[number] = value.read_lenenc()
            if value.remaining:
                raise DecodeError(log_errors.PAYLOAD_FIELD, number=number)
        if _PAYLOAD_SIZE not in fields or _COMPRESSION_TYPE not in fields:
            raise DecodeError(log_errors.PAYLOAD_INCOMPLETE)
        size = fields[_PAYLOAD_SIZE]
        remaining: int = body.remaining
        if size != remaining:
            raise DecodeError(log_errors.PAYLOAD_SIZE, found=remaining, size=size)
        compression = _compression_type(fields[_COMPRESSION_TYPE])
        # Not stated when the events are not compressed.
        uncompressed_size = fields.get(_UNCOMPRESSED_SIZE, size)
        start = body.offset
        body.skip(size)
        return cls(compression, size, uncompressed_size, unknown, body.data, start)

    def split(self) -> Iterator[bytes]:
        """Decompress, and yield the bytes of each event, by the sizes in their headers.

        Raises DecodeError or ZstdError after the last one that is whole.
        """
        source = self._open()
        unpacked = _Unpacked(source, self.uncompressed_size)
        while unpacked.left:
            yield unpacked.next_event()
        if source.read(1):
            raise DecodeError(log_errors.PAYLOAD_LONGER, size=self.uncompressed_size)

    def _open(self) -> _Source:
        payload = memoryview(self._data)[self._start : self._start + self.size]
        if self.compression is CompressionType.NONE:
            return BytesIO(payload)
        import zstandard  # noqa: PLC0415  # takes long to import, and few logs need it

        return zstandard.ZstdDecompressor().stream_reader(payload, read_across_frames=True)


@final
class _Unpacked:
    """The bytes of the events inside, unpacked in steps."""

    def __init__(self, source: _Source, size: int) -> None:
        self.left = size  # bytes of events that have not been read
        self._size = size
        self._source = source
        self._block = b""  # bytes that have been unpacked,
        self._at: i64 = 0  # up to here also read

    def next_event(self) -> bytes:
        """Return the bytes of the next event, by the size in its header.

        Raises DecodeError for an impossible size, and if the payload ends too soon.
        """
        block = self._block
        start = self._at
        length: i64 = len(block)
        if length - start < header.HEADER_LENGTH:
            return self._next_in_pieces()
        # An int, as `left` is: a header may state any number of 64 bits.
        size: int = i64(read_i32_le(block, start + header.SIZE_OFFSET)) & _U32
        self._check(size)
        end = start + size
        if end > length:
            return self._next_in_pieces()
        self._at = end
        self.left -= size
        return block[start:end]

    def _next_in_pieces(self) -> bytes:
        # It gives its buffer away, so a large event is in memory once.
        event = BytesIO()
        self._read(min(header.HEADER_LENGTH, self.left), event)
        size = int.from_bytes(event.getvalue()[header.SIZE_OFFSET : header.SIZE_END], "little")
        self._check(size)
        self._read(size - header.HEADER_LENGTH, event)
        self.left -= size
        return event.getvalue()

    def _check(self, size: int) -> None:
        if not header.HEADER_LENGTH <= size <= self.left:
            raise DecodeError(
                log_errors.PAYLOAD_EVENT_SIZE, size=size, left=self.left, whole=self._size
            )
        if size > header.EVENT_BYTES_MAX:
            raise DecodeError(
                log_errors.PAYLOAD_EVENT_LIMIT, size=size, limit=header.EVENT_BYTES_MAX
            )

    def _read(self, length: i64, out: BytesIO) -> None:
        while length:
            if self._at == len(self._block):
                # No more bytes than belong to events, so that extra bytes after them are noticed.
                self._block = self._source.read(min(STEP_LENGTH, self.left))
                self._at = 0
                if not self._block:
                    raise DecodeError(log_errors.PAYLOAD_SHORTER, missing=length)
            piece = self._block[self._at : self._at + length]
            out.write(piece)
            self._at += len(piece)
            length -= len(piece)


def _compression_type(code: int) -> CompressionType:
    try:
        return CompressionType(code)
    except ValueError:
        raise DecodeError(log_errors.VALUE_UNKNOWN, field="compression type", value=code) from None


# The largest event that a server can write or send: max_allowed_packet ends there.
EVENT_LENGTH_MAX = 1 << 30

# Bytes that zlib gets at a time: it copies those that it has not used yet after each step.
_PACKED_STEP_LENGTH = 1 << 16

# The fixed part of QUERY_EVENT, and what is in it around the length of the schema's name.
_QUERY_HEADER_LENGTH = 13
_SCHEMA_LENGTH_OFFSET = 8
_ERROR_CODE_LENGTH = 2

_ZLIB = 0x80
_HEAD_MASK = 0xF8
_LENGTH_MASK = 0x07
_LENGTH_BYTES_MAX = 4


def decompress_query(body: PayloadReader, post_header_length: int | None = None) -> PayloadReader:
    """Return the body of the plain QUERY_EVENT in a QUERY_COMPRESSED_EVENT."""
    plain = PayloadReader(body.data, body.offset, body.end)
    head = header.read_post_header(plain, post_header_length, _QUERY_HEADER_LENGTH)
    head.skip(_SCHEMA_LENGTH_OFFSET)
    schema_length = head.read_uint8()
    head.skip(_ERROR_CODE_LENGTH)
    plain.skip(head.read_uint16() + schema_length + 1)
    return _decompress(body, plain.offset)


def decompress_rows(body: PayloadReader, *, update: bool) -> PayloadReader:
    """Return the bytes after the head of the plain rows event in a compressed one.

    The cursor is after the head, at the number of columns.
    """
    head = PayloadReader(body.data, body.offset, body.end)
    bitmap_length = (head.read_lenenc() + 7) // 8
    head.skip(bitmap_length * (2 if update else 1))
    return _decompress(body, head.offset)


def _decompress(body: PayloadReader, end_of_plain: int) -> PayloadReader:
    plain = body.read_bytes(end_of_plain - body.offset)
    return PayloadReader(read_compressed(body, plain))


def read_compressed(body: PayloadReader, before: bytes = b"") -> bytes:
    """Read a compressed record, which fills the body; return `before` and the decompressed bytes.

    Memory holds the result once. Raises DecodeError for a record with a wrong length, and then
    stops the decompression.
    """
    head = body.read_uint8()
    length_bytes = head & _LENGTH_MASK
    if head & _HEAD_MASK != _ZLIB or not 0 < length_bytes <= _LENGTH_BYTES_MAX:
        raise DecodeError(log_errors.NOT_ZLIB, head=head)
    length = int.from_bytes(body.read_bytes(length_bytes), "big")
    if length > EVENT_LENGTH_MAX:
        raise DecodeError(log_errors.TOO_LONG_UNPACKED, length=length)
    compressed = body.read_rest()
    at = 0
    decompressor = zlib.decompressobj()
    # It gives its buffer away.
    out = BytesIO()
    out.write(before)
    left = length + 1  # one byte more shows a length that is too small
    try:
        while left and not decompressor.eof:
            packed = decompressor.unconsumed_tail
            if not packed:
                packed = compressed[at : at + _PACKED_STEP_LENGTH]
                at += len(packed)
            chunk = decompressor.decompress(packed, min(left, STEP_LENGTH))
            if not chunk and not packed:
                break
            left -= len(chunk)
            out.write(chunk)
    except zlib.error as error:
        raise DecodeError(log_errors.NOT_UNPACKED, why=error) from error
    whole = decompressor.eof and at == len(compressed) and not decompressor.unused_data
    if left != 1 or not whole:
        raise DecodeError(log_errors.RECORD_LENGTH, length=length)
    return out.getvalue()

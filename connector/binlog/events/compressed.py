"""MariaDB's compressed events (log_bin_compress, 10.2.3) become the bodies of the plain ones.

::

    QUERY_COMPRESSED   the body of QUERY up to the query │ record
    rows, compressed   the body of the rows event up to the first row │ record
    record             1 │ algorithm 3 bits = 0 │ 0 │ n 3 bits │ length, n bytes, big-endian │ zlib

The length is that of the bytes before they were compressed.

https://mariadb.com/kb/en/compressing-events-to-reduce-size-of-the-binary-log/
"""

from __future__ import annotations

import zlib
from io import BytesIO

from connector.binlog.framing.post_header import read_post_header
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log_payloads

# The largest event that a server can write or send: max_allowed_packet ends there.
EVENT_LENGTH_MAX = 1 << 30

# Bytes that are decompressed at a time, so that a false length allocates nothing.
STEP_LENGTH = 1 << 20
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
    head = read_post_header(plain, post_header_length, _QUERY_HEADER_LENGTH)
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
        raise DecodeError(log_payloads.NOT_ZLIB, head=head)
    length = int.from_bytes(body.read_bytes(length_bytes), "big")
    if length > EVENT_LENGTH_MAX:
        raise DecodeError(log_payloads.TOO_LONG_UNPACKED, length=length)
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
        raise DecodeError(log_payloads.NOT_UNPACKED, why=error) from error
    whole = decompressor.eof and at == len(compressed) and not decompressor.unused_data
    if left != 1 or not whole:
        raise DecodeError(log_payloads.RECORD_LENGTH, length=length)
    return out.getvalue()

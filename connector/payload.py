"""A cursor over one whole payload: MySQL's basic types, and the only place where an offset moves.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_data_types.html
"""

from __future__ import annotations

from connector.errors import DecodeError, TruncatedPayload

# The first byte of a length-encoded integer, when it is not the value itself.
LENENC_NULL = 0xFB
LENENC_2 = 0xFC
LENENC_3 = 0xFD
LENENC_8 = 0xFE


class PayloadReader:
    """Reads MySQL's integers, strings and bitmaps from the front of `data[offset:end]`.

    Every `read_*` moves the cursor behind what it returns, or raises `TruncatedPayload`
    and leaves the cursor where it was.
    """

    __slots__ = ("data", "end", "offset")

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        """Start reading `data` at `offset`; `end` is exclusive and defaults to its length."""
        self.data = data
        self.offset = offset
        self.end = len(data) if end is None else end

    @property
    def remaining(self) -> int:
        """Bytes that have not been read."""
        return self.end - self.offset

    def _take(self, length: int) -> int:
        start = self.offset
        if length < 0 or length > self.end - start:
            raise TruncatedPayload(length, start, self.end)
        self.offset = start + length
        return start

    def read_uint(self, length: int) -> int:
        """Read an unsigned little-endian integer of `length` bytes."""
        start = self._take(length)
        return int.from_bytes(self.data[start : start + length], "little")

    def read_int(self, length: int) -> int:
        """Read a signed little-endian integer of `length` bytes."""
        start = self._take(length)
        return int.from_bytes(self.data[start : start + length], "little", signed=True)

    def read_uint8(self) -> int:
        """Read one byte."""
        return self.data[self._take(1)]

    def read_uint16(self) -> int:
        """Read two bytes, little-endian."""
        return self.read_uint(2)

    def read_uint32(self) -> int:
        """Read four bytes, little-endian."""
        return self.read_uint(4)

    def read_uint48(self) -> int:
        """Read six bytes, little-endian: a table id."""
        return self.read_uint(6)

    def read_uint64(self) -> int:
        """Read eight bytes, little-endian."""
        return self.read_uint(8)

    def read_lenenc(self) -> int:
        """Read a length-encoded integer; the NULL marker 0xFB and 0xFF are errors here."""
        start = self.offset
        first = self.read_uint8()
        if first < LENENC_NULL:
            return first
        length = {LENENC_2: 2, LENENC_3: 3, LENENC_8: 8}.get(first)
        if length is None:
            self.offset = start
            reason = f"{first:#04x} at offset {start} does not start a length-encoded integer"
            raise DecodeError(reason)
        try:
            return self.read_uint(length)
        except TruncatedPayload:
            self.offset = start
            raise

    def read_bytes(self, length: int) -> bytes:
        """Read `length` bytes."""
        start = self._take(length)
        return self.data[start : start + length]

    def read_rest(self) -> bytes:
        """Read everything up to the end."""
        return self.read_bytes(self.end - self.offset)

    def read_lenenc_bytes(self) -> bytes:
        """Read a length-encoded integer and that many bytes."""
        start = self.offset
        try:
            return self.read_bytes(self.read_lenenc())
        except TruncatedPayload:
            self.offset = start
            raise

    def skip(self, length: int) -> None:
        """Move behind `length` bytes."""
        self._take(length)


def encode_lenenc(value: int) -> bytes:
    """Return a length-encoded integer in its shortest form."""
    if value < LENENC_NULL:
        return bytes([value])
    for first, length in ((LENENC_2, 2), (LENENC_3, 3)):
        if value < 1 << 8 * length:
            return bytes([first]) + value.to_bytes(length, "little")
    return bytes([LENENC_8]) + value.to_bytes(8, "little")

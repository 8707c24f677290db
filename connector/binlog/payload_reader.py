"""A cursor over one whole payload: MySQL's basic types; no read goes past the end.

Payloads are also compared here, in place and without a copy.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_data_types.html
"""

from typing import Final, final

from librt.strings import read_i16_le, read_i32_le, read_i64_le
from mypy_extensions import i64, mypyc_attr

from connector.binlog import log_errors
from connector.binlog.log_errors import TruncatedPayload
from connector.foundation.errors import DecodeError

# The first byte of a length-encoded integer, if it is not the value itself.
LENENC_NULL: Final = 0xFB
LENENC_2: Final = 0xFC
LENENC_3: Final = 0xFD
LENENC_8: Final = 0xFE

# An integer of fewer bytes fits 64 bits with a sign.
_WORD_LENGTH: Final = 8
_WORD_RANGE: Final = 1 << 64


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class PayloadReader:
    """Reads MySQL's integers, strings and bitmaps from the front of `data[offset:end]`.

    Every `read_*` moves the cursor past its result, or raises `TruncatedPayload`
    and leaves the cursor where it was.
    """

    __slots__ = ("data", "end", "offset")

    def __init__(self, data: bytes, offset: i64 = 0, end: i64 = -1) -> None:
        """Start reading `data` at `offset`; `end` is exclusive and defaults to its length."""
        self.data = data
        self.offset: i64 = offset
        # Not a conditional expression: compiled, it would make an object.
        if end < 0:
            end = len(data)
        self.end: i64 = end

    @property
    def remaining(self) -> i64:
        """Bytes that have not been read."""
        return self.end - self.offset

    def take(self, length: i64) -> i64:
        """Move past `length` bytes, and return where they start in `data`."""
        start = self.offset
        if length < 0 or length > self.end - start:
            raise TruncatedPayload(length, start, self.end)
        self.offset = start + length
        return start

    def read_uint(self, length: i64) -> int:
        """Read an unsigned little-endian integer of `length` bytes."""
        start = self.take(length)
        if length >= _WORD_LENGTH:
            return int.from_bytes(self.data[start : start + length], "little")
        return self._little_endian(start, length)

    def read_int(self, length: i64) -> int:
        """Read a signed little-endian integer of `length` bytes."""
        start = self.take(length)
        return int.from_bytes(self.data[start : start + length], "little", signed=True)

    def read_uint8(self) -> i64:
        """Read one byte."""
        return self.data[self.take(1)]

    def read_uint16(self) -> i64:
        """Read two bytes, little-endian."""
        return i64(read_i16_le(self.data, self.take(2))) & 0xFFFF

    def read_uint24(self) -> i64:
        """Read three bytes, little-endian."""
        return self._little_endian(self.take(3), 3)

    def read_uint32(self) -> i64:
        """Read four bytes, little-endian."""
        return i64(read_i32_le(self.data, self.take(4))) & 0xFFFF_FFFF

    def read_uint48(self) -> i64:
        """Read six bytes, little-endian: a table id."""
        return self._little_endian(self.take(6), 6)

    def read_uint64(self) -> int:
        """Read eight bytes, little-endian."""
        value: int = read_i64_le(self.data, self.take(8))
        return value if value >= 0 else value + _WORD_RANGE

    def read_int8(self) -> i64:
        """Read one byte with a sign."""
        value: i64 = self.data[self.take(1)]
        return value - ((value & 0x80) << 1)

    def read_int16(self) -> i64:
        """Read two bytes with a sign, little-endian."""
        return i64(read_i16_le(self.data, self.take(2)))

    def read_int24(self) -> i64:
        """Read three bytes with a sign, little-endian."""
        value = self._little_endian(self.take(3), 3)
        return value - ((value & 0x80_0000) << 1)

    def read_int32(self) -> i64:
        """Read four bytes with a sign, little-endian."""
        return i64(read_i32_le(self.data, self.take(4)))

    def read_int64(self) -> i64:
        """Read eight bytes with a sign, little-endian."""
        return read_i64_le(self.data, self.take(8))

    def read_big(self, length: i64) -> i64:
        """Read an unsigned big-endian integer of up to seven bytes."""
        data = self.data
        at = self.take(length)
        end = at + length
        value: i64 = 0
        while at < end:
            byte: i64 = data[at]
            value = value << 8 | byte
            at += 1
        return value

    def read_length(self, prefix: i64) -> i64:
        """Read an unsigned little-endian integer of up to seven bytes.

        Without any, the length is that of all that is left, as of a cell that ends with `data`.
        """
        if prefix == 1:
            return self.read_uint8()
        if prefix == 2:  # noqa: PLR2004 - bytes
            return self.read_uint16()
        if prefix == 0:
            return self.end - self.offset
        return self._little_endian(self.take(prefix), prefix)

    def read_lenenc(self) -> int:
        """Read a length-encoded integer; the NULL marker 0xFB and 0xFF are errors here."""
        start = self.offset
        first = self.read_uint8()
        if first < LENENC_NULL:
            return first
        if first == LENENC_2:
            length: i64 = 2
        elif first == LENENC_3:
            length = 3
        elif first == LENENC_8:
            length = 8
        else:
            self.offset = start
            raise DecodeError(log_errors.LENGTH_UNKNOWN, first=first, offset=start)
        try:
            return self.read_uint(length)
        except TruncatedPayload:
            self.offset = start
            raise

    def read_bytes(self, length: int) -> bytes:
        """Read `length` bytes."""
        start = self._take_any(length)
        return self.data[start : self.offset]

    def read_rest(self) -> bytes:
        """Read everything up to the end."""
        return self.read_bytes(self.end - self.offset)

    def read_lenenc_bytes(self) -> bytes:
        """Read a length-encoded integer and as many bytes as it says."""
        start = self.offset
        try:
            return self.read_bytes(self.read_lenenc())
        except TruncatedPayload:
            self.offset = start
            raise

    def read_terminated(self, field: str) -> bytes:
        """Read up to a zero byte, which ends `field`; raise DecodeError without one."""
        end = self.data.find(b"\0", self.offset, self.end)
        if end < 0:
            raise DecodeError(log_errors.NO_END, field=field)
        raw = self.read_bytes(end - self.offset)
        self.skip(1)
        return raw

    def skip(self, length: int) -> None:
        """Move past `length` bytes."""
        self._take_any(length)

    def _take_any(self, length: int) -> i64:
        """Take `length` bytes; the number may be larger than a native one."""
        # An int, because native numbers would overflow here.
        remaining: int = self.end - self.offset
        if length > remaining:
            raise TruncatedPayload(length, self.offset, self.end)
        return self.take(length)

    def _little_endian(self, start: i64, length: i64) -> i64:
        """Return the integer of up to seven bytes at `start`; `take` has checked its end."""
        data = self.data
        value: i64 = 0
        at = start + length
        while at > start:
            at -= 1
            byte: i64 = data[at]
            value = value << 8 | byte
        return value


def utf8_text(raw: bytes, field: str) -> str:
    """Return bytes as text; raise DecodeError that names `field` if they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DecodeError(log_errors.NOT_UTF8, field=field) from None


def ascii_text(raw: bytes, field: str) -> str:
    """Return bytes as text; raise DecodeError that names `field` if they are not ASCII."""
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        raise DecodeError(log_errors.NOT_ASCII, field=field) from None


def encode_lenenc(value: int) -> bytes:
    """Return a length-encoded integer in its shortest form."""
    if value < LENENC_NULL:
        return bytes([value])
    for first, length in ((LENENC_2, 2), (LENENC_3, 3)):
        if value < 1 << 8 * length:
            return bytes([first]) + value.to_bytes(length, "little")
    return bytes([LENENC_8]) + value.to_bytes(8, "little")


_WORD: Final = 8


def has_bytes_at(data: bytes, at: i64, expected: bytes) -> bool:
    """Return whether `data` has the bytes `expected` at `at`; it must be long enough."""
    length: i64 = len(expected)
    if length < _WORD:
        return data[at : at + length] == expected
    last = length - _WORD
    index: i64 = 0
    while index < last:
        if read_i64_le(data, at + index) != read_i64_le(expected, index):
            return False
        index += _WORD
    # The last word overlaps the one before it.
    return read_i64_le(data, at + last) == read_i64_le(expected, last)


def has_same_bytes(data: bytes, at: i64, other: i64, length: i64) -> bool:
    """Return whether `data` has the same `length` bytes at `at` and at `other`; it has them all."""
    if length < _WORD:
        end = at + length
        while at < end:
            if data[at] != data[other]:
                return False
            at += 1
            other += 1
        return True
    last = length - _WORD
    index: i64 = 0
    while index < last:
        if read_i64_le(data, at + index) != read_i64_le(data, other + index):
            return False
        index += _WORD
    # The last word overlaps the one before it.
    return read_i64_le(data, at + last) == read_i64_le(data, other + last)

"""Checksums: the last four bytes of an event prove that its other bytes are intact.

*Runs.* Events that lie one after the other are verified together. The CRC32 of an event with its
own checksum is always the same number, the residue. So the CRC32 of several events depends on their
lengths alone: it can be computed without their bytes, and compared. A difference shows that some
event is damaged; each of them is then verified by itself.

::

    crc(A B) = shift(crc(A), length of B) ^ crc(B)       shift: multiply by x ** (8 * length)

The CRC32 of a run is the sum of the residues, each shifted by the bytes after its event. A table
shifts each of them to the next edge; edges are `LENGTH_MAX` bytes apart. The sum is shifted from
edge to edge, and the CRC32 of the bytes is shifted from the end of the run to the last edge.

https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_binlog_checksum
https://www.zlib.net/manual.html#Checksum (crc32_combine)
"""

from enum import IntEnum
from struct import pack
from typing import Final, final

from isal import isal_zlib
from librt.strings import read_i32_le
from mypy_extensions import i64

from connector.binlog import header, log_errors
from connector.foundation.errors import DecodeError

CHECKSUM_LENGTH: Final = 4

_FLAGS_OFFSET = 17

# CRC32 of any bytes followed by their own CRC32.
RESIDUE: Final = 0x2144_DF1C

crc32: Final = isal_zlib.crc32


class ChecksumAlgorithm(IntEnum):
    """The checksum algorithm, as FORMAT_DESCRIPTION_EVENT names it."""

    NONE = 0
    CRC32 = 1
    UNDEFINED = 255


def stored_checksum(data: bytes) -> int:
    """Return the CRC32 that an event carries in its last four bytes."""
    return int.from_bytes(data[-CHECKSUM_LENGTH:], "little")


def computed_checksum(data: bytes) -> int:
    """Return the CRC32 of an event's bytes before its checksum."""
    return crc32(memoryview(data)[:-CHECKSUM_LENGTH])


def computed_format_checksum(data: bytes) -> int:
    """Return the CRC32 of a FORMAT_DESCRIPTION_EVENT.

    The server sets and clears the IN_USE flag in place, so the flag counts as cleared.
    """
    head = bytearray(data[: _FLAGS_OFFSET + 1])
    head[_FLAGS_OFFSET] &= ~header.LOG_EVENT_BINLOG_IN_USE_F
    rest = memoryview(data)[_FLAGS_OFFSET + 1 : -CHECKSUM_LENGTH]
    return crc32(rest, crc32(head))


def require_intact(data: bytes) -> None:
    """Raise DecodeError unless the CRC32 of an event equals its last four bytes."""
    if crc32(data) != RESIDUE:
        require_checksum(computed_checksum(data), stored_checksum(data))


def require_checksum(computed: int, stored: int) -> None:
    """Raise DecodeError unless both checksums are equal."""
    if computed != stored:
        raise DecodeError(log_errors.CHECKSUM_DIFFERS, computed=computed, stored=stored)


# Longer events are verified one by one, which costs little for each of their bytes. So an event
# passes over one edge at most.
LENGTH_MAX: Final = 2048

_U32: Final = 0xFFFF_FFFF
_POLYNOMIAL: Final = 0xEDB8_8320  # reflected: the highest bit is x ** 0
_ONE: Final = 0x8000_0000
# A table of a shift has 16 entries of four bytes for each of the eight half bytes of a number.
_HALF_BYTES: Final = 8
_ENTRIES: Final = 16


@final
class ChecksumRuns:
    """Finds runs of intact events."""

    def __init__(self) -> None:
        """Start without tables, which are made at the first use."""
        self._residues = b""  # by the bytes up to the next edge
        self._to_edge = b""  # what each half byte of a sum becomes from one edge to the next

    def end_of(self, data: bytes, start: i64, *, checksummed: bool) -> i64:
        """Return the end of a run of intact events at `start`, which is `start` without one.

        The run ends before a FORMAT_DESCRIPTION_EVENT, a long event, and one that is not complete;
        before a damaged event, it may end earlier.
        Events that are not `checksummed` need only be complete.
        """
        if checksummed and len(self._residues) == 0:
            self._residues = _residues()
            self._to_edge = _shift_table(LENGTH_MAX)
        residues = self._residues
        until: i64 = len(data)
        while True:
            at = edge = start
            total: i64 = 0
            while until - at >= header.HEADER_LENGTH:
                size = i64(read_i32_le(data, at + header.SIZE_OFFSET)) & _U32
                if (
                    size < header.HEADER_LENGTH
                    or size > until - at
                    or size > LENGTH_MAX
                    or data[at + header.TYPE_OFFSET] == header.FORMAT_DESCRIPTION
                ):
                    break
                at += size
                if checksummed:
                    if at > edge:
                        total = _shifted(self._to_edge, total)
                        edge += LENGTH_MAX
                    total ^= i64(read_i32_le(residues, (edge - at) << 2))
            if not checksummed or at == start:
                return at
            actual: i64 = crc32(memoryview(data)[start:at])
            if _product(actual, _power_of_x(8 * (edge - at))) == total & _U32:
                return at
            # One is damaged. To add up all of them again at each event before it would take long.
            until = start + ((at - start) >> 1)


def _shifted(table: bytes, crc: i64) -> i64:
    return (
        i64(read_i32_le(table, (crc & 15) << 2))
        ^ i64(read_i32_le(table, 64 | (crc >> 4 & 15) << 2))
        ^ i64(read_i32_le(table, 128 | (crc >> 8 & 15) << 2))
        ^ i64(read_i32_le(table, 192 | (crc >> 12 & 15) << 2))
        ^ i64(read_i32_le(table, 256 | (crc >> 16 & 15) << 2))
        ^ i64(read_i32_le(table, 320 | (crc >> 20 & 15) << 2))
        ^ i64(read_i32_le(table, 384 | (crc >> 24 & 15) << 2))
        ^ i64(read_i32_le(table, 448 | (crc >> 28 & 15) << 2))
    )


def _residues() -> bytes:
    """Return the residue of an event, shifted by each number of bytes below LENGTH_MAX."""
    shifted: list[i64] = []
    residue: i64 = RESIDUE
    while len(shifted) < LENGTH_MAX:
        shifted.append(residue)
        for _ in range(8):
            residue = _times_x(residue)
    return pack(f"<{LENGTH_MAX}I", *shifted)


def _shift_table(length: i64) -> bytes:
    """Return what each half byte of a CRC32 becomes when `length` bytes follow."""
    # What each bit becomes, the highest first.
    factor = _power_of_x(8 * length)
    bits: list[i64] = []
    while len(bits) < 4 * _HALF_BYTES:
        bits.append(factor)
        factor = _times_x(factor)
    entries: list[i64] = []
    lowest = 4 * _HALF_BYTES - 1
    while lowest > 0:
        for value in range(_ENTRIES):
            entry: i64 = 0
            for bit in range(4):
                if value >> bit & 1:
                    entry ^= bits[lowest - bit]
            entries.append(entry)
        lowest -= 4
    return pack(f"<{len(entries)}I", *entries)


def _power_of_x(exponent: i64) -> i64:
    """Return x ** exponent modulo the polynomial, by squares."""
    result: i64 = _ONE
    square: i64 = _ONE >> 1  # x
    left = exponent
    while left:
        if left & 1:
            result = _product(result, square)
        square = _product(square, square)
        left >>= 1
    return result


def _product(first: i64, second: i64) -> i64:
    """Return the product of two polynomials modulo that of CRC32."""
    product: i64 = 0
    factor = second
    bit: i64 = _ONE
    while bit:
        if first & bit:
            product ^= factor
        factor = _times_x(factor)
        bit >>= 1
    return product


def _times_x(factor: i64) -> i64:
    return factor >> 1 ^ (_POLYNOMIAL if factor & 1 else 0)

"""The last four bytes of an event prove that the other bytes are intact.

https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_binlog_checksum
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from isal import isal_zlib

from connector.binlog.framing.header import LOG_EVENT_BINLOG_IN_USE_F
from connector.errors import DecodeError, log_files

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
    head[_FLAGS_OFFSET] &= ~LOG_EVENT_BINLOG_IN_USE_F
    rest = memoryview(data)[_FLAGS_OFFSET + 1 : -CHECKSUM_LENGTH]
    return crc32(rest, crc32(head))


def require_intact(data: bytes) -> None:
    """Raise DecodeError unless the CRC32 of an event equals its last four bytes."""
    if crc32(data) != RESIDUE:
        require_checksum(computed_checksum(data), stored_checksum(data))


def require_checksum(computed: int, stored: int) -> None:
    """Raise DecodeError unless both checksums are equal."""
    if computed != stored:
        raise DecodeError(log_files.CHECKSUM_DIFFERS, computed=computed, stored=stored)

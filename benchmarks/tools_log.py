"""A copy of a log of one-row transactions, in which some of them change another table.

The table maps get another name of the same length, and a new checksum; everything else stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from pathlib import Path

OTHER_TABLE = "shop.orderz"
_NAME, _OTHER_NAME = b"\6orders\0", b"\6orderz\0"
_ONE_OF = 100

_MAGIC_LENGTH = 4
_TABLE_MAP = 19
_TYPE_OFFSET, _SIZE_OFFSET, _HEADER_LENGTH, _CHECKSUM_LENGTH = 4, 9, 19, 4


def with_other_table(log: Path, copy: Path, one_of: int = _ONE_OF) -> None:
    """Write `log` into `copy`, with another name in every `one_of`th table map."""
    data = bytearray(log.read_bytes())
    at, count = _MAGIC_LENGTH, 0
    while at + _HEADER_LENGTH <= len(data):
        size = int.from_bytes(data[at + _SIZE_OFFSET : at + _SIZE_OFFSET + 4], "little")
        if data[at + _TYPE_OFFSET] == _TABLE_MAP:
            count += 1
            if count % one_of == 0:
                _rename(data, at, at + size - _CHECKSUM_LENGTH)
        at += size
    copy.write_bytes(data)


def _rename(data: bytearray, start: int, checksum: int) -> None:
    name = data.index(_NAME, start, checksum)
    data[name : name + len(_NAME)] = _OTHER_NAME
    data[checksum : checksum + _CHECKSUM_LENGTH] = crc32(data[start:checksum]).to_bytes(4, "little")

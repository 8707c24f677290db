"""The extent of a GTID_LOG_EVENT's body: whether each part is whole that earlier parts announce.

`transaction` has the layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le

from connector.binlog.events.transaction import LOGICAL_TIMESTAMP
from connector.codec.payload import LENENC_2, LENENC_3, LENENC_NULL
from connector.gtid.intervals import GNO_END

if TYPE_CHECKING:
    from mypy_extensions import i64

_FLAGS_LENGTH: Final = 1
_UUID_LENGTH: Final = 16
_GTID_LENGTH: Final = _UUID_LENGTH + 8
_LOGICAL_LENGTH: Final = 1 + 8 + 8
_TIMESTAMP_LENGTH: Final = 7
_VERSION_LENGTH: Final = 4
# Of a timestamp or a version: the original one follows.
_HIGHEST_BIT: Final = 0x80
_NO_END: Final = 1 << 40  # beyond every event


def is_readable_gtid(data: bytes, start: i64, end: i64) -> bool:
    """Return whether `GtidEvent.decode` is certain to read `data[start:end]`.

    That is so if the number is one of a GTID, and each part is whole that the parts before it
    announce.
    """
    at = start + _FLAGS_LENGTH + _GTID_LENGTH
    if at > end:
        return False
    gno = read_i64_le(data, start + _FLAGS_LENGTH + _UUID_LENGTH)
    if gno <= 0 or gno == GNO_END:
        return False
    if at == end or data[at] != LOGICAL_TIMESTAMP:
        return True
    at += _LOGICAL_LENGTH
    return at == end or _are_readable_facts(data, at, end)


def _are_readable_facts(data: bytes, start: i64, end: i64) -> bool:
    """Return whether the timestamps, the length and the versions are whole, as far as there are."""
    at = _after_pair(data, start, _TIMESTAMP_LENGTH, end)
    if at < end:
        at = _after_length(data, at)
    if at < end:
        at = _after_pair(data, at, _VERSION_LENGTH, end)
    return at <= end


def _after_pair(data: bytes, at: i64, length: i64, end: i64) -> i64:
    """Return the end of a number and, if its highest bit says so, of the original one."""
    at += length
    if at <= end and data[at - 1] & _HIGHEST_BIT:
        at += length
    return at


def _after_length(data: bytes, at: i64) -> i64:
    """Return the end of a length-encoded integer of up to three bytes, else no end."""
    first: i64 = data[at]
    if first < LENENC_NULL:
        return at + 1
    if first == LENENC_2:
        return at + 3
    return at + 4 if first == LENENC_3 else _NO_END

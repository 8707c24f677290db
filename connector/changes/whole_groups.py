"""Bytes of a log become the bounds of whole groups of the usual form, by their headers alone.

::

    GTID │ BEGIN │ [query] table map … rows … │ … │ XID

Tools that count or leave out whole groups need no objects for their events. What has another form
(DDL, XA, a rollback, compressed events) has no bounds here, and is decoded.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64

from connector.binlog.events.mariadb import (
    FL_ALLOW_PARALLEL,
    FL_GROUP_COMMIT_ID,
    FL_TRANSACTIONAL,
    FL_WAITED,
)
from connector.binlog.events.statement import is_begin
from connector.binlog.framing.event_types import (
    ANNOTATE_ROWS,
    ANONYMOUS_GTID_LOG,
    GTID_LOG,
    MARIADB_GTID,
    QUERY,
    ROWS_QUERY_LOG,
    TABLE_MAP,
    XID,
)
from connector.binlog.framing.header import HEADER_LENGTH
from connector.binlog.framing.version import SIZE_OFFSET, TYPE_OFFSET
from connector.changes.event_meaning import MEANING_OF_TYPE, ROWS

# Table maps and rows begin with a table id, and have at least so many bytes before a checksum.
TABLE_LENGTH_MIN: Final = 8

_U32: Final = 0xFFFF_FFFF
_U16: Final = 0xFFFF

# Of the body of MariaDB's GTID_EVENT, after the sequence and the domain.
_FLAGS_OFFSET: Final = 12
# Flags of a group that means BEGIN and ends in XID.
_GROUP_FLAGS: Final = FL_GROUP_COMMIT_ID | FL_TRANSACTIONAL | FL_ALLOW_PARALLEL | FL_WAITED

# What an event may be in such a group, after BEGIN.
PART_TABLE_MAP: Final = 1
PART_ROWS: Final = 2
PART_ABOUT_ROWS: Final = 3
PART_END: Final = 4


def _part_of(type_code: int) -> int:
    if type_code == TABLE_MAP:
        return PART_TABLE_MAP
    if MEANING_OF_TYPE[type_code] == ROWS:
        return PART_ROWS
    if type_code in (ROWS_QUERY_LOG, ANNOTATE_ROWS):
        return PART_ABOUT_ROWS
    return PART_END if type_code == XID else 0


# By the type of an event; 0: not in such a group.
PARTS: Final = bytes([_part_of(type_code) for type_code in range(256)])


def end_of_group(data: bytes, start: i64, end: i64, trailer: i64) -> i64:
    """Return the end of the group that `data[start:end]` begins with, `start` without such one.

    The bytes are whole events; each ends in `trailer` bytes of a checksum.
    """
    at = end_of_begin(data, start, end, trailer)
    while start < at < end:
        part: i64 = PARTS[data[at + TYPE_OFFSET]]
        body = at + HEADER_LENGTH
        at += size_at(data, at)
        if part == PART_END:
            return at
        if not part or (part <= PART_ROWS and at - trailer - body < TABLE_LENGTH_MIN):
            return start
    return start


def end_of_begin(data: bytes, start: i64, end: i64, trailer: i64) -> i64:
    """Return the end of what begins a group, `start` if it is not of this form."""
    if start >= end:
        return start
    type_code: i64 = data[start + TYPE_OFFSET]
    at = start + size_at(data, start)
    if type_code == MARIADB_GTID:
        flags_at = start + HEADER_LENGTH + _FLAGS_OFFSET
        flags: i64 = data[flags_at] if flags_at < at else ~_GROUP_FLAGS
        return start if flags & ~_GROUP_FLAGS else at
    if type_code not in (GTID_LOG, ANONYMOUS_GTID_LOG):
        return start
    if at >= end or data[at + TYPE_OFFSET] != QUERY:
        return start
    following = at + size_at(data, at)
    return following if is_begin(data, at + HEADER_LENGTH, following - trailer) else start


def size_at(data: bytes, at: i64) -> i64:
    """Return the size of the event at `at`."""
    return i64(read_i32_le(data, at + SIZE_OFFSET)) & _U32


def table_id_at(data: bytes, at: i64) -> i64:
    """Return the table id at the start of a body."""
    return i64(read_i32_le(data, at)) & _U32 | (i64(read_i16_le(data, at + 4)) & _U16) << 32

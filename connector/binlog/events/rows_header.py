"""The header of a rows event, before its bitmaps: the kind of change, the table id, the extra info.

::

    table_id u48 │ flags u16 │ [v2: extra length u16, with itself │ extra row info]

    extra row info   type u8 │ …
      0 NDB          length u8, with itself and the format │ format u8 │ data
      1 PARTITION    partition u16 │ [update: source partition u16]

Extra row info of an unknown type has no length to skip it by, so it is kept together with all that
follows.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64, mypyc_attr

from connector.binlog import log_errors
from connector.binlog.events.table_map import read_table_id
from connector.binlog.header import read_post_header
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_NDB = 0
_PARTITION = 1
_NDB_HEADER_LENGTH = 2


@dataclass(slots=True)
class ExtraRowInfo:
    """Facts of NDB Cluster and of partitioned tables (8.0.16); None if absent."""

    ndb_format: int | None = None
    ndb_data: bytes | None = None
    partition_id: int | None = None  # of the row after the change, counted from 0
    source_partition_id: int | None = None  # of the row before an update
    unknown: bytes = b""  # from the first type on that is not known

    @classmethod
    def decode(cls, data: PayloadReader, *, update: bool) -> "ExtraRowInfo":
        """Decode the entries up to the end of `data`; an unknown one is kept with the rest.

        Raises DecodeError for an NDB entry that is too short.
        """
        info = cls()
        while data.remaining:
            start = data.offset
            kind = data.read_uint8()
            if kind == _NDB:
                length = data.read_uint8()
                if length < _NDB_HEADER_LENGTH:
                    raise DecodeError(
                        log_errors.NDB_LENGTH, length=length, least=_NDB_HEADER_LENGTH
                    )
                info.ndb_format = data.read_uint8()
                info.ndb_data = data.read_bytes(length - _NDB_HEADER_LENGTH)
            elif kind == _PARTITION:
                info.partition_id = data.read_uint16()
                if update:
                    info.source_partition_id = data.read_uint16()
            else:
                data.offset = start
                info.unknown = data.read_rest()
        return info


# The last rows event of a statement: the table maps before it are of no further use.
STMT_END_F: Final = 0x0001
# The session had foreign_key_checks=0, so nothing cascaded; or a cascade itself changed the rows.
NO_FOREIGN_KEY_CHECKS_F: Final = 0x0002
# The server cascades above the engine (MySQL 9.6 and later, unless innodb_native_foreign_keys=ON),
# so the log has what cascades.
USE_SQL_FOREIGN_KEY_F: Final = 0x0010

# Names no table if the statement has no table map with this id: the event only ends the statement.
# Servers count ids of tables up, past this one.
DUMMY_TABLE_ID: Final = 0xFF_FFFF

_EXTRA_LENGTH_BYTES: Final = 2
ROWS_V1_HEADER_LENGTH: Final = 8
ROWS_V2_HEADER_LENGTH: Final = 10
_POST_HEADER_LENGTHS: Final = bytes(
    (ROWS_V1_HEADER_LENGTH, ROWS_V1_HEADER_LENGTH, ROWS_V2_HEADER_LENGTH)
)  # by version
_EXTRA_ROW_INFO_VERSION: Final = 2
_TABLE_ID_BYTES: Final = 6
_LOW_BYTES: Final = 4
_U16: Final = 0xFFFF
_U32: Final = 0xFFFF_FFFF


class RowsKind(Enum):
    """What happened to the rows."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


# Members of an Enum are looked up by name each time; these are not.
INSERT: Final = RowsKind.INSERT
UPDATE: Final = RowsKind.UPDATE
DELETE: Final = RowsKind.DELETE

# What nearly every event has; it must not be changed.
_NO_EXTRA: Final = ExtraRowInfo()


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(slots=True, init=False)
class RowsHeader:
    """The part of a rows event before its bitmaps; enough to find its table map."""

    table_id: i64
    flags: i64
    extra_row_info: ExtraRowInfo  # nothing before v2

    def __init__(self, table_id: i64, flags: i64, extra_row_info: ExtraRowInfo) -> None:
        """Set the fields; written out, because it runs for every event."""
        self.table_id = table_id
        self.flags = flags
        self.extra_row_info = extra_row_info

    @staticmethod
    def decode(
        body: PayloadReader, post_header_length: int | None = None, *, kind: RowsKind, version: i64
    ) -> "RowsHeader":
        """Decode the part before the bitmaps: table id, flags and, in v2, the extra info."""
        known: i64 = _POST_HEADER_LENGTHS[version]
        head = read_post_header(body, post_header_length, known)
        table_id = read_table_id(head, post_header_length)
        flags = head.read_uint16()
        if version < _EXTRA_ROW_INFO_VERSION:
            return RowsHeader(table_id, flags, _NO_EXTRA)
        length = head.read_uint16() - _EXTRA_LENGTH_BYTES
        if not length:
            return RowsHeader(table_id, flags, _NO_EXTRA)
        extra = PayloadReader(body.read_bytes(length))
        return RowsHeader(table_id, flags, ExtraRowInfo.decode(extra, update=kind is UPDATE))


def plain_rows_header(body: PayloadReader, length: i64) -> RowsHeader | None:
    """Read a head of `length`, ROWS_V1_HEADER_LENGTH or ROWS_V2_HEADER_LENGTH, which `body` has.

    Returns None, and reads nothing, if extra info follows.
    """
    data = body.data
    at = body.offset
    if length == ROWS_V2_HEADER_LENGTH and (
        read_i16_le(data, at + ROWS_V1_HEADER_LENGTH) != _EXTRA_LENGTH_BYTES
    ):
        return None
    low = i64(read_i32_le(data, at)) & _U32
    high = i64(read_i16_le(data, at + _LOW_BYTES)) & _U16
    flags = i64(read_i16_le(data, at + _TABLE_ID_BYTES)) & _U16
    body.take(length)
    return RowsHeader(high << 8 * _LOW_BYTES | low, flags, _NO_EXTRA)

"""Facts about the rows of an event of version 2, beside their values.

::

    type u8 │ …
      0 NDB        length u8, with itself and the format │ format u8 │ data
      1 PARTITION  partition u16 │ [update: source partition u16]

An unknown type has no length to skip it by, so it is kept together with all that follows.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rows__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import DecodeError, log_rows

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

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
    def decode(cls, data: PayloadReader, *, update: bool) -> ExtraRowInfo:
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
                    raise DecodeError(log_rows.NDB_LENGTH, length=length, least=_NDB_HEADER_LENGTH)
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

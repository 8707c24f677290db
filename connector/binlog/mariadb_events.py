"""Events that only MariaDB writes.

::

    GTID               sequence u64 │ domain_id u32 │ flags u8 │ 6 zeros, or
                       [commit_id u64]                                     flag 0x02
                       [format_id u32 │ gtrid u8 │ bqual u8 │ xid]         flags 0x40, 0x80
    GTID_LIST          count u28, flags u4 │ (domain_id u32 │ server_id u32 │ sequence u64) * count
    ANNOTATE_ROWS      query to the end
    BINLOG_CHECKPOINT  length u32 │ file

The server_id of a GTID is the one in the event's header.

https://mariadb.com/kb/en/gtid_event/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.control_events import decode_file_name
from connector.gtid import MariadbGtid
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from connector.binlog.header import EventHeader

FL_STANDALONE = 0x01
FL_GROUP_COMMIT_ID = 0x02
FL_TRANSACTIONAL = 0x04
FL_DDL = 0x20
FL_PREPARED_XA = 0x40
FL_COMPLETED_XA = 0x80

_LIST_COUNT_MASK = 0x0FFF_FFFF
_LIST_FLAGS_SHIFT = 28
_LIST_ENTRY_LENGTH = 16


@dataclass(slots=True)
class MariadbGtidEvent:
    """A transaction begins; without `standalone` it stands for BEGIN, too.

    https://mariadb.com/kb/en/gtid_event/
    """

    gtid: MariadbGtid
    flags: int
    commit_id: int | None  # equal in transactions that were committed as one group

    @classmethod
    def decode(cls, body: PayloadReader, header: EventHeader) -> MariadbGtidEvent:
        """Decode an event body; what follows the commit id is left unread."""
        sequence = body.read_uint64()
        domain_id = body.read_uint32()
        flags = body.read_uint8()
        commit_id = body.read_uint64() if flags & FL_GROUP_COMMIT_ID else None
        return cls(MariadbGtid(domain_id, header.server_id, sequence), flags, commit_id)

    @property
    def standalone(self) -> bool:
        """Whether one statement follows, which ends the group without COMMIT."""
        return self.flags & FL_STANDALONE != 0

    @property
    def transactional(self) -> bool:
        """Whether the group can be rolled back as a whole."""
        return self.flags & FL_TRANSACTIONAL != 0

    @property
    def ddl(self) -> bool:
        """Whether the group holds DDL."""
        return self.flags & FL_DDL != 0

    @property
    def prepared_xa(self) -> bool:
        """Whether the group ends in XA PREPARE, so that its outcome comes later."""
        return self.flags & FL_PREPARED_XA != 0

    @property
    def completed_xa(self) -> bool:
        """Whether the group is the XA COMMIT or XA ROLLBACK of an earlier one."""
        return self.flags & FL_COMPLETED_XA != 0


@dataclass(slots=True)
class MariadbGtidListEvent:
    """The last GTID of each domain and server in the files before this one.

    https://mariadb.com/kb/en/gtid_list_event/
    """

    gtids: list[MariadbGtid]
    flags: int

    @classmethod
    def decode(cls, body: PayloadReader) -> MariadbGtidListEvent:
        """Decode an event body."""
        word = body.read_uint32()
        count = word & _LIST_COUNT_MASK
        entries = PayloadReader(body.read_bytes(count * _LIST_ENTRY_LENGTH))
        gtids = [
            MariadbGtid(entries.read_uint32(), entries.read_uint32(), entries.read_uint64())
            for _ in range(count)
        ]
        return cls(gtids, word >> _LIST_FLAGS_SHIFT)


@dataclass(slots=True)
class AnnotateRowsEvent:
    """The statement whose rows follow (binlog_annotate_row_events).

    https://mariadb.com/kb/en/annotate_rows_event/
    """

    query: str  # bytes that are not UTF-8 are written as \\xNN

    @classmethod
    def decode(cls, body: PayloadReader) -> AnnotateRowsEvent:
        """Decode an event body."""
        return cls(body.read_rest().decode("utf-8", "backslashreplace"))


@dataclass(slots=True)
class BinlogCheckpointEvent:
    """The oldest file that crash recovery would need.

    https://mariadb.com/kb/en/binlog_checkpoint_event/
    """

    file: str

    @classmethod
    def decode(cls, body: PayloadReader) -> BinlogCheckpointEvent:
        """Decode an event body."""
        return cls(decode_file_name(body.read_bytes(body.read_uint32())))

"""Events that only MariaDB writes.

::

    GTID               sequence u64 │ domain_id u32 │ flags u8 │
                       [commit_id u64]                                        flag 0x02
                       [format_id u32 │ gtrid length u8 │ bqual length u8 │
                        gtrid │ bqual]                                        flags 0x40, 0x80
                       [flags_extra u8, not 0]                                10.7
                       [extra_engines u8]                                     extra flag 0x01
                       [sa_seq_no u64]                                        extra flags 0x04, 0x08
                       [thread_id u32]                                        extra flag 0x10, 11.5
                       zeros up to 19 bytes
    GTID_LIST          count u28, flags u4 │
                       (domain_id u32 │ server_id u32 │ sequence u64) * count │ zeros up to 6 bytes
    ANNOTATE_ROWS      query to the end
    BINLOG_CHECKPOINT  length u32 │ file
    PARTIAL_ROW_DATA   total_fragments u32 │ sequence_number u32, from 1 │ flags u8 │
                       [original_size u64, flag 0x01] │ fragment to the end             12.3

The server_id of a GTID is the one in the event's header. The fragments of PARTIAL_ROW_DATA, joined
in their order, are a rows event with its header; the first one says how many bytes they have
together.

https://mariadb.com/kb/en/gtid_event/
https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol/partial_row_data_event
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from connector.binlog import log_errors
from connector.binlog.events.control import decode_file_name
from connector.binlog.events.transaction import XaXid
from connector.binlog.gtid import MariadbGtid
from connector.binlog.header import EventHeader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    from connector.binlog.events.rows import RowsEvent


FL_STANDALONE = 0x01
FL_GROUP_COMMIT_ID = 0x02
FL_TRANSACTIONAL = 0x04
FL_ALLOW_PARALLEL = 0x08
FL_WAITED = 0x10
FL_DDL = 0x20
FL_PREPARED_XA = 0x40
FL_COMPLETED_XA = 0x80

FL_EXTRA_MULTI_ENGINE_E1 = 0x01
FL_START_ALTER_E1 = 0x02
FL_COMMIT_ALTER_E1 = 0x04
FL_ROLLBACK_ALTER_E1 = 0x08
FL_EXTRA_THREAD_ID = 0x10

_GTID_LAYOUT = Struct("<QIB")
_XID_LAYOUT = Struct("<IBB")
_LIST_COUNT_MASK = 0x0FFF_FFFF
_LIST_FLAGS_SHIFT = 28


@dataclass(slots=True)
class MariadbGtidEvent:
    """A transaction begins; without `standalone` the event also means BEGIN."""

    gtid: MariadbGtid
    flags: int
    commit_id: int | None  # equal in transactions that were committed as one group
    xid: XaXid | None = None  # of the XA transaction that is prepared or completed
    flags_extra: int = 0
    extra_engines: int | None = None  # engines with two-phase commit in the group, without one
    sa_seq_no: int | None = None  # number of the GTID that began this ALTER TABLE in two phases
    thread_id: int | None = None  # of the session
    rest: bytes = b""  # zeros that fill the event up, or fields of flags that are not known

    @classmethod
    def decode(cls, body: PayloadReader, header: EventHeader) -> MariadbGtidEvent:
        """Decode the body; the server id of the GTID comes from `header`.

        The flags decide which fields follow. Bytes after the known fields are kept in `rest`.
        """
        sequence, domain_id, flags = _GTID_LAYOUT.unpack(body.read_bytes(_GTID_LAYOUT.size))
        event = cls(MariadbGtid(domain_id, header.server_id, sequence), flags, None)
        if flags & FL_GROUP_COMMIT_ID:
            event.commit_id = body.read_uint64()
        if flags & (FL_PREPARED_XA | FL_COMPLETED_XA):
            format_id, gtrid_length, bqual_length = _XID_LAYOUT.unpack(
                body.read_bytes(_XID_LAYOUT.size)
            )
            event.xid = XaXid.read(body, format_id, gtrid_length, bqual_length)
        # A zero here is the first of those that fill the event up.
        if body.remaining and body.data[body.offset]:
            event._read_extra(body)
        event.rest = body.read_rest()
        return event

    def _read_extra(self, body: PayloadReader) -> None:
        self.flags_extra = body.read_uint8()
        if self.flags_extra & FL_EXTRA_MULTI_ENGINE_E1:
            self.extra_engines = body.read_uint8()
        if self.flags_extra & (FL_COMMIT_ALTER_E1 | FL_ROLLBACK_ALTER_E1):
            self.sa_seq_no = body.read_uint64()
        if self.flags_extra & FL_EXTRA_THREAD_ID:
            self.thread_id = body.read_uint32()

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
    rest: bytes = b""  # zeros that fill the event up

    @classmethod
    def decode(cls, body: PayloadReader) -> MariadbGtidListEvent:
        """Decode the list; the highest four bits of its count are flags."""
        word = body.read_uint32()
        count = word & _LIST_COUNT_MASK
        gtids = [MariadbGtid.decode(body) for _ in range(count)]
        return cls(gtids, word >> _LIST_FLAGS_SHIFT, body.read_rest())


@dataclass(slots=True)
class AnnotateRowsEvent:
    """The statement whose rows follow (binlog_annotate_row_events).

    https://mariadb.com/kb/en/annotate_rows_event/
    """

    query_bytes: bytes
    query: str  # bytes that are not UTF-8 are written as \\xNN

    @classmethod
    def decode(cls, body: PayloadReader) -> AnnotateRowsEvent:
        """Take the whole body as the statement; bytes that are not UTF-8 are escaped."""
        query_bytes = body.read_rest()
        return cls(query_bytes, query_bytes.decode("utf-8", "backslashreplace"))


@dataclass(slots=True)
class BinlogCheckpointEvent:
    """The oldest file that crash recovery would need.

    https://mariadb.com/kb/en/binlog_checkpoint_event/
    """

    file: str

    @classmethod
    def decode(cls, body: PayloadReader) -> BinlogCheckpointEvent:
        """Decode the length, u32, and the file name.

        Raises DecodeError for a name that is empty or not UTF-8.
        """
        return cls(decode_file_name(body.read_bytes(body.read_uint32())))


FL_ORIG_EVENT_SIZE = 0x01

# The size in the header of an event has 32 bits.
ORIGINAL_SIZE_MAX = (1 << 32) - 1

_LAYOUT = Struct("<IIB")


@dataclass(slots=True)
class PartialRowDataEvent:
    """A part of a rows event; the last part carries the whole one as `rows_event`."""

    total_fragments: int
    sequence_number: int  # of this fragment, from 1
    flags: int
    original_size: int | None  # bytes of the rows event; in the first fragment
    fragment: bytes
    rows_event: RowsEvent | None = None  # put together, in the last fragment

    @classmethod
    def decode(cls, body: PayloadReader) -> PartialRowDataEvent:
        """Decode the head and one fragment, which fills the rest of the body.

        Raises DecodeError for a number outside of 1 to the total.
        """
        total, number, flags = _LAYOUT.unpack(body.read_bytes(_LAYOUT.size))
        if not 0 < number <= total:
            raise DecodeError(log_errors.FRAGMENT_NUMBER, number=number, total=total)
        size = body.read_uint64() if flags & FL_ORIG_EVENT_SIZE else None
        return cls(total, number, flags, size, body.read_rest())

    @property
    def last(self) -> bool:
        """Whether no other fragment of the rows event follows."""
        return self.sequence_number == self.total_fragments


class RowsEventAssembler:
    """Joins the fragments of rows events, one rows event at a time."""

    def __init__(self) -> None:
        self._fragments: list[bytes] = []
        self._total = 0
        self._size = 0  # bytes of the fragments so far
        self._original_size: int | None = None  # bytes that all have together, where it is said

    @property
    def pending(self) -> bool:
        """Whether fragments of a rows event are still to come."""
        return bool(self._fragments)

    def receive(self, event: PartialRowDataEvent) -> bytes | None:
        """Return the rows event with the last fragment, else None.

        Raises DecodeError for a fragment out of order, and for another size than the first one
        said.
        """
        number, total = event.sequence_number, event.total_fragments
        if number != len(self._fragments) + 1 or (self._fragments and total != self._total):
            awaited = self._give_up()
            if awaited == 1:
                raise DecodeError(log_errors.FRAGMENT_NOT_BEGUN, number=number, total=total)
            raise DecodeError(
                log_errors.FRAGMENT_ORDER,
                number=number,
                total=total,
                awaited=awaited,
                awaited_total=self._total,
            )
        if number == 1:
            self._total = total
            self._size = 0
            self._original_size = event.original_size
        self._fragments.append(event.fragment)
        self._size += len(event.fragment)
        size = ORIGINAL_SIZE_MAX if self._original_size is None else self._original_size
        if self._size > size or (event.last and self._size < (self._original_size or 0)):
            self._fragments.clear()
            raise DecodeError(
                log_errors.FRAGMENTS_SIZE, size=size, number=number, total=total, found=self._size
            )
        if not event.last:
            return None
        whole = b"".join(self._fragments)
        self._fragments.clear()
        return whole

    def require_nothing_open(self) -> None:
        """Raise DecodeError when fragments of a rows event are still to come."""
        if self._fragments:
            awaited = self._give_up()
            raise DecodeError(
                log_errors.FRAGMENT_MISSING, awaited=awaited, awaited_total=self._total
            )

    def _give_up(self) -> int:
        """Drop the fragments and return the number that should have come next.

        So a reader that continues after the error gets no second one for the same fragments.
        """
        awaited = len(self._fragments) + 1
        self._fragments.clear()
        return awaited

"""Events that name, open and close transactions.

::

    GTID, ANONYMOUS_GTID
        flags u8 │ uuid 16 │ gno i64 │                                              5.6
        lt_type u8 = 2 │ last_committed i64 │ sequence_number i64 │                 5.7
        immediate_commit_timestamp u56 │ [original_commit_timestamp u56] │          8.0.1
        transaction_length lenenc │                                                 8.0.2
        immediate_server_version u32 │ [original_server_version u32] │              8.0.14
        [commit_group_ticket u64]                                                   8.0.27
    XID             xid u64
    XA_PREPARE      one_phase u8 │ format_id u32 │ gtrid_length u32 │ bqual_length u32 │
                    gtrid │ bqual                                     5.7.7, MariaDB 10.5
    PREVIOUS_GTIDS  a GTID set

The highest bit of the immediate timestamp and version says that the original one follows; without
it both are equal.

The rows before XA_PREPARE are not yet committed: XA COMMIT or XA ROLLBACK comes later, as a
QUERY_EVENT in a separate group. With one_phase it is XA COMMIT … ONE PHASE, and the rows are
committed.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Gtid__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1XA__prepare__event.html
"""

from dataclasses import dataclass, field
from struct import Struct
from typing import Final, final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64

from connector.binlog import log_errors
from connector.binlog.gtid import Gtid, GtidSet, gtid_at
from connector.binlog.gtid.mysql import GNO_END
from connector.binlog.payload_reader import LENENC_2, LENENC_3, LENENC_NULL, PayloadReader
from connector.foundation.errors import DecodeError

# The flag of GTID events: the transaction may hold changes logged as statements.
FLAG_MAY_HAVE_SBR: Final = 0x01

_UUID_LENGTH: Final = 16
_FLAGS_LENGTH: Final = 1
_GTID_LENGTH: Final = _UUID_LENGTH + 8
LOGICAL_TIMESTAMP: Final = 2
_LOGICAL_LENGTH: Final = 1 + 8 + 8
_TIMESTAMP_LENGTH: Final = 7
_VERSION_LENGTH: Final = 4
_ORIGINAL_TIMESTAMP_FOLLOWS: Final = 1 << 55
_ORIGINAL_VERSION_FOLLOWS: Final = 1 << 31
_TICKET_LENGTH: Final = 8
XID_LENGTH: Final = 8


@dataclass(slots=True)
class CommitInfo:
    """Commit facts of GTID events; None for a field that the server did not write."""

    flags: int
    last_committed: int | None  # transactions of one file with equal numbers may run in parallel
    sequence_number: int | None  # counts the transactions of one file
    immediate_commit_timestamp: int | None  # microseconds since the epoch, on this server
    original_commit_timestamp: int | None  # on the server that committed first; 0: not known
    transaction_length: int | None  # bytes, with this event
    immediate_server_version: int | None  # 80031 for 8.0.31
    original_server_version: int | None
    commit_group_ticket: int | None
    # Fields of newer versions; in 5.7.4 and older, which differ, all after the GTID.
    rest: bytes = field(default=b"", kw_only=True)

    def read_facts(self, body: PayloadReader) -> None:
        """Read the fields after the GTID in events without a tag.

        Each server version appended a part.
        """
        if body.remaining and body.data[body.offset] == LOGICAL_TIMESTAMP:
            body.skip(1)
            self.last_committed = body.read_int64()
            self.sequence_number = body.read_int64()
            if body.remaining:
                immediate = original = body.read_uint(_TIMESTAMP_LENGTH)
                if immediate & _ORIGINAL_TIMESTAMP_FOLLOWS:
                    immediate ^= _ORIGINAL_TIMESTAMP_FOLLOWS
                    original = body.read_uint(_TIMESTAMP_LENGTH)
                self.immediate_commit_timestamp = immediate
                self.original_commit_timestamp = original
            if body.remaining:
                self.transaction_length = body.read_lenenc()
            if body.remaining:
                version = original_version = body.read_uint32()
                if version & _ORIGINAL_VERSION_FOLLOWS:
                    version ^= _ORIGINAL_VERSION_FOLLOWS
                    original_version = body.read_uint32()
                self.immediate_server_version = version
                self.original_server_version = original_version
            if body.remaining >= _TICKET_LENGTH:
                self.commit_group_ticket = body.read_uint64()
        self.rest = body.read_rest()


def require_gno(gno: int) -> int:
    """Return the number of a GTID; raise DecodeError for a number that no GTID has."""
    if not 0 < gno < GNO_END:
        raise DecodeError(log_errors.NOT_A_GNO, number=gno)
    return gno


@final
@dataclass(slots=True, init=False)
class GtidEvent(CommitInfo):
    """A transaction with a GTID begins."""

    gtid: Gtid

    def __init__(
        self,
        flags: int,
        last_committed: int | None,
        sequence_number: int | None,
        immediate_commit_timestamp: int | None,
        original_commit_timestamp: int | None,
        transaction_length: int | None,
        immediate_server_version: int | None,
        original_server_version: int | None,
        commit_group_ticket: int | None,
        gtid: Gtid,
        *,
        rest: bytes = b"",
    ) -> None:
        """Set the fields; written out, because it runs for every event."""
        self.flags = flags
        self.last_committed = last_committed
        self.sequence_number = sequence_number
        self.immediate_commit_timestamp = immediate_commit_timestamp
        self.original_commit_timestamp = original_commit_timestamp
        self.transaction_length = transaction_length
        self.immediate_server_version = immediate_server_version
        self.original_server_version = original_server_version
        self.commit_group_ticket = commit_group_ticket
        self.rest = rest
        self.gtid = gtid

    @staticmethod
    def decode(body: PayloadReader) -> "GtidEvent":
        """Decode the flags, the 24 bytes of the GTID, and the commit facts.

        Raises DecodeError for a number that no GTID has.
        """
        flags = body.read_uint8()
        uuid = body.take(_UUID_LENGTH)
        gtid = gtid_at(body.data, uuid, require_gno(body.read_int64()))
        event = GtidEvent(flags, None, None, None, None, None, None, None, None, gtid)
        event.read_facts(body)
        return event


def gtid_and_commit_time(body: PayloadReader) -> tuple[Gtid, i64]:
    """Return the facts of a GTID_LOG_EVENT for a stream: the GTID, and its first commit's time.

    The time is in microseconds since the epoch, 0 if the server did not write it. The cursor of the
    body does not move. Raises DecodeError for an event without a GTID.
    """
    data = body.data
    start = body.offset
    uuid = body.take(_FLAGS_LENGTH + _GTID_LENGTH) + _FLAGS_LENGTH
    gtid = gtid_at(data, uuid, require_gno(read_i64_le(data, uuid + _UUID_LENGTH)))
    committed: i64 = 0
    if body.remaining and data[body.offset] == LOGICAL_TIMESTAMP:
        body.skip(_LOGICAL_LENGTH)
        if body.remaining:
            committed = _timestamp_at(data, body.take(_TIMESTAMP_LENGTH))
            if committed & _ORIGINAL_TIMESTAMP_FOLLOWS:
                committed = _timestamp_at(data, body.take(_TIMESTAMP_LENGTH))
    body.offset = start
    return gtid, committed


def _timestamp_at(data: bytes, at: i64) -> i64:
    """Return the 56 bits at `at`: two overlapping reads of 32."""
    low = i64(read_i32_le(data, at)) & 0xFFFF_FFFF
    high = i64(read_i32_le(data, at + 3)) >> 8 & 0xFF_FFFF
    return high << 32 | low


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


@final
@dataclass(slots=True)
class AnonymousGtidEvent(CommitInfo):
    """A transaction begins on a server with gtid_mode=OFF."""

    @staticmethod
    def decode(body: PayloadReader) -> "AnonymousGtidEvent":
        """Decode the flags, 24 zero bytes in place of a GTID, and the commit facts.

        Raises DecodeError for a GTID that is not zero.
        """
        flags = body.read_uint8()
        if any(body.read_bytes(_GTID_LENGTH)):
            raise DecodeError(log_errors.ANONYMOUS_WITH_GTID)
        event = AnonymousGtidEvent(flags, None, None, None, None, None, None, None, None)
        event.read_facts(body)
        return event


@final
@dataclass(slots=True, init=False)
class XidEvent:
    """A transaction is committed.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Xid__event.html
    """

    xid: int

    def __init__(self, xid: int) -> None:
        self.xid = xid

    @staticmethod
    def decode(body: PayloadReader) -> "XidEvent":
        """Decode the XID, u64."""
        return XidEvent(body.read_uint64())


@dataclass(slots=True)
class PreviousGtidsEvent:
    """Every GTID in the files before this one.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Previous__gtids__event.html
    """

    gtid_set: GtidSet

    @classmethod
    def decode(cls, body: PayloadReader) -> "PreviousGtidsEvent":
        """Decode a GTID set in its binary form; raises DecodeError for a bad one."""
        return cls(GtidSet.decode(body))


_LAYOUT = Struct("<BIII")

# MAXGTRIDSIZE and MAXBQUALSIZE of the XA specification.
XID_PART_MAX = 64


@dataclass(frozen=True, slots=True)
class XaXid:
    """The name of an XA transaction, as XA START gave it."""

    format_id: int  # 1 unless it was given
    gtrid: bytes  # global transaction id, at most 64 bytes
    bqual: bytes  # branch qualifier, at most 64 bytes

    @classmethod
    def read(
        cls, body: PayloadReader, format_id: int, gtrid_length: int, bqual_length: int
    ) -> "XaXid":
        """Read both parts, whose lengths come before them."""
        if max(gtrid_length, bqual_length) > XID_PART_MAX:
            raise DecodeError(
                log_errors.XA_NAME_LENGTH,
                limit=XID_PART_MAX,
                gtrid=gtrid_length,
                bqual=bqual_length,
            )
        return cls(format_id, body.read_bytes(gtrid_length), body.read_bytes(bqual_length))

    def __str__(self) -> str:
        """Return the server's form, which XA statements take: `X'6f6e65',X'',1`."""
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"


@dataclass(slots=True)
class XaPrepareEvent:
    """An XA transaction is prepared; or, with `one_phase`, committed."""

    one_phase: bool
    xid: XaXid

    @classmethod
    def decode(cls, body: PayloadReader) -> "XaPrepareEvent":
        """Decode the flag, the three numbers and both parts of the name.

        Raises DecodeError for parts that are longer than 64 bytes.
        """
        one_phase, format_id, gtrid_length, bqual_length = _LAYOUT.unpack(
            body.read_bytes(_LAYOUT.size)
        )
        if one_phase > 1:
            raise DecodeError(log_errors.ONE_PHASE, value=one_phase)
        return cls(one_phase == 1, XaXid.read(body, format_id, gtrid_length, bqual_length))

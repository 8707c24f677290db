"""XA_PREPARE_LOG_EVENT, which ends the first half of an XA transaction (5.7.7, MariaDB 10.5).

::

    one_phase u8 │ format_id u32 │ gtrid_length u32 │ bqual_length u32 │ gtrid │ bqual

The rows before it are not yet committed: XA COMMIT or XA ROLLBACK comes later, as a QUERY_EVENT in
a group of its own. With one_phase it is XA COMMIT … ONE PHASE, and the rows are.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1XA__prepare__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from connector.errors import DecodeError, log_events

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

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
    ) -> XaXid:
        """Read both parts, whose lengths come before them."""
        if max(gtrid_length, bqual_length) > XID_PART_MAX:
            raise DecodeError(
                log_events.XA_NAME_LENGTH,
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
    def decode(cls, body: PayloadReader) -> XaPrepareEvent:
        """Decode an event body."""
        one_phase, format_id, gtrid_length, bqual_length = _LAYOUT.unpack(
            body.read_bytes(_LAYOUT.size)
        )
        if one_phase > 1:
            raise DecodeError(log_events.ONE_PHASE, value=one_phase)
        return cls(one_phase == 1, XaXid.read(body, format_id, gtrid_length, bqual_length))

    def encode(self) -> bytes:
        """Return the event body."""
        xid = self.xid
        head = _LAYOUT.pack(self.one_phase, xid.format_id, len(xid.gtrid), len(xid.bqual))
        return head + xid.gtrid + xid.bqual

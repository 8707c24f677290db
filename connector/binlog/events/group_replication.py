"""Events of MySQL's Group Replication (5.7.17).

::

    TRANSACTION_CONTEXT  server_uuid length u8 │ thread_id u32 │ gtid_specified u8 │
                         snapshot_version length u32 │ write_set count u32 │ read_set count u32 │
                         server_uuid │ snapshot_version │ (length u16 │ item) * counts
    VIEW_CHANGE          view_id 40 │ sequence_number u64 │ certification_info count u32 │
                         (length u16 │ key │ length u32 │ value) * count

The first travels between the members before a transaction is certified, and is seen in relay logs
of the applier channel. The second is written to the binary log when a member joins or leaves.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__context__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1View__change__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log, log_events
from connector.gtid import GtidSet

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONTEXT_LAYOUT = Struct("<BIBIII")
_VIEW_LAYOUT = Struct("<40sQI")


@dataclass(slots=True)
class TransactionContextEvent:
    """Facts that the group needs to certify a transaction: the changed keys and the known GTIDs."""

    server_uuid: str  # of the member on which the transaction ran
    thread_id: int
    gtid_specified: bool  # whether the session had set gtid_next to a GTID
    snapshot_version: GtidSet  # the transactions that the member had executed
    write_set: list[bytes]  # hashes of the keys that were written, in base64
    read_set: list[bytes]  # hashes of the keys that were read; no server fills it

    @classmethod
    def decode(cls, body: PayloadReader) -> TransactionContextEvent:
        """Decode the fixed part, the UUID, the snapshot version and both sets of keys.

        Raises DecodeError for names that are not ASCII and for a bad GTID set.
        """
        uuid_length, thread_id, specified, version_length, writes, reads = _CONTEXT_LAYOUT.unpack(
            body.read_bytes(_CONTEXT_LAYOUT.size)
        )
        server_uuid = _ascii(body.read_bytes(uuid_length), "server_uuid")
        version = PayloadReader(body.read_bytes(version_length))
        snapshot_version = GtidSet.decode(version)
        if version.remaining:
            raise DecodeError(log.LEFT_OVER, count=version.remaining, field="the snapshot version")
        return cls(
            server_uuid,
            thread_id,
            specified != 0,
            snapshot_version,
            _read_items(body, writes),
            _read_items(body, reads),
        )

    def encode(self) -> bytes:
        """Return the body; `decode` of it gives an equal event."""
        uuid = self.server_uuid.encode("ascii")
        version = self.snapshot_version.encode()
        head = _CONTEXT_LAYOUT.pack(
            len(uuid),
            self.thread_id,
            self.gtid_specified,
            len(version),
            len(self.write_set),
            len(self.read_set),
        )
        return head + uuid + version + _items(self.write_set) + _items(self.read_set)


@dataclass(slots=True)
class ViewChangeEvent:
    """A member joined or left the group; the event has the certification state for a new member."""

    view_id: str
    sequence_number: int  # of the certifier when the view changed
    # Keys that were written, each with the GTID set of its writers in binary form; MySQL adds
    # its own entries, such as the GTIDs seen, or the reason why entries are missing.
    certification_info: list[tuple[bytes, bytes]]

    @classmethod
    def decode(cls, body: PayloadReader) -> ViewChangeEvent:
        """Decode the view id, without its zero padding, the number and the certification info.

        Raises DecodeError for an empty view id or one with a zero byte inside.
        """
        padded, sequence_number, count = _VIEW_LAYOUT.unpack(body.read_bytes(_VIEW_LAYOUT.size))
        view_id = padded.rstrip(b"\0")
        if b"\0" in view_id or not view_id:
            raise DecodeError(log_events.VIEW_ID)
        info = []
        for _ in range(count):
            key = body.read_bytes(body.read_uint16())
            info.append((key, body.read_bytes(body.read_uint32())))
        return cls(_ascii(view_id, "view id"), sequence_number, info)

    def encode(self) -> bytes:
        """Return the body, with the view id padded with zeros to 40 bytes."""
        count = len(self.certification_info)
        chunks = [_VIEW_LAYOUT.pack(self.view_id.encode("ascii"), self.sequence_number, count)]
        for key, value in self.certification_info:
            chunks += [len(key).to_bytes(2, "little"), key, len(value).to_bytes(4, "little"), value]
        return b"".join(chunks)


def _read_items(body: PayloadReader, count: int) -> list[bytes]:
    return [body.read_bytes(body.read_uint16()) for _ in range(count)]


def _items(items: Iterable[bytes]) -> bytes:
    return b"".join(len(item).to_bytes(2, "little") + item for item in items)


def _ascii(raw: bytes, field: str) -> str:
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        raise DecodeError(log.NOT_ASCII, field=field) from None

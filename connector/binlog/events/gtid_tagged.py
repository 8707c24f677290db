"""GTID_TAGGED_LOG_EVENT, which begins a transaction whose GTID has a tag (8.3).

::

    0 flags │ 1 uuid, 16 varlen │ 2 gno signed │ 3 tag │ 4 last_committed signed │
    5 sequence_number signed │ 6 immediate_commit_timestamp │ [7 original_commit_timestamp] │
    8 transaction_length │ 9 immediate_server_version │ [10 original_server_version] │
    [11 commit_group_ticket]

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Gtid__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from connector.binlog.events.serialization import (
    message,
    read_message_head,
    read_signed_varlen,
    read_varlen,
    read_varlen_bytes,
    signed_varlen,
    varlen,
)
from connector.binlog.events.transaction import CommitFacts, require_gno
from connector.errors import DecodeError, log, log_events
from connector.gtid import Gtid

if TYPE_CHECKING:
    from connector.codec.payload import PayloadReader

_FLAGS = 0
_UUID = 1
_GNO = 2
_TAG = 3
_LAST_COMMITTED = 4
_SEQUENCE_NUMBER = 5
_IMMEDIATE_COMMIT_TIMESTAMP = 6
_ORIGINAL_COMMIT_TIMESTAMP = 7
_TRANSACTION_LENGTH = 8
_IMMEDIATE_SERVER_VERSION = 9
_ORIGINAL_SERVER_VERSION = 10
_COMMIT_GROUP_TICKET = 11

_SIGNED = (_GNO, _LAST_COMMITTED, _SEQUENCE_NUMBER)
_TIMESTAMPS = (_IMMEDIATE_COMMIT_TIMESTAMP, _ORIGINAL_COMMIT_TIMESTAMP)
_UUID_LENGTH = 16
_BYTE_MAX = 0xFF
# An event without a tag has 56 bits for a time.
_TIMESTAMP_MAX = (1 << 56) - 1


@dataclass(slots=True)
class GtidTaggedEvent(CommitFacts):
    """A transaction begins whose GTID has a tag: `uuid:tag:gno`."""

    gtid: Gtid
    # Fields up to this one must be known to whoever reads the event.
    last_non_ignorable_field: int = 0

    @classmethod
    def decode(cls, body: PayloadReader) -> GtidTaggedEvent:
        """Decode an event body."""
        last_non_ignorable = read_message_head(body)
        uuid: UUID | None = None
        tag = ""
        numbers: dict[int, int] = {}
        rest = b""
        while body.remaining:
            start = body.offset
            field = read_varlen(body)
            if field == _UUID:
                uuid = _read_uuid(body)
            elif field == _TAG:
                tag = _read_tag(body)
            elif field in _SIGNED:
                numbers[field] = read_signed_varlen(body)
            elif field in _TIMESTAMPS:
                numbers[field] = _read_timestamp(body)
            elif field <= _COMMIT_GROUP_TICKET:
                numbers[field] = read_varlen(body)
            elif field <= last_non_ignorable:
                raise DecodeError(log_events.TAGGED_FIELD_UNKNOWN, number=field)
            else:
                # Fields come in order, so all that follow are newer than this version as well.
                body.offset = start
                rest = body.read_rest()
        if uuid is None or _GNO not in numbers:
            raise DecodeError(log_events.TAGGED_INCOMPLETE)
        immediate_timestamp = numbers.get(_IMMEDIATE_COMMIT_TIMESTAMP)
        immediate_version = numbers.get(_IMMEDIATE_SERVER_VERSION)
        return cls(
            flags=numbers.get(_FLAGS, 0),
            last_committed=numbers.get(_LAST_COMMITTED),
            sequence_number=numbers.get(_SEQUENCE_NUMBER),
            immediate_commit_timestamp=immediate_timestamp,
            original_commit_timestamp=numbers.get(_ORIGINAL_COMMIT_TIMESTAMP, immediate_timestamp),
            transaction_length=numbers.get(_TRANSACTION_LENGTH),
            immediate_server_version=immediate_version,
            original_server_version=numbers.get(_ORIGINAL_SERVER_VERSION, immediate_version),
            commit_group_ticket=numbers.get(_COMMIT_GROUP_TICKET),
            gtid=Gtid(uuid, require_gno(numbers[_GNO]), tag),
            last_non_ignorable_field=last_non_ignorable,
            rest=rest,
        )

    def encode(self) -> bytes:
        """Return the event body."""
        gtid = self.gtid
        tag = gtid.tag.encode("ascii")
        chunks = [varlen(_FLAGS), varlen(self.flags), varlen(_UUID), *map(varlen, gtid.uuid.bytes)]
        chunks += [varlen(_GNO), signed_varlen(gtid.gno), varlen(_TAG), varlen(len(tag)), tag]
        for field, value in (
            (_LAST_COMMITTED, self.last_committed),
            (_SEQUENCE_NUMBER, self.sequence_number),
            (_IMMEDIATE_COMMIT_TIMESTAMP, self.immediate_commit_timestamp),
            (
                _ORIGINAL_COMMIT_TIMESTAMP,
                _unless(self.original_commit_timestamp, self.immediate_commit_timestamp),
            ),
            (_TRANSACTION_LENGTH, self.transaction_length),
            (_IMMEDIATE_SERVER_VERSION, self.immediate_server_version),
            (
                _ORIGINAL_SERVER_VERSION,
                _unless(self.original_server_version, self.immediate_server_version),
            ),
            (_COMMIT_GROUP_TICKET, self.commit_group_ticket),
        ):
            if value is not None:
                encoded = signed_varlen(value) if field in _SIGNED else varlen(value)
                chunks += [varlen(field), encoded]
        return message(self.last_non_ignorable_field, b"".join(chunks) + self.rest)


def _unless(original: int | None, immediate: int | None) -> int | None:
    """Return the original value where it is written: where it is not the immediate one."""
    return None if original == immediate else original


def _read_uuid(body: PayloadReader) -> UUID:
    values = [read_varlen(body) for _ in range(_UUID_LENGTH)]
    if max(values) > _BYTE_MAX:
        raise DecodeError(log_events.UUID_BYTE)
    return UUID(bytes=bytes(values))


def _read_timestamp(body: PayloadReader) -> int:
    value = read_varlen(body)
    if value > _TIMESTAMP_MAX:
        raise DecodeError(log_events.COMMIT_TIME, microseconds=value)
    return value


def _read_tag(body: PayloadReader) -> str:
    raw = read_varlen_bytes(body)
    if not raw.isascii():
        raise DecodeError(log.NOT_ASCII, field="tag of the GTID")
    return raw.decode("ascii")

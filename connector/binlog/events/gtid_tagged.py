"""GTID_TAGGED_LOG_EVENT, which begins a transaction whose GTID has a tag (8.3).

::

    0 flags │ 1 uuid, 16 varlen │ 2 gno signed │ 3 tag │ 4 last_committed signed │
    5 sequence_number signed │ 6 immediate_commit_timestamp │ [7 original_commit_timestamp] │
    8 transaction_length │ 9 immediate_server_version │ [10 original_server_version] │
    [11 commit_group_ticket]

It is the only event in the format of `mysql::serialization`:

::

    message  version │ size │ last_non_ignorable_field_id │ (field_id │ value) …     all varlen
    varlen   the number of one-bits at the low end of the first byte is the number of bytes that
             follow; the value is what remains of all bytes, little-endian:

             xxxxxxx0                     7 bits          xxxxxx01 xxxxxxxx     14 bits
             01111111 and 7 bytes …       56 bits          11111111 and 8 bytes  64 bits

    signed   the sign is in the lowest bit: 0, -1, 1, -2 are 0, 1, 2, 3
    string   length varlen │ bytes

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Gtid__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/PageLibsMysqlSerialization.html
"""

from dataclasses import dataclass
from uuid import UUID

from connector.binlog import log_errors
from connector.binlog.events.transaction import CommitInfo, require_gno
from connector.binlog.gtid import Gtid
from connector.binlog.payload_reader import PayloadReader, ascii_text
from connector.foundation.errors import DecodeError

SERIALIZATION_VERSION = 1

_LONGEST = 8  # bytes after a first byte of 0xFF


def read_varlen(reader: PayloadReader) -> int:
    """Read an unsigned integer of one to nine bytes."""
    # Not an i64: the calculations below can exceed 64 bits.
    first: int = reader.read_uint8()
    following = 0
    while first >> following & 1:
        following += 1
    if following == _LONGEST:
        return reader.read_uint64()
    rest = reader.read_uint(following)
    return (rest << 8 | first) >> (following + 1)


def read_signed_varlen(reader: PayloadReader) -> int:
    """Read a signed integer of one to nine bytes."""
    raw = read_varlen(reader)
    return -(raw >> 1) - 1 if raw & 1 else raw >> 1


def read_varlen_bytes(reader: PayloadReader) -> bytes:
    """Read a length and that many bytes."""
    return reader.read_bytes(read_varlen(reader))


def read_message_head(reader: PayloadReader) -> int:
    """Read what precedes a message's fields; return the last field that must be known."""
    start = reader.offset
    version = read_varlen(reader)
    if version != SERIALIZATION_VERSION:
        raise DecodeError(log_errors.VALUE_UNKNOWN, field="serialization version", value=version)
    size = read_varlen(reader)
    # An int, because native numbers would overflow here.
    available: int = reader.end - start
    if size != available:
        raise DecodeError(log_errors.MESSAGE_SIZE, size=size, found=available)
    return read_varlen(reader)


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
class GtidTaggedEvent(CommitInfo):
    """A transaction begins whose GTID has a tag: `uuid:tag:gno`."""

    gtid: Gtid
    # A reader must know the fields up to this one.
    last_non_ignorable_field: int = 0

    @classmethod
    def decode(cls, body: PayloadReader) -> "GtidTaggedEvent":
        """Decode the fields by their numbers; unknown ignorable fields are kept as bytes.

        Raises DecodeError for an unknown field that is not ignorable, or without a GTID.
        """
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
                tag = ascii_text(read_varlen_bytes(body), "tag of the GTID")
            elif field in _SIGNED:
                numbers[field] = read_signed_varlen(body)
            elif field in _TIMESTAMPS:
                numbers[field] = _read_timestamp(body)
            elif field <= _COMMIT_GROUP_TICKET:
                numbers[field] = read_varlen(body)
            elif field <= last_non_ignorable:
                raise DecodeError(log_errors.TAGGED_FIELD_UNKNOWN, number=field)
            else:
                # Fields come in order, so all that follow are newer than this version as well.
                body.offset = start
                rest = body.read_rest()
        if uuid is None or _GNO not in numbers:
            raise DecodeError(log_errors.TAGGED_INCOMPLETE)
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


def _read_uuid(body: PayloadReader) -> UUID:
    values = [read_varlen(body) for _ in range(_UUID_LENGTH)]
    if max(values) > _BYTE_MAX:
        raise DecodeError(log_errors.UUID_BYTE)
    return UUID(bytes=bytes(values))


def _read_timestamp(body: PayloadReader) -> int:
    value = read_varlen(body)
    if value > _TIMESTAMP_MAX:
        raise DecodeError(log_errors.COMMIT_TIME, microseconds=value)
    return value

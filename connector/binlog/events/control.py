"""Events about the log itself: where it continues, what is missing, its readers and its writers.

::

    ROTATE               next_position u64, not in v1 │ next_file to the end
    INCIDENT             incident u16 │ length u8 │ message
    SLAVE                master_pos u64 │ master_port u16 │ master_host │ 0 │ master_log │ 0
    HEARTBEAT            file to the end; the position is the header's log_pos
    HEARTBEAT_V2         (type u8 │ length lenenc │ value) … 0: end, 1: file, 2: position lenenc
    START_ENCRYPTION     scheme u8 = 1 │ key_version u32 │ nonce 12
    TRANSACTION_CONTEXT  server_uuid length u8 │ thread_id u32 │ gtid_specified u8 │
                         snapshot_version length u32 │ write_set count u32 │ read_set count u32 │
                         server_uuid │ snapshot_version │ (length u16 │ item) * counts
    VIEW_CHANGE          view_id 40 │ sequence_number u64 │ certification_info count u32 │
                         (length u16 │ key │ length u32 │ value) * count

*Heartbeats.* A server that has no other events to send says where it reads.

*Encryption* (MariaDB 10.1.7). Everything after START_ENCRYPTION, except the sizes of events, is
encrypted with a key outside the file. A server that sends the file to a replica decrypts it, and
sends this event with the flag IGNORABLE, which it does not have in the file.

*Group Replication* (5.7.17). TRANSACTION_CONTEXT travels between members before a transaction is
certified, and is seen in relay logs of the applier channel. VIEW_CHANGE is written to the log
when a member joins or leaves.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
https://mariadb.com/kb/en/start_encryption_event/
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from mypy_extensions import i64

from connector.binlog import log_errors
from connector.binlog.gtid import GtidSet
from connector.binlog.header import (
    FIRST_POSITION,
    HEARTBEAT_LOG,
    HEARTBEAT_LOG_V2,
    EventHeader,
    read_post_header,
)
from connector.binlog.payload_reader import PayloadReader, ascii_text, utf8_text
from connector.foundation.errors import DecodeError

_INCIDENT_HEADER_LENGTH = 2
_INCIDENTS = {0: "NONE", 1: "LOST_EVENTS"}

# Host, log, and the empty text after the last zero byte.
_SLAVE_NAMES = 3


@dataclass(slots=True)
class RotateEvent:
    """The log continues in another file.

    The server also sends it, with a zero timestamp, as the first event of every dump: it names the
    file from which the next events come.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rotate__event.html
    """

    next_position: int  # byte offset of the first event to read, 4 in a fresh file
    next_file: str

    @classmethod
    def decode(cls, body: PayloadReader, *, has_position: bool = True) -> RotateEvent:
        """Decode the body without its checksum; `has_position` is false in format v1.

        Raises DecodeError for a file name that is empty or not UTF-8.
        """
        next_position = body.read_uint64() if has_position else FIRST_POSITION
        # The name fills the body and has no terminator.
        return cls(next_position, decode_file_name(body.read_rest()))


def decode_file_name(name: bytes) -> str:
    """Return the name of a log file.

    Raises DecodeError if the name is not UTF-8 or is empty.
    """
    text = utf8_text(name, "name of the log file")
    if not text:
        raise DecodeError(log_errors.FILE_NAME_EMPTY)
    return text


@dataclass(slots=True)
class StopEvent:
    """The server was shut down; the event has no body."""

    @classmethod
    def decode(cls, body: PayloadReader) -> StopEvent:
        """Take an empty body; the decoder reports bytes that are left."""
        del body
        return cls()


@dataclass(slots=True)
class IncidentEvent:
    """An incident that may have made the log and the data differ.

    ::

        [post-header] incident u16 │ length u8 │ message │ [cached checksum u32]

    MySQL writes the event into its cache with a checksum, which covers the event with `log_pos` 0.
    Then it writes all of this into the log, with a second checksum.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Incident__event.html
    """

    incident: int
    message: str  # bytes that are not UTF-8 are written as \\xNN
    cached_checksum: int | None = None

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> IncidentEvent:
        """Decode the number and the message; four bytes after them are the cached checksum."""
        head = read_post_header(body, post_header_length, _INCIDENT_HEADER_LENGTH)
        message = body.read_bytes(body.read_uint8())
        cached_checksum = body.read_uint32() if body.remaining else None
        return cls(head.read_uint16(), message.decode("utf-8", "backslashreplace"), cached_checksum)

    @property
    def name(self) -> str:
        """NONE or LOST_EVENTS, UNKNOWN for a number that has no meaning."""
        return _INCIDENTS.get(self.incident, "UNKNOWN")


@dataclass(slots=True)
class SlaveEvent:
    """Where a replica stood in its source's log; reserved in 3.23, and never written."""

    master_pos: int
    master_port: int
    master_host: str
    master_log: str

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> SlaveEvent:
        """Decode the position, the port and the two names.

        Raises DecodeError for names that are not two zero-terminated texts.
        """
        read_post_header(body, post_header_length, 0)
        master_pos = body.read_uint64()
        master_port = body.read_uint16()
        names = body.read_rest().decode("utf-8", "backslashreplace").split("\0")
        if len(names) != _SLAVE_NAMES or names[2]:
            raise DecodeError(log_errors.SLAVE_NAMES)
        return cls(master_pos, master_port, names[0], names[1])


@dataclass(slots=True)
class IgnorableEvent:
    """An event of an unknown type that its sender flagged as not needed."""

    data: bytes

    @classmethod
    def decode(cls, body: PayloadReader) -> IgnorableEvent:
        """Keep the body as bytes."""
        return cls(body.read_rest())


_END = 0
_FILE = 1
_POSITION = 2


@dataclass(slots=True)
class HeartbeatEvent:
    """The server is alive and has nothing to send, or has skipped up to `position`.

    https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Heartbeat__event.html
    """

    file: str
    position: int  # where the server reads
    exact: bool  # false in the first version of the event: the position is modulo 2**32

    @classmethod
    def decode(cls, body: PayloadReader, header: EventHeader) -> HeartbeatEvent:
        """Decode the body of a HEARTBEAT_LOG_EVENT."""
        return cls(decode_file_name(body.read_rest()), header.log_pos, exact=False)

    @classmethod
    def decode_v2(cls, body: PayloadReader) -> HeartbeatEvent:
        """Decode the body of a HEARTBEAT_LOG_EVENT_V2 (8.0.26)."""
        file: str | None = None
        position: int | None = None
        while body.remaining:
            field = body.read_uint8()
            if field == _END:
                break
            value = body.read_lenenc_bytes()
            if field == _FILE:
                file = decode_file_name(value)
            elif field == _POSITION:
                position = PayloadReader(value).read_lenenc()
        if file is None or position is None:
            raise DecodeError(log_errors.HEARTBEAT_INCOMPLETE)
        return cls(file, position, exact=True)


def is_heartbeat(type_code: i64) -> bool:
    """Return whether this type is a heartbeat: it can come between any two events of a dump."""
    return type_code in (HEARTBEAT_LOG, HEARTBEAT_LOG_V2)


_SCHEME = 1
_NONCE_LENGTH = 12


@dataclass(slots=True)
class StartEncryptionEvent:
    """How the rest of the file is encrypted."""

    scheme: int  # 1: AES, the nonce and the position make the initialization vector
    key_version: int  # of the key in the server's key management plugin
    nonce: bytes

    @classmethod
    def decode(cls, body: PayloadReader) -> StartEncryptionEvent:
        """Decode 17 bytes: scheme, key version and nonce.

        Raises DecodeError for a scheme other than 1.
        """
        scheme = body.read_uint8()
        if scheme != _SCHEME:
            raise DecodeError(log_errors.VALUE_UNKNOWN, field="encryption scheme", value=scheme)
        return cls(scheme, body.read_uint32(), body.read_bytes(_NONCE_LENGTH))


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
        server_uuid = ascii_text(body.read_bytes(uuid_length), "server_uuid")
        version = PayloadReader(body.read_bytes(version_length))
        snapshot_version = GtidSet.decode(version)
        if version.remaining:
            raise DecodeError(
                log_errors.LEFT_OVER, count=version.remaining, field="the snapshot version"
            )
        return cls(
            server_uuid,
            thread_id,
            specified != 0,
            snapshot_version,
            _read_items(body, writes),
            _read_items(body, reads),
        )


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
            raise DecodeError(log_errors.VIEW_ID)
        info = []
        for _ in range(count):
            key = body.read_bytes(body.read_uint16())
            info.append((key, body.read_bytes(body.read_uint32())))
        return cls(ascii_text(view_id, "view id"), sequence_number, info)


def _read_items(body: PayloadReader, count: int) -> list[bytes]:
    return [body.read_bytes(body.read_uint16()) for _ in range(count)]

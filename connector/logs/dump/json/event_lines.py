"""The parts of a line that most events of a log share: its head, and the bodies of frequent events.

::

    {"file":…,"log_pos":…,"next_pos":…,"type":…,"type_code":…,"timestamp":…,"server_id":…,
     "flags":…,"size":…,"checksum":…,"body":
    ◀── of the file ─▶                ◀──────── kept, until one of its facts changes ─────▶

The bodies of GTIDs, XIDs and statements become JSON from their bytes, without an object for each
event. The fields are those of `event_fields`, which writes all other events.
"""

from json.encoder import encode_basestring
from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, read_i64_le
from mypy_extensions import i64, u8

from connector.binlog.event import Event
from connector.binlog.events.query import QUERY_HEADER_LENGTH, QueryEvent
from connector.binlog.events.transaction import require_gno
from connector.binlog.gtid import gtid_prefix_at
from connector.binlog.header import (
    GTID_LOG,
    QUERY,
    XID,
    event_name,
    flags_at,
    log_pos_at,
    server_id_at,
    size_at,
    timestamp_at,
)
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.text_writer import put_ascii, put_hex_32, put_int, put_uint, put_uint64
from connector.logs.dump.json.event_fields import body_fields
from connector.logs.dump.json.table_facts import dumps
from connector.logs.output import encoded

# Stands for null.
NOTHING: Final = -1

_TYPES: Final = 256
_U32: Final = 0xFFFF_FFFF
_NULL: Final = b"null"


@final
class _Middle:
    """The text from the type to the size, with the facts that it tells."""

    __slots__ = ("flags", "server_id", "text", "timestamp")

    def __init__(self, type_code: i64, timestamp: i64, server_id: i64, flags: i64) -> None:
        self.timestamp: i64 = timestamp
        self.server_id: i64 = server_id
        self.flags: i64 = flags
        flags_text = "null" if flags == NOTHING else str(flags)
        self.text = (
            f',"type":"{event_name(type_code)}","type_code":{type_code},"timestamp":{timestamp},'
            f'"server_id":{server_id},"flags":{flags_text},"size":'
        ).encode()


@final
class EventHeads:
    """Writes the heads of events, of one file after the other."""

    def __init__(self) -> None:
        self._file = b""
        self._middles: list[_Middle | None] = [None] * _TYPES

    def name_file(self, name: str) -> None:
        """Write heads of the file `name` from now on."""
        self._file = encoded(f'{{"file":{encode_basestring(name)},"log_pos":')

    def put(
        self,
        out: BytesWriter,
        type_code: i64,
        data: bytes,
        at: i64,
        trailer: i64,
        position: i64,
        *,
        v1: bool,
    ) -> None:
        """Append the head of the event at `data[at]`, which ends in `trailer` bytes of a checksum.

        Pre-releases of 5.1 have other type codes in their headers. `position` can be NOTHING. A
        header of format `v1` ends before the next position and the flags.
        """
        out.write(self._file)
        _put_number(out, position)
        out.write(b',"next_pos":')
        flags: i64 = NOTHING
        if v1:
            out.write(_NULL)
        else:
            put_uint(out, log_pos_at(data, at))
            flags = flags_at(data, at)
        timestamp = timestamp_at(data, at)
        server_id = server_id_at(data, at)
        size = size_at(data, at)
        middle = self._middles[type_code]
        if (
            middle is None
            or middle.timestamp != timestamp
            or middle.server_id != server_id
            or middle.flags != flags
        ):
            middle = _Middle(type_code, timestamp, server_id, flags)
            self._middles[type_code] = middle
        out.write(middle.text)
        put_uint(out, size)
        if trailer:
            out.write(b',"checksum":"')
            put_hex_32(out, i64(read_i32_le(data, at + size - trailer)) & _U32)
            out.write(b'","body":')
        else:
            out.write(b',"checksum":null,"body":')


def _put_number(out: BytesWriter, number: i64) -> None:
    if number == NOTHING:
        out.write(_NULL)
    else:
        put_uint(out, number)


_CLOSE: Final = 0x7D
_XID_LENGTH: Final = 8
_UUID_LENGTH: Final = 16
_LOGICAL_TIMESTAMP: Final = 2
_TIMESTAMP_LENGTH: Final = 7
_ORIGINAL_TIMESTAMP_FOLLOWS: Final = 1 << 55
_ORIGINAL_VERSION_FOLLOWS: Final = 1 << 31
_TICKET_LENGTH: Final = 8
_INT64_MAX: Final = (1 << 63) - 1

# Of a QUERY: what differs between statements with the same text, and what is then the same.
_EXEC_TIME_OFFSET: Final = 4
_SAME_OFFSET: Final = 8
_SAME_BYTES_MAX: Final = 512
_STATEMENTS_MAX: Final = 1024


def _put_gtid(body: PayloadReader, out: BytesWriter) -> None:
    flags = body.read_uint8()
    uuid = body.take(_UUID_LENGTH)
    gno = require_gno(body.read_int64())
    out.write(b'{"gtid":"')
    out.write(gtid_prefix_at(body.data, uuid))
    put_uint(out, gno)
    out.write(b'","flags":')
    put_uint(out, flags)
    if body.remaining and body.data[body.offset] == _LOGICAL_TIMESTAMP:
        body.skip(1)
        _put_facts(body, out)
    out.append(u8(_CLOSE))


def _put_facts(body: PayloadReader, out: BytesWriter) -> None:
    out.write(b',"last_committed":')
    put_int(out, body.read_int64())
    out.write(b',"sequence_number":')
    put_int(out, body.read_int64())
    if body.remaining:
        immediate = body.read_length(_TIMESTAMP_LENGTH)
        original = immediate
        if immediate & _ORIGINAL_TIMESTAMP_FOLLOWS:
            immediate ^= _ORIGINAL_TIMESTAMP_FOLLOWS
            original = body.read_length(_TIMESTAMP_LENGTH)
        out.write(b',"original_commit_timestamp":')
        put_uint(out, original)
        out.write(b',"immediate_commit_timestamp":')
        put_uint(out, immediate)
    if body.remaining:
        length = body.read_lenenc()
        out.write(b',"transaction_length":')
        if length > _INT64_MAX:
            put_ascii(out, str(length))
        else:
            put_uint(out, length)
    if body.remaining:
        version = body.read_uint32()
        original_version = version
        if version & _ORIGINAL_VERSION_FOLLOWS:
            version ^= _ORIGINAL_VERSION_FOLLOWS
            original_version = body.read_uint32()
        out.write(b',"original_server_version":')
        put_uint(out, original_version)
        out.write(b',"immediate_server_version":')
        put_uint(out, version)
    if body.remaining >= _TICKET_LENGTH:
        out.write(b',"commit_group_ticket":')
        put_uint64(out, body.read_int64())


@final
class ShortBodies:
    """Writes the bodies of XIDs, GTIDs and statements; BEGIN is the same in most transactions."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        # What is the same of the last statement, and its text.
        self._last = b""
        self._last_text = b""

    def put(
        self,
        type_code: i64,
        data: bytes,
        start: i64,
        end: i64,
        event: Event | None,
        out: BytesWriter,
    ) -> bool:
        """Append the body in `data[start:end]`; return False, and append nothing, for all others.

        A statement whose text is new comes from its `event`, which is decoded for it. Raises
        DecodeError for a GTID that is too short; a part of it may be appended then.
        """
        if type_code == QUERY:
            return self._put_query(data, start, end, event, out)
        if type_code == XID and end - start == _XID_LENGTH:
            out.write(b'{"xid":')
            put_uint64(out, read_i64_le(data, start))
            out.append(u8(_CLOSE))
            return True
        if type_code != GTID_LOG:
            return False
        _put_gtid(PayloadReader(data, start, end), out)
        return True

    def _put_query(
        self, data: bytes, start: i64, end: i64, event: Event | None, out: BytesWriter
    ) -> bool:
        if not QUERY_HEADER_LENGTH <= end - start <= _SAME_BYTES_MAX:
            return False
        at = start + _SAME_OFFSET
        if len(self._last) != end - at or not has_bytes_at(data, at, self._last):
            same = data[at:end]
            text = self._known.get(same)
            if text is None:
                if event is None or not event.has_plain_queries:
                    return False
                text = self._keep(same, event)
            self._last = same
            self._last_text = text
        out.write(b'{"thread_id":')
        put_uint(out, i64(read_i32_le(data, start)) & _U32)
        out.write(b',"exec_time":')
        put_uint(out, i64(read_i32_le(data, start + _EXEC_TIME_OFFSET)) & _U32)
        out.write(self._last_text)
        return True

    def _keep(self, same: bytes, event: Event) -> bytes:
        query = event.body
        assert isinstance(query, QueryEvent)
        fields = body_fields(query, mariadb=False)
        del fields["thread_id"], fields["exec_time"]
        if len(self._known) >= _STATEMENTS_MAX:
            self._known.clear()
        text = self._known[same] = b"," + encoded(dumps(fields)[1:])
        return text

"""The part of a line before the body: most of it is the same for each event of a type.

::

    {"file":…,"log_pos":…,"next_pos":…,"type":…,"type_code":…,"timestamp":…,"server_id":…,
     "flags":…,"size":…,"checksum":…,"body":
    ◀── of the file ─▶                ◀──────── kept, until one of its facts changes ─────▶
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final, final

from connector.binlog.framing.event_types import event_name
from connector.codec.digits import put_uint
from connector.codec.hexadecimal import put_hex_32
from connector.dump.json.cells import encoded

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

# Stands for null.
NOTHING: Final = -1

_TYPES: Final = 256
_NULL: Final = b"null"


@final
class _Middle:
    """The text from the type to the size, with the facts that it tells."""

    __slots__ = ("flags", "server_id", "text", "timestamp")

    def __init__(self, type_code: i64, timestamp: i64, server_id: i64, flags: i64) -> None:
        self.timestamp: i64 = timestamp
        self.server_id: i64 = server_id
        self.flags: i64 = flags
        shown = "null" if flags == NOTHING else str(flags)
        self.text = (
            f',"type":"{event_name(type_code)}","type_code":{type_code},"timestamp":{timestamp},'
            f'"server_id":{server_id},"flags":{shown},"size":'
        ).encode()


@final
class EventHeads:
    """Writes the heads of events, of one file after the other."""

    def __init__(self) -> None:
        """Name no file yet."""
        self._file = b""
        self._middles: list[_Middle | None] = [None] * _TYPES

    def name_file(self, name: str) -> None:
        """Write heads of the file `name` from now on."""
        self._file = encoded(f'{{"file":{encode_basestring(name)},"log_pos":')

    def put(
        self,
        out: BytesWriter,
        position: i64,
        next_position: i64,
        type_code: i64,
        timestamp: i64,
        server_id: i64,
        flags: i64,
        size: i64,
        checksum: i64,
    ) -> None:
        """Append the head of an event; positions, flags and checksum can be NOTHING."""
        out.write(self._file)
        _put_number(out, position)
        out.write(b',"next_pos":')
        _put_number(out, next_position)
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
        if checksum == NOTHING:
            out.write(b',"checksum":null,"body":')
        else:
            out.write(b',"checksum":"')
            put_hex_32(out, checksum)
            out.write(b'","body":')


def _put_number(out: BytesWriter, number: i64) -> None:
    if number == NOTHING:
        out.write(_NULL)
    else:
        put_uint(out, number)

"""The small packets beside events and rows: ERR, EOF, and the header and ACK of semi-sync.

The first byte of a response says what it is; the caller removes it before ERR or EOF is decoded.

*Semi-synchronous replication*::

    event   00 | ef | flag u8 | event                 flag 01: an ACK is wanted
    ACK     ef | position u64 | file, up to the end   in a packet with the number 0

After an event that wants an ACK the server numbers its packets from 1 again, whether the ACK has
come or not. The server closes the connection after an ACK that it did not ask for.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html
https://dev.mysql.com/doc/dev/mysql-server/latest/semisync_8h_source.html
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final

from connector.binlog.log_errors import ProtocolError
from connector.binlog.payload_reader import PayloadReader
from connector.replication import dump_errors

OK: Final = 0x00
EOF: Final = 0xFE
ERR: Final = 0xFF

# A longer payload after 0xFE would be a length-encoded integer, not an EOF.
EOF_LENGTH_MAX: Final = 8

_SQLSTATE_MARKER = b"#"
_SQLSTATE_LENGTH = 5


@dataclass(frozen=True, slots=True)
class ErrPacket:
    """The server refuses, or ends the connection.

    ::

        ff | code u16 | "#", sqlstate 5 | message, up to the end

    The sqlstate is absent before the login is complete.
    """

    code: int
    sqlstate: str  # "" if the server sends none
    message: str

    @classmethod
    def decode(cls, body: PayloadReader) -> "ErrPacket":
        """Decode the bytes after 0xFF."""
        code = body.read_uint16()
        rest = body.read_rest()
        sqlstate = b""
        if rest.startswith(_SQLSTATE_MARKER):
            sqlstate, rest = rest[1 : 1 + _SQLSTATE_LENGTH], rest[1 + _SQLSTATE_LENGTH :]
        # A message may quote file names in any charset.
        return cls(code, sqlstate.decode("ascii", "replace"), rest.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EofPacket:
    """The dump is over: the end of the log if NON_BLOCK was asked for, else a shutdown.

    ::

        fe | warnings u16 | status flags u16
    """

    warnings: int
    status: int

    @classmethod
    def decode(cls, body: PayloadReader) -> "EofPacket":
        """Decode the bytes after 0xFE; servers before 4.1 send none."""
        if not body.remaining:
            return cls(0, 0)
        return cls(body.read_uint16(), body.read_uint16())


_MAGIC = 0xEF
_HEADER_LENGTH = 2
_ACK_WANTED = 0x01
_ACK = Struct("<BQ")
_PACKET_HEADER = Struct("<I")


def split_header(data: bytes) -> tuple[bytes, bool]:
    """Return the event after the header, and whether the server wants an ACK of it.

    Raises ProtocolError if there is no header.
    """
    header = data[:_HEADER_LENGTH]
    if len(header) < _HEADER_LENGTH or header[0] != _MAGIC:
        raise ProtocolError(dump_errors.SEMI_SYNC_HEADER, found=header.hex(" "))
    return data[_HEADER_LENGTH:], header[1] & _ACK_WANTED != 0


@dataclass(frozen=True, slots=True)
class SemiSyncAck:
    """Says that everything up to `position` of `file` is received, so the commit may continue."""

    file: str
    position: int  # the end of the event that wanted the ACK

    def encode(self) -> bytes:
        """Return the whole packet, with its header."""
        payload = _ACK.pack(_MAGIC, self.position) + self.file.encode("utf-8")
        return _PACKET_HEADER.pack(len(payload)) + payload

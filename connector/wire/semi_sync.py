"""Semi-synchronous replication: the header before each event, and the ACK that a commit waits for.

::

    event   00 | ef | flag u8 | event                 flag 01: an ACK is wanted
    ACK     ef | position u64 | file, up to the end   in a packet with the number 0

After an event that wants an ACK the server numbers its packets from 1 again, whether the ACK has
come or not. The server closes the connection after an ACK that it did not ask for.

https://dev.mysql.com/doc/dev/mysql-server/latest/semisync_8h_source.html
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from connector.errors import ProtocolError, conversations

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
        raise ProtocolError(conversations.SEMI_SYNC_HEADER, found=header.hex(" "))
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

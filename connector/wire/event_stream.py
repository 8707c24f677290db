"""Bytes from the network to whole events: the packets of a dump, split and joined.

::

    packet   length u24 | number u8 | payload
    payload  00 | event          ff | error          fe | end of the log

A payload of 2^24 - 1 bytes or more fills packets of exactly 2^24 - 1 bytes up to one that is
shorter, and may be empty. Only the first of them has the leading byte, and that byte counts: an
event of 2^24 - 2 bytes already needs a second, empty packet. Numbers rise by one from the command's
0 and wrap at 256.

Incompleteness ends here: what leaves is always a whole event.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html
"""

from __future__ import annotations

from struct import Struct

from connector.errors import ProtocolError
from connector.payload import PayloadReader
from connector.wire.responses import EOF, EOF_LENGTH_MAX, ERR, OK, EofPacket, ErrPacket

BUFFER_BYTES = 1024 * 1024

# The server's largest max_allowed_packet, 1 GiB, and generous room for the event's headers.
EVENT_BYTES_MAX = 2**30 + 2**16

_HEADER = Struct("<I")
_HEADER_LENGTH = 4
_PACKET_LENGTH_MAX = 2**24 - 1
_NUMBER_MASK = 0xFF


class EventStream:
    """Splits what the server sends after a dump command.

    Write into `writable()`, say how much with `received()`, take events with `next_event()` until
    it returns None, and start over. The last step matters: bytes of an event that is not whole yet
    move out of the buffer there, so that the buffer always has room.

    Memory: the buffer, and twice the largest event while its pieces are joined.
    """

    __slots__ = (
        "_buffer",
        "_continues",
        "_end",
        "_leading_byte",
        "_missing",
        "_next_number",
        "_pieces",
        "_pieces_bytes",
        "_start",
        "_view",
    )

    def __init__(self, buffer_bytes: int = BUFFER_BYTES) -> None:
        """Start behind the dump command, whose packet had the number 0."""
        self._buffer = bytearray(buffer_bytes)
        self._view = memoryview(self._buffer)
        self._start = 0  # first byte of the buffer that is not consumed
        self._end = 0  # first byte that is not received
        self._next_number = 1
        # The payload at hand, when it did not lie in the buffer as a whole.
        self._leading_byte: int | None = None
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._missing = 0  # bytes of the packet at hand that are not in `_pieces` yet
        self._continues = False  # whether another packet follows the one at hand

    def writable(self) -> memoryview:
        """Return where the next bytes go: never empty once `next_event` has returned None."""
        start = self._start
        if start:
            # At most four bytes are left: a packet's header.
            rest = self._end - start
            self._buffer[:rest] = self._buffer[start : self._end]
            self._start, self._end = 0, rest
        return self._view[self._end :]

    def received(self, count: int) -> None:
        """Say that `count` bytes were written to the front of `writable()`."""
        self._end += count

    def next_event(self) -> bytes | ErrPacket | EofPacket | None:
        """Return the next event without its leading OK byte, or what the server says instead.

        None when the bytes received so far do not complete one. Raises ProtocolError when the
        bytes cannot be a dump.
        """
        start = self._start
        if self._leading_byte is None and self._end - start > _HEADER_LENGTH:
            # Nearly every event: one packet, whole in the buffer, copied once.
            (word,) = _HEADER.unpack_from(self._buffer, start)
            length = word & _PACKET_LENGTH_MAX
            end = start + _HEADER_LENGTH + length
            if (
                end <= self._end
                and 0 < length < _PACKET_LENGTH_MAX
                and word >> 24 == self._next_number
                and self._buffer[start + _HEADER_LENGTH] == OK
            ):
                self._next_number = self._next_number + 1 & _NUMBER_MASK
                self._start = end
                return self._view[start + _HEADER_LENGTH + 1 : end].tobytes()
        return self._next_in_pieces()

    def restart_numbers(self) -> None:
        """Expect the next packet to have the number 1, as behind a semi-synchronous event."""
        self._next_number = 1

    def _next_in_pieces(self) -> bytes | ErrPacket | EofPacket | None:
        while self._leading_byte is None or self._missing or self._continues:
            if not self._missing and not self._open_packet():
                return None
            self._take_piece()
            if self._missing:
                return None
        leading_byte = self._leading_byte
        payload = b"".join(self._pieces)
        self._leading_byte = None
        self._pieces.clear()
        self._pieces_bytes = 0
        if leading_byte == OK:
            return payload
        if leading_byte == ERR:
            return ErrPacket.decode(PayloadReader(payload))
        return EofPacket.decode(PayloadReader(payload))

    def _open_packet(self) -> bool:
        """Read a packet's header, and a payload's first byte; False when they are not all here."""
        first = self._leading_byte is None
        start = self._start
        if self._end - start < _HEADER_LENGTH:
            return False
        (word,) = _HEADER.unpack_from(self._buffer, start)
        length = word & _PACKET_LENGTH_MAX
        if first:
            if not length:
                reason = "the replication stream has an empty packet where an event begins"
                raise ProtocolError(reason)
            if self._end - start == _HEADER_LENGTH:
                return False
            leading_byte = self._buffer[start + _HEADER_LENGTH]
            _check_leading_byte(leading_byte, length)
            # MariaDB numbers the error of a shutdown from 0: nobody asked for it.
            if word >> 24 or leading_byte != ERR:
                self._check_number(word >> 24)
            self._leading_byte = leading_byte
            self._missing = length - 1
            self._start = start + _HEADER_LENGTH + 1
        else:
            self._check_number(word >> 24)
            self._missing = length
            self._start = start + _HEADER_LENGTH
        if self._pieces_bytes + self._missing > EVENT_BYTES_MAX:
            reason = f"the replication stream has an event of more than {EVENT_BYTES_MAX} bytes"
            raise ProtocolError(reason)
        self._next_number = self._next_number + 1 & _NUMBER_MASK
        self._continues = length == _PACKET_LENGTH_MAX
        return True

    def _check_number(self, number: int) -> None:
        if number != self._next_number:
            reason = (
                f"the replication stream has packet number {number} where {self._next_number} "
                "must follow: bytes were lost, or something between here and the server changed "
                "them"
            )
            raise ProtocolError(reason)

    def _take_piece(self) -> None:
        end = min(self._start + self._missing, self._end)
        piece = self._view[self._start : end].tobytes()
        self._pieces.append(piece)
        self._pieces_bytes += len(piece)
        self._missing -= len(piece)
        self._start = end


def _check_leading_byte(leading_byte: int, length: int) -> None:
    if leading_byte in (OK, ERR) or (leading_byte == EOF and length <= EOF_LENGTH_MAX):
        return
    reason = (
        f"the replication stream has a payload of {length} bytes that starts with "
        f"{leading_byte:#04x}; only 0x00 (an event), 0xff (an error) and 0xfe (its end) may"
    )
    raise ProtocolError(reason)

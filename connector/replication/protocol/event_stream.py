"""Bytes from the network become whole events: the packets of a dump, split and joined.

::

    packet   length u24 | number u8 | payload
    payload  00 | event          ff | error          fe | end of the log

A payload of 2^24 - 1 bytes or more fills packets of exactly 2^24 - 1 bytes up to one that is
shorter, and may be empty. Only the first of them has the leading byte, and that byte counts: an
event of 2^24 - 2 bytes already needs a second, empty packet. Numbers rise by one from the command's
0 and wrap at 256.

Only whole events leave this module.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html
"""

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from connector.binlog.header import EVENT_BYTES_MAX, EventSource
from connector.binlog.log_errors import ProtocolError
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from connector.foundation.errors.code import ErrorCode
from connector.replication import dump_errors
from connector.replication.protocol import responses

_HEADER_LENGTH: Final = 4
_PACKET_LENGTH_MAX: Final = 2**24 - 1
_NUMBER_SHIFT: Final = 24
_NUMBER_MASK: Final = 0xFF
_WORD_MASK: Final = 0xFFFF_FFFF
_NONE: Final = -1


@final
class EventStream(EventSource):
    """Splits the bytes that the server sends after a dump command.

    Give it bytes with `feed`, call `next_event` until it returns None, and repeat unless there is
    an `end`. The call that returns None matters: it copies the beginning of an incomplete event out
    of the bytes, so that their memory is freed.

    Memory: the bytes fed last, and twice the largest event while its pieces are joined.
    """

    __slots__ = (
        "_continues",
        "_data",
        "_leading_byte",
        "_missing",
        "_next_number",
        "_pieces",
        "_pieces_bytes",
        "_server_name",
        "_start",
        "end",
    )

    def __init__(self, server_name: str) -> None:
        """Start after the dump command, whose packet had the number 0.

        `server_name` names the server in errors.
        """
        self.end: responses.ErrPacket | responses.EofPacket | None = (
            None  # the server's message instead of an event
        )
        self._server_name = server_name
        self._data = b""
        self._start: i64 = 0  # first byte of the data that is not consumed
        self._next_number: i64 = 1
        # The current payload, if it did not lie in the data as a whole.
        self._leading_byte: i64 = _NONE
        self._pieces: list[bytes] = []
        self._pieces_bytes: i64 = 0
        self._missing: i64 = 0  # bytes of the current packet that are not in `_pieces` yet
        self._continues = False  # whether another packet follows the current one

    def feed(self, data: bytes) -> None:
        """Add bytes to those that `next_event` has not used yet."""
        # Once `next_event` has returned None, at most four bytes are left: a packet's header.
        rest = self._data[self._start :]
        self._data = rest + data if rest else data
        self._start = 0

    def next_event(self) -> bytes | None:
        """Return the next event without its leading OK byte.

        Returns None if the bytes so far do not complete an event, and at the `end`. Raises
        ProtocolError if the bytes cannot be a dump.
        """
        data = self._data
        start = self._start
        available: i64 = len(data)
        if self._leading_byte == _NONE and available - start > _HEADER_LENGTH:
            # Nearly every event: one packet, whole in the data, copied once.
            word = i64(read_i32_le(data, start)) & _WORD_MASK
            length = word & _PACKET_LENGTH_MAX
            payload = start + _HEADER_LENGTH
            end = payload + length
            if (
                end <= available
                and 0 < length < _PACKET_LENGTH_MAX
                and word >> _NUMBER_SHIFT == self._next_number
                and data[payload] == responses.OK
            ):
                self._next_number = (self._next_number + 1) & _NUMBER_MASK
                self._start = end
                return data[payload + 1 : end]
        return self._next_in_pieces()

    def restart_numbers(self) -> None:
        """Expect number 1 in the next packet, as it is after a semi-synchronous event."""
        self._next_number = 1

    def _next_in_pieces(self) -> bytes | None:
        while self._leading_byte == _NONE or self._missing != 0 or self._continues:
            if self._missing == 0 and not self._open_packet():
                return None
            self._take_piece()
            if self._missing != 0:
                return None
        leading_byte = self._leading_byte
        payload = b"".join(self._pieces)
        self._leading_byte = _NONE
        self._pieces.clear()
        self._pieces_bytes = 0
        if leading_byte == responses.OK:
            return payload
        self._end_with(leading_byte, PayloadReader(payload))
        return None

    def _end_with(self, leading_byte: i64, payload: PayloadReader) -> None:
        try:
            if leading_byte == responses.ERR:
                self.end = responses.ErrPacket.decode(payload)
            else:
                self.end = responses.EofPacket.decode(payload)
        except DecodeError as error:
            raise self._refusal(dump_errors.STREAM_UNREADABLE, why=error) from error

    def _open_packet(self) -> bool:
        """Read a packet's header and a payload's first byte; return False if bytes are missing."""
        data = self._data
        start = self._start
        available = len(data) - start
        if available < _HEADER_LENGTH:
            return False
        word = i64(read_i32_le(data, start)) & _WORD_MASK
        length = word & _PACKET_LENGTH_MAX
        number = word >> _NUMBER_SHIFT
        start += _HEADER_LENGTH
        if self._leading_byte == _NONE:
            if length == 0:
                raise self._refusal(dump_errors.STREAM_EMPTY_PACKET)
            if available == _HEADER_LENGTH:
                return False
            leading_byte: i64 = data[start]
            self._check_leading_byte(leading_byte, length)
            # MariaDB numbers the error of a shutdown from 0, because it answers no command.
            if number != 0 or leading_byte != responses.ERR:
                self._check_number(number)
            self._leading_byte = leading_byte
            self._missing = length - 1
            self._start = start + 1
        else:
            self._check_number(number)
            self._missing = length
            self._start = start
        if self._pieces_bytes + self._missing > EVENT_BYTES_MAX:
            raise self._refusal(dump_errors.STREAM_EVENT_SIZE, limit=EVENT_BYTES_MAX)
        self._next_number = (self._next_number + 1) & _NUMBER_MASK
        self._continues = length == _PACKET_LENGTH_MAX
        return True

    def _check_number(self, number: i64) -> None:
        if number != self._next_number:
            raise self._refusal(dump_errors.STREAM_NUMBER, number=number, needed=self._next_number)

    def _take_piece(self) -> None:
        piece = self._data[self._start : self._start + self._missing]
        self._pieces.append(piece)
        self._pieces_bytes += len(piece)
        self._missing -= len(piece)
        self._start += len(piece)

    def _check_leading_byte(self, leading_byte: i64, length: i64) -> None:
        if leading_byte in (responses.OK, responses.ERR) or (
            leading_byte == responses.EOF and length <= responses.EOF_LENGTH_MAX
        ):
            return
        raise self._refusal(dump_errors.STREAM_FIRST_BYTE, length=length, first=leading_byte)

    def _refusal(self, code: ErrorCode, **facts: object) -> ProtocolError:
        return ProtocolError(code, server=self._server_name, **facts)

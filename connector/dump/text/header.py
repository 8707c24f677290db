"""The header of an event becomes the line that its summary ends.

::

    #190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3 	Xid = 581292
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i32_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.framing.checksum import CHECKSUM_LENGTH
from connector.codec.digits import put_uint

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.event import Event

_SPACE: Final = 32

# The same in each byte of a word.
_SIXES: Final = 0x0606_0606_0606_0606
_ONES: Final = 0x0101_0101_0101_0101
_ZEROS: Final = 0x3030_3030_3030_3030
# From the character after `9` to `a`.
_LETTERS: Final = 39


def short_date(timestamp: int) -> str:
    """Return `yymmdd hh:mm:ss` in UTC, the hour without a leading zero, as header lines have it."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return f"{moment:%y%m%d} {moment.hour:2d}:{moment:%M:%S}"


@final
class HeaderLine:
    """Writes the header lines of one log; what events of one second share is made once."""

    __slots__ = ("_server_id", "_start", "_timestamp")

    def __init__(self) -> None:
        """Begin before the first event."""
        self._timestamp: i64 = -1
        self._server_id: i64 = -1
        self._start = b""

    def put(self, event: Event, out: BytesWriter) -> None:
        """Append the line up to its summary."""
        header = event.header
        timestamp: i64 = header.timestamp
        server_id: i64 = header.server_id
        if timestamp != self._timestamp or server_id != self._server_id:
            self._timestamp = timestamp
            self._server_id = server_id
            text = f"#{short_date(timestamp)} server id {server_id}  end_log_pos "
            self._start = text.encode("ascii")
        out.write(self._start)
        # Before 5.0 the header has the start of the event.
        log_pos = header.log_pos
        put_uint(out, event.next_position if log_pos == event.position else log_pos)
        if event.checksummed:
            data = event.data
            out.write(b" CRC32 0x")
            _put_hex(out, i64(read_i32_le(data, len(data) - CHECKSUM_LENGTH)))
        out.append(u8(_SPACE))


def _put_hex(out: BytesWriter, value: i64) -> None:
    """Append the lowest 32 bits of a number as eight hexadecimal digits, the highest first."""
    # Each step halves the parts and swaps the halves: the highest digit comes into the lowest byte.
    word = value >> 16 & 0xFFFF | (value & 0xFFFF) << 32
    word = word >> 8 & 0x0000_00FF_0000_00FF | (word & 0x0000_00FF_0000_00FF) << 16
    word = word >> 4 & 0x000F_000F_000F_000F | (word & 0x000F_000F_000F_000F) << 8
    letters = (word + _SIXES) >> 4 & _ONES
    write_i64_le(out, word + _ZEROS + letters * _LETTERS)

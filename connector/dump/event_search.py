"""Searches the bytes of a damaged log for the position of the next event.

::

    │timestamp│type_code│server_id│event_size│log_pos│flags│ …                    │CRC32│
               is known            ends in    is this         of the event is right, or, without
                                   the file   its position    checksums, a header or the end follows

If no event states this position, bytes may have been lost or added. Then the search accepts an
event that is right in everything else. Headers of MariaDB inside a transaction may have `log_pos`
0, those of a relay log refer to other files, and in format v1 headers have none.
"""

from __future__ import annotations

import re
from os import SEEK_END
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

from connector.binlog.framing.checksum import (
    CHECKSUM_LENGTH,
    computed_format_checksum,
    stored_checksum,
)
from connector.binlog.framing.event_types import EventType
from connector.binlog.framing.header import HEADER_LENGTH, V1_HEADER_LENGTH
from connector.binlog.framing.version import SIZE_END, TYPE_OFFSET, BinlogVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPE_AND_SIZE = Struct("<4xB4xI")
_TYPE_TO_SIZE = 7  # bytes between the type code and the highest byte of the size
_LOG_POS = Struct("<13xI")
_WRAP = 1 << 32
_WINDOW_BYTES = 1024 * 1024
_TYPE_CODES = frozenset(event_type.value for event_type in EventType if event_type)
_TYPES = b"".join(re.escape(bytes((type_code,))) for type_code in sorted(_TYPE_CODES))


class EventSearch:
    """Looks for events in an open, seekable file."""

    def __init__(self, log: BinaryIO, version: BinlogVersion) -> None:
        """Search `log`, a binlog of this format."""
        self.end = log.seek(0, SEEK_END)
        self.checksums = False  # whether each event ends in a checksum
        self._log = log
        self._version = version
        v1 = version is BinlogVersion.V1
        self.header_length = V1_HEADER_LENGTH if v1 else HEADER_LENGTH

    def read(self, position: int, length: int) -> bytes:
        """Return at most `length` bytes, as many as exist."""
        self._log.seek(position)
        return self._log.read(length)

    def size_at(self, position: int) -> int | None:
        """Return the size of the event at `position`, None if no event is certain there."""
        header = self.read(position, self.header_length)
        if not self._is_event(header, position, placed=self._version is not BinlogVersion.V1):
            return None
        return int(_TYPE_AND_SIZE.unpack_from(header)[1])

    def first_after(self, position: int) -> int:
        """Return the start of the first event after `position`; the file's end without one."""
        for placed in (True, False):
            for candidate, header in self._candidates(position + 1):
                if self._is_event(header, candidate, placed=placed):
                    return candidate
        return self.end

    def _candidates(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield every position where a header is possible, with the header."""
        length = self.header_length
        # No size exceeds the rest of the file: in most files its highest byte has one value only.
        highest = re.escape(bytes((min(self.end - start, _WRAP - 1) >> 24,)))
        pattern = re.compile(
            rb"(?=.{%d}[%s].{%d}[\x00-%s].{%d})"
            % (TYPE_OFFSET, _TYPES, _TYPE_TO_SIZE, highest, length - SIZE_END),
            re.DOTALL,
        )
        while start + length <= self.end:
            window = self.read(start, _WINDOW_BYTES)
            for match in pattern.finditer(window):
                offset = match.start()
                yield start + offset, window[offset : offset + length]
            start += len(window) - length + 1

    def _is_event(self, header: bytes, position: int, *, placed: bool) -> bool:
        if not self._fits(header, position):
            return False
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        if placed and not self._ends_where_it_says(header, position, size):
            return False
        if self.checksums:
            return self._checksum_is_right(type_code, position, size)
        following = position + size
        if following == self.end:
            return True
        next_header = self.read(following, self.header_length)
        return self._fits(next_header, following) and (placed or self._follows(header, next_header))

    def _fits(self, header: bytes, position: int) -> bool:
        if len(header) < self.header_length:
            return False
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        return type_code in _TYPE_CODES and self.header_length <= size <= self.end - position

    def _ends_where_it_says(self, header: bytes, position: int, size: int) -> bool:
        if self._version is BinlogVersion.V1:
            return False
        (log_pos,) = _LOG_POS.unpack_from(header)
        if self._version is not BinlogVersion.V4:
            # Up to v3, log_pos is the start of the event.
            return bool(log_pos == position % _WRAP)
        return log_pos == (position + size) % _WRAP or (log_pos == 0 and self.checksums)

    def _follows(self, header: bytes, next_header: bytes) -> bool:
        """Return whether the positions in two headers are consecutive."""
        if self._version is BinlogVersion.V1:
            return True
        (log_pos,) = _LOG_POS.unpack_from(header)
        (next_log_pos,) = _LOG_POS.unpack_from(next_header)
        between = next_header if self._version is BinlogVersion.V4 else header
        _, size = _TYPE_AND_SIZE.unpack_from(between)
        return bool((next_log_pos - log_pos) % _WRAP == size)

    def _checksum_is_right(self, type_code: int, position: int, size: int) -> bool:
        left = size - CHECKSUM_LENGTH
        if left < self.header_length:
            return False
        if type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            data = self.read(position, size)
            return computed_format_checksum(data) == stored_checksum(data)
        self._log.seek(position)
        checksum = 0
        while left:
            chunk = self._log.read(min(left, _WINDOW_BYTES))
            checksum = crc32(chunk, checksum)
            left -= len(chunk)
        return checksum == int.from_bytes(self._log.read(CHECKSUM_LENGTH), "little")

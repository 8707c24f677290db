"""A damaged log becomes the events that can be read, and the gaps between them.

Behind bytes that are no event, the next event is searched for: the first place where a header fits.

::

    │timestamp│type_code│server_id│event_size│log_pos│flags│ …                    │CRC32│
               is known            ends in    is this         of the event is right, or, without
                                   the file   place           checksums, a header or the end follows

A header of MariaDB inside a transaction may leave `log_pos` 0, those of a relay log speak of other
files, and in format v1 they have none: there the rest must do.

What an event needs from before a gap is not taken from there, but for the format description: rows
whose table map was lost are a gap of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import SEEK_END
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

from connector.binlog.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_format_checksum,
    stored_checksum,
)
from connector.binlog.control_events import FormatDescriptionEvent
from connector.binlog.decoder import EventDecoder
from connector.binlog.event_types import EventType, event_name
from connector.binlog.header import HEADER_LENGTH, V1_HEADER_LENGTH
from connector.binlog.log_place import FIRST_POSITION
from connector.binlog.version import BinlogVersion, detect_version
from connector.errors import EventError, LogTruncated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event

_TYPE_OFFSET = 4
_TYPE_AND_SIZE = Struct("<4xB4xI")
_LOG_POS = Struct("<13xI")
_WRAP = 1 << 32
_UINT32_MAX = _WRAP - 1
_WINDOW_BYTES = 1024 * 1024
_TYPE_CODES = frozenset(event_type.value for event_type in EventType if event_type)
_TYPES = b"".join(re.escape(bytes((type_code,))) for type_code in sorted(_TYPE_CODES))
# Of the first event, to tell the format by.
_FIRST_EVENT_BYTES = 21


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a log that cannot be read."""

    file: str
    start: int
    end: int  # where the next event starts, or the file ends
    reason: str

    def __str__(self) -> str:
        """Return what is missing, and why."""
        return (
            f"{self.file}: nothing could be read from {self.start} to {self.end} "
            f"({self.end - self.start} bytes): {self.reason}"
        )


class LogRecovery:
    """One pass over one log, from an open seekable file."""

    def __init__(self, log: BinaryIO, file: str, *, verify_checksum: bool = True) -> None:
        """Read `log`, behind whose magic number the events start; `file` is how it is called.

        Raises LogTruncated when it has no first event.
        """
        self._log = log
        self._file = file
        self._verify_checksum = verify_checksum
        self._end = log.seek(0, SEEK_END)
        first = self._read(FIRST_POSITION, _FIRST_EVENT_BYTES)
        if len(first) < _FIRST_EVENT_BYTES:
            raise LogTruncated(file, FIRST_POSITION, _FIRST_EVENT_BYTES, len(first))
        self._version = detect_version(first)
        v1 = self._version is BinlogVersion.V1
        self._header_length = V1_HEADER_LENGTH if v1 else HEADER_LENGTH
        self._headers_have_places = not v1
        # The event that describes what follows it, and whether checksums do.
        self._description = b""
        self._checksums = False

    def events(self, start_position: int = FIRST_POSITION) -> Iterator[Event | Gap]:
        """Yield what can be read: the first event, and what is at `start_position` or behind it.

        Raises LogTruncated at the end of a file that ends inside an event, and LogRefused where
        the log is encrypted.
        """
        position = FIRST_POSITION
        decoder = self._decoder_at(position)
        while position < self._end:
            try:
                data = self._event_data(position)
                event = decoder.decode(data)
            except LogTruncated:
                following = self._search(position + 1)
                if following == self._end:
                    raise
                yield Gap(self._file, position, following, "no event has the length that is said")
                decoder = self._decoder_at(following)
            except EventError as error:
                following = self._behind(position)
                yield Gap(self._file, position, following, f"{error.event_name}: {error.reason}")
                decoder = self._decoder_at(following)
            else:
                if isinstance(event.body, FormatDescriptionEvent):
                    self._description = data
                    algorithm = event.body.checksum_algorithm
                    self._checksums = algorithm is ChecksumAlgorithm.CRC32
                header = event.header
                if header.log_pos not in (0, self._log_pos_of(position, header.event_size)):
                    # As in a relay log.
                    self._headers_have_places = False
                yield event
                following = event.next_position
                if following < start_position:
                    following = start_position
                    decoder = self._decoder_at(following)
            position = following

    def _decoder_at(self, position: int) -> EventDecoder:
        """Return a decoder that knows the format, and nothing else from before `position`."""
        decoder = EventDecoder(
            file=self._file,
            position=position - len(self._description),
            version=self._version,
            verify_checksum=self._verify_checksum,
            counted=True,
        )
        if self._description:
            decoder.decode(self._description)
        return decoder

    def _event_data(self, position: int) -> bytes:
        header = self._read(position, self._header_length)
        if len(header) < self._header_length:
            raise LogTruncated(self._file, position, self._header_length, len(header))
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        if size < self._header_length:
            reason = f"its header says {size} bytes, but has {self._header_length} itself"
            raise EventError(self._file, position, event_name(type_code), reason)
        if size > self._end - position:
            raise LogTruncated(self._file, position, size, self._end - position)
        return self._read(position, size)

    def _behind(self, position: int) -> int:
        """Return where the event follows that is behind the unreadable one at `position`."""
        header = self._read(position, self._header_length)
        if self._is_event(header, position):
            # Framed well, and only its body is of no use.
            return position + int(_TYPE_AND_SIZE.unpack_from(header)[1])
        return self._search(position + 1)

    def _search(self, start: int) -> int:
        """Return where the first event at or behind `start` is; the file's end without one."""
        while start + self._header_length <= self._end:
            window = self._read(start, _WINDOW_BYTES)
            for match in self._candidates(start).finditer(window):
                position = start + match.start()
                header = window[match.start() : match.start() + self._header_length]
                if self._is_event(header, position):
                    return position
            start += len(window) - self._header_length + 1
        return self._end

    def _candidates(self, start: int) -> re.Pattern[bytes]:
        """Return what finds every header of a known type that ends its event in the file."""
        highest = re.escape(bytes((min(self._end - start, _UINT32_MAX) >> 24,)))
        rest = self._header_length - 13
        return re.compile(rb"(?=.{4}[%s].{7}[\x00-%s].{%d})" % (_TYPES, highest, rest), re.DOTALL)

    def _is_event(self, header: bytes, position: int) -> bool:
        """Return whether the bytes at `position` are an event, as far as can be told."""
        if not self._fits(header, position):
            return False
        _, size = _TYPE_AND_SIZE.unpack_from(header)
        placed = self._says_its_place(header, position, size)
        if self._checksums:
            zero = self._version is BinlogVersion.V4 and not _LOG_POS.unpack_from(header)[0]
            return (placed or zero) and self._checksum_is_right(header, position, size)
        following = position + size
        return placed and (
            following == self._end
            or self._fits(self._read(following, self._header_length), following)
        )

    def _fits(self, header: bytes, position: int) -> bool:
        if len(header) < self._header_length:
            return False
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        return type_code in _TYPE_CODES and self._header_length <= size <= self._end - position

    def _says_its_place(self, header: bytes, position: int, size: int) -> bool:
        if not self._headers_have_places:
            return True
        (log_pos,) = _LOG_POS.unpack_from(header)
        return bool(log_pos == self._log_pos_of(position, size))

    def _log_pos_of(self, position: int, size: int) -> int:
        # Up to v3 it is the start of the event.
        end = position + size if self._version is BinlogVersion.V4 else position
        return end % _WRAP

    def _checksum_is_right(self, header: bytes, position: int, size: int) -> bool:
        left = size - CHECKSUM_LENGTH
        if left < self._header_length:
            return False
        if header[_TYPE_OFFSET] == EventType.FORMAT_DESCRIPTION_EVENT:
            data = self._read(position, size)
            return computed_format_checksum(data) == stored_checksum(data)
        self._log.seek(position)
        checksum = 0
        while left:
            chunk = self._log.read(min(left, _WINDOW_BYTES))
            checksum = crc32(chunk, checksum)
            left -= len(chunk)
        return checksum == int.from_bytes(self._log.read(CHECKSUM_LENGTH), "little")

    def _read(self, position: int, length: int) -> bytes:
        self._log.seek(position)
        return self._log.read(length)

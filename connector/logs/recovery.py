"""The readable events of a damaged log, and the gaps between them.

After a gap, only the format description is kept from the events before it: rows whose table map was
lost are another gap. `EventSearch` finds the next event in the bytes after the damage::

    │timestamp│type_code│server_id│event_size│log_pos│flags│ …                    │CRC32│
               is known            ends in    is this         of the event is right, or, without
                                   the file   its position    checksums, a header or the end follows

If no event states this position, bytes may have been lost or added. Then the search accepts an
event that is right in everything else. Headers of MariaDB inside a transaction may have `log_pos`
0, headers of a relay log refer to other files, and in format v1 headers have no `log_pos`.

Values, such as arrays of small integers, look like headers of large events again and again. So that
a search takes linear time, it computes large checksums only as far as it has advanced: it may pass
over an event among such bytes, but none that states its position.
"""

import re
from collections.abc import Callable, Iterator
from os import SEEK_END
from struct import Struct
from typing import BinaryIO, NamedTuple
from zlib import crc32

from connector.binlog import log_errors
from connector.binlog.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_format_checksum,
    stored_checksum,
)
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.header import (
    FIRST_POSITION,
    HEADER_LENGTH,
    SIZE_END,
    SIZE_OFFSET,
    TYPE_OFFSET,
    V1_HEADER_LENGTH,
    BinlogVersion,
    EventType,
    detect_version,
    event_name,
)
from connector.binlog.log_errors import EventError, LogTruncated
from connector.foundation.errors import ConnectorError, DecodeError

# Bytes of the first event that show the format.
_FIRST_EVENT_BYTES = 21
_SIZE = slice(SIZE_OFFSET, SIZE_END)
_WRAP = 1 << 32


class Gap(NamedTuple):
    """Bytes of a log that cannot be read."""

    file: str
    start: int
    end: int  # where the next event starts, or the file ends
    why: ConnectorError

    @property
    def error(self) -> DecodeError:
        """The error that says which bytes are missing, and why."""
        return DecodeError(
            log_errors.GAP,
            file=self.file,
            start=self.start,
            end=self.end,
            size=self.end - self.start,
            why=self.why,
        )


class LogRecovery:
    """One pass over one log, from an open seekable file."""

    def __init__(self, log: BinaryIO, file: str, *, verify_checksum: bool = True) -> None:
        """Read `log`, whose events start after its magic number; `file` is its name.

        Raises LogTruncated if it has no first event.
        """
        log.seek(FIRST_POSITION)
        first = log.read(_FIRST_EVENT_BYTES)
        if len(first) < _FIRST_EVENT_BYTES:
            raise LogTruncated(file, FIRST_POSITION, _FIRST_EVENT_BYTES, len(first))
        self._file = file
        self._verify_checksum = verify_checksum
        self._version = detect_version(first)
        self._search = EventSearch(log, self._version)
        self._description = b""  # the event that describes the events after it
        self._ends_are_known = False  # by the headers; checksums are more certain

    def events(self, start_position: int = FIRST_POSITION) -> Iterator[Event | Gap]:
        """Yield the readable events, the first one and those from `start_position` on, and gaps.

        Raises LogTruncated at the end of a file that ends inside an event, LogRefused if the log is
        encrypted, and any of these or EventError for the first event.
        """
        position = FIRST_POSITION
        decoder = self._decoder_at(position)
        while position < self._search.end:
            try:
                data = self._event_data(position)
                event = decoder.decode(data)
                self._check_end(event)
            except LogTruncated as error:
                following = self._search.first_after(position)
                if following == self._search.end or position == FIRST_POSITION:
                    raise
                why = DecodeError(log_errors.GAP_TOO_SHORT, size=error.needed)
                yield Gap(self._file, position, following, why)
                decoder = self._decoder_after_gap(following)
            except EventError as error:
                if position == FIRST_POSITION:
                    # Without the format, everything after it would be gaps.
                    raise
                following = self._after_unreadable(position)
                why = DecodeError(log_errors.GAP_EVENT, event=error.event_name, why=error.reason)
                yield Gap(self._file, position, following, why)
                decoder = self._decoder_after_gap(following)
            else:
                if isinstance(event.body, FormatDescriptionEvent):
                    self._describe(event, event.body)
                yield event
                following = event.next_position
                if following < start_position:
                    following = start_position
                    decoder = self._decoder_at(following)
            position = following

    def _check_end(self, event: Event) -> None:
        """Refuse an event without checksum that does not end where its header says."""
        if not self._ends_are_known or isinstance(event.body, FormatDescriptionEvent):
            # The format description of a relay log is followed by that of the source.
            return
        log_pos = event.header.log_pos
        if log_pos not in (0, event.next_position % _WRAP):
            name = event_name(event.header.type_code)
            raise EventError(
                self._file,
                event.position,
                name,
                DecodeError(log_errors.END_DIFFERS, said=log_pos, found=event.next_position),
            )

    def _describe(self, event: Event, body: FormatDescriptionEvent) -> None:
        self._description = event.data
        checksums = body.checksum_algorithm is ChecksumAlgorithm.CRC32
        self._search.checksums = checksums
        # Not in a relay log, whose headers refer to other files.
        agrees = event.header.log_pos == event.next_position
        self._ends_are_known = agrees and not checksums

    def _decoder_after_gap(self, position: int) -> EventDecoder:
        if self._search.size_at(position) is None:
            # Bytes were lost or added: from here on headers state the original positions.
            self._ends_are_known = False
        return self._decoder_at(position)

    def _decoder_at(self, position: int) -> EventDecoder:
        """Return a decoder that knows only the format from before `position`."""
        decoder = EventDecoder(
            file=self._file,
            version=self._version,
            verify_checksum=self._verify_checksum,
            counted=True,
        )
        if self._description:
            decoder.decode(self._description)
        decoder.seek(position)
        return decoder

    def _event_data(self, position: int) -> bytes:
        length = self._search.header_length
        header = self._search.read(position, length)
        if len(header) < length:
            raise LogTruncated(self._file, position, length, len(header))
        size = int.from_bytes(header[_SIZE], "little")
        if size < length:
            raise EventError(
                self._file,
                position,
                event_name(header[TYPE_OFFSET]),
                DecodeError(log_errors.SIZE_BELOW_HEADER, size=size, header=length),
            )
        left = self._search.end - position
        if size > left:
            raise LogTruncated(self._file, position, size, left)
        return self._search.read(position, size)

    def _after_unreadable(self, position: int) -> int:
        """Return the start of the event that follows the unreadable one at `position`."""
        size = self._search.size_at(position)
        if size is not None:
            # The header and size are right, and only the body is damaged.
            return position + size
        return self._search.first_after(position)


_TYPE_AND_SIZE = Struct("<4xB4xI")
_TYPE_TO_SIZE = 7  # bytes between the type code and the highest byte of the size
_LOG_POS = Struct("<13xI")
_FIRST_WINDOW_BYTES = 4 * 1024
_WINDOW_BYTES = 1024 * 1024
# The checksum of an event up to this size takes no longer than to look at its header.
_SMALL_EVENT_BYTES = 4 * 1024
# Bytes of larger events whose checksum may be computed for each byte that was searched.
_CHECKSUM_BYTES = 4
# Headers that must be possible after an event, unless the file ends before.
_FOLLOWING = 2
_TYPE_CODES = frozenset(event_type.value for event_type in EventType if event_type)
_TYPES = b"".join(re.escape(bytes((type_code,))) for type_code in sorted(_TYPE_CODES))


class EventSearch:
    """Looks for events in an open, seekable file."""

    def __init__(self, log: BinaryIO, version: BinlogVersion) -> None:
        """Search `log`, a binlog of this format."""
        self.end = log.seek(0, SEEK_END)
        self.checksums = False  # whether each event ends in a checksum
        # The latest search for an event that states its position: where it began, what it found,
        # and `checksums`. In a log whose headers do not, it reads to the end.
        self._placed = (0, -1, False)
        # Bytes whose checksums may be computed at positions that no header states.
        self._credit = self.end
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
        placed = self._version is not BinlogVersion.V1
        if not self._fits(header, position, placed) or not self._is_right(header, position, placed):
            return None
        return int(_TYPE_AND_SIZE.unpack_from(header)[1])

    def first_after(self, position: int) -> int:
        """Return the start of the first event after `position`; the file's end without one."""
        start = position + 1
        searched, found, checksums = self._placed
        if not searched <= start <= found or checksums != self.checksums:
            found = self._first(start, lambda header, at: self._is_event(header, at, placed=True))
            self._placed = (start, found, self.checksums)
        return found if found < self.end else self._first_unplaced(start)

    def _first_unplaced(self, start: int) -> int:
        """Return the first event from `start` on, wherever it says that it is."""
        if not self.checksums:
            return self._first(start, lambda header, at: self._is_event(header, at, placed=False))
        # Bytes of a value look like the header of a large event again and again. What follows it is
        # looked at before its checksum is computed; other events lie before one that is certain.
        certain = self._first(
            start,
            lambda header, at: (
                self._is_followed(header, at) and self._is_event(header, at, placed=False)
            ),
        )
        first = self._first(
            start,
            lambda header, at: (
                at >= certain
                or (
                    at + _TYPE_AND_SIZE.unpack_from(header)[1] <= certain
                    and self._is_event(header, at, placed=False)
                )
            ),
        )
        return min(first, certain)

    def _first(self, start: int, matches: Callable[[bytes, int], bool]) -> int:
        """Return the first possible position from `start` on that matches, else the file's end."""
        searched = start
        for candidate, header in self._candidates(start):
            self._credit += _CHECKSUM_BYTES * (candidate - searched)
            searched = candidate
            if matches(header, candidate):
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
        # The next event is near in most cases.
        size = _FIRST_WINDOW_BYTES
        while start + length <= self.end:
            window = self.read(start, size)
            size = min(2 * size, _WINDOW_BYTES)
            for match in pattern.finditer(window):
                offset = match.start()
                yield start + offset, window[offset : offset + length]
            start += len(window) - length + 1

    def _is_event(self, header: bytes, position: int, *, placed: bool) -> bool:
        return (
            self._fits(header, position, placed)
            and (not self.checksums or self._is_affordable(header, position))
            and self._is_right(header, position, placed)
        )

    def _is_affordable(self, header: bytes, position: int) -> bool:
        """Take the size of an event from the credit; return False if it is too large for it."""
        _, size = _TYPE_AND_SIZE.unpack_from(header)
        if size <= _SMALL_EVENT_BYTES or self._states(header, position, size):
            return True
        if size > self._credit:
            return False
        self._credit -= size
        return True

    def _is_right(self, header: bytes, position: int, placed: bool) -> bool:
        """Return whether the checksum of an event, or without one what follows it, is right."""
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        if self.checksums:
            return self._checksum_is_right(type_code, position, size)
        following = position + size
        if following == self.end:
            return True
        next_header = self.read(following, self.header_length)
        return self._fits(next_header, following) and (placed or self._follows(header, next_header))

    def _is_followed(self, header: bytes, position: int) -> bool:
        """Return whether an event at `position` would be followed by others, or by the end."""
        for _ in range(_FOLLOWING):
            if not self._fits(header, position):
                return False
            position += _TYPE_AND_SIZE.unpack_from(header)[1]
            if position == self.end:
                return True
            header = self.read(position, self.header_length)
        return self._fits(header, position)

    def _fits(self, header: bytes, position: int, placed: bool = False) -> bool:
        if len(header) < self.header_length:
            return False
        type_code, size = _TYPE_AND_SIZE.unpack_from(header)
        if type_code not in _TYPE_CODES or not self.header_length <= size <= self.end - position:
            return False
        return not placed or self._may_be_at(header, position, size)

    def _may_be_at(self, header: bytes, position: int, size: int) -> bool:
        """Return whether the header states this position, or none."""
        if self._states(header, position, size):
            return True
        if self._version is not BinlogVersion.V4 or not self.checksums:
            return False
        (log_pos,) = _LOG_POS.unpack_from(header)
        return bool(log_pos == 0)

    def _states(self, header: bytes, position: int, size: int) -> bool:
        """Return whether the header of an event states its position."""
        if self._version is BinlogVersion.V1:
            return False
        (log_pos,) = _LOG_POS.unpack_from(header)
        # Up to v3, log_pos is the start of the event.
        end = position + size if self._version is BinlogVersion.V4 else position
        return bool(log_pos == end % _WRAP)

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

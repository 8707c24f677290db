"""The readable events of a damaged log, and the gaps between them.

After a gap, only the format description is kept from the events before it: rows whose table map was
lost are another gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.framing.checksum import ChecksumAlgorithm
from connector.binlog.framing.event_types import event_name
from connector.binlog.framing.log_position import FIRST_POSITION
from connector.binlog.framing.version import SIZE_END, SIZE_OFFSET, TYPE_OFFSET, detect_version
from connector.errors import DecodeError, EventError, LogTruncated, log_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.errors import ConnectorError

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
            log_files.GAP,
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
        from connector.dump.event_search import EventSearch  # noqa: PLC0415  # rarely needed

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
                why = DecodeError(log_files.GAP_TOO_SHORT, size=error.needed)
                yield Gap(self._file, position, following, why)
                decoder = self._decoder_after_gap(following)
            except EventError as error:
                if position == FIRST_POSITION:
                    # Without the format, everything after it would be gaps.
                    raise
                following = self._after_unreadable(position)
                why = DecodeError(log_files.GAP_EVENT, event=error.event_name, why=error.reason)
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
                DecodeError(log_files.END_DIFFERS, said=log_pos, found=event.next_position),
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
                DecodeError(log_files.SIZE_BELOW_HEADER, size=size, header=length),
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

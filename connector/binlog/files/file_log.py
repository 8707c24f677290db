"""One file becomes its events, from its start or from a position inside of it.

To start at a position, the reader needs the events that describe the file: its format, and in a
relay log also that of the source. They come first in the file, so they are read, and all other
events before the position are skipped.
"""

from collections import deque
from pathlib import Path
from typing import Final, final

from mypy_extensions import i64

from connector.binlog import argument_errors, log_errors
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.control import RotateEvent, StartEncryptionEvent
from connector.binlog.events.format_description import (
    FormatDescriptionEvent,
    StartEventV3,
    format_before_description,
)
from connector.binlog.events.mariadb import BinlogCheckpointEvent, MariadbGtidListEvent
from connector.binlog.events.transaction import PreviousGtidsEvent
from connector.binlog.files import byte_source
from connector.binlog.files.event_frames import EventBlock, EventFrames, GroupFilter
from connector.binlog.header import (
    FIRST_POSITION,
    FORMAT_DESCRIPTION,
    PREVIOUS_GTIDS,
    TABLE_MAP,
    XID,
    BinlogVersion,
)
from connector.binlog.log_errors import EventError, LogTruncated
from connector.foundation.errors import ConfigError, DecodeError

# These describe the log; one may follow another.
_START_EVENTS = (FormatDescriptionEvent, StartEventV3)
_PREAMBLE = (
    *_START_EVENTS,
    BinlogCheckpointEvent,
    MariadbGtidListEvent,
    PreviousGtidsEvent,
    RotateEvent,
    StartEncryptionEvent,
)
_POSITION_MASK: Final = 0xFFFF_FFFF


@final
class FileLog:
    """Reads one file; the events that describe it come first, wherever reading starts."""

    def __init__(self, source: byte_source.LogSource, options: byte_source.FileOptions) -> None:
        """Open `source` and read what describes it.

        Raises OSError for a path that cannot be opened, LogRefused for a file that is not a
        supported log, LogTruncated without one whole event, EventError for an event that cannot
        be read, ConfigError for a start position that is not in the log.
        """
        passes_over = options.tables is not None
        step_length = byte_source.LONG_STEP_LENGTH if passes_over else byte_source.STEP_LENGTH
        self._source = byte_source.ByteSource(source, options.name, step_length)
        self._start_position = options.start_position
        self._read: deque[Event] = deque()  # already, to come from `next_event` first
        self._has_read = True  # whether there are such events
        # After the start position until the first table map: what fails there, fails for it.
        self._sought = False
        # Whether it was checked that an event starts there.
        self._start_is_certain = False
        try:
            self._frames = EventFrames(self._source)
            first = self._first_event()
            self.version: BinlogVersion = self._frames.version or BinlogVersion.V4
            self._decoder = EventDecoder(
                file=self.name,
                version=self.version,
                verify_checksum=options.verify_checksum,
                counted=True,
            )
            self._others = None if options.tables is None else GroupFilter(options.tables)
            # Whether no transaction is open after the last event.
            self._is_between = False
            # Events before it are those of whole groups that change the wanted tables alone.
            self.wanted_to: int = 0
            self._has_usual_layout = False
            self.format: FormatDescriptionEvent = format_before_description(self.version)
            # Whether headers refer to this file; those of a relay log may refer to the source's.
            self._places_are_certain = True
            event = self._decode(first)
            self._read.append(event)
            if self._start_position != FIRST_POSITION:
                self._seek(event)
        except BaseException:
            self._source.close()
            raise

    @property
    def name(self) -> str:
        """The file's name without its folder and without the suffix of its compression."""
        return self._source.name

    @property
    def path(self) -> Path | None:
        """The path of the file, if it is known."""
        return self._source.path

    @property
    def is_gone(self) -> bool:
        """Whether the path now leads to another file, or to none."""
        return self._source.is_gone

    @property
    def compression(self) -> str | None:
        """`gzip`, `zstd`, or None."""
        return self._source.compression

    @property
    def position(self) -> int:
        """Where the next event starts."""
        return self._read[0].position if self._read else self._frames.position

    def next_event(self) -> Event | None:
        """Return the next event, None at the end of the file.

        Raises LogTruncated if the file ends inside of an event, EventError for an event that
        cannot be read, LogRefused at an event that starts encryption. After None and LogTruncated,
        repeat the call when the file has grown.
        """
        if self._has_read:
            event = self._read.popleft()
            self._has_read = len(self._read) > 0
            return event
        try:
            if self.read_on():
                self._pass_over_others()
            data = self._frames.next_event()
            return None if data is None else self._decode(data)
        except EventError as error:
            if not self._sought:
                raise
            if error.position == self._start_position:
                self._require_start()
            raise self._advised(error) from error
        except LogTruncated as error:
            if self._sought and error.position == self._start_position:
                self._require_start()
            raise

    def received_event(self) -> Event | None:
        """Return the next event if the file need not be read for it, else None.

        Its body may be decoded at its first use, if this is certain to succeed. Raises what
        `next_event` does.
        """
        event = self.opened_event()
        # An event that cannot be read must not be returned.
        if event is not None and not event.is_readable:
            _ = event.body
        return event

    def opened_event(self) -> Event | None:
        """Return the next event as `received_event` does; its body is decoded at its first use.

        That may raise EventError.
        """
        if self._sought or self._has_read:
            return None
        if self._is_between:
            self._pass_over_others()
            if self._may_be_cut():
                return None
        data = self._frames.received_event()
        if data is None:
            return None
        event = self._decoder.open(data, intact=self._frames.intact)
        self._note(event)
        return event

    def received(self) -> EventBlock | None:
        """Return the bytes of the next events, if they are whole, intact, and of the usual layout.

        Each ends in `trailer` bytes of a checksum.
        """
        if self._has_read or self._sought or not self._has_usual_layout:
            return None
        return self._frames.received()

    def received_wanted(self) -> EventBlock | None:
        """Return the bytes of the next groups that change the wanted tables alone.

        Between two groups; those of other tables are passed over. `received` says what the bytes
        are.
        """
        self._pass_over_others()
        events = self.received()
        if events is None:
            return None
        ahead: i64 = self.wanted_to - self.position
        end = events.start + ahead if ahead > 0 else events.start
        return EventBlock(events.data, events.start, end)

    def read_on(self) -> bool:
        """Read more if what was read ends inside of the next group; return whether this was done.

        Then the group can be passed over, too; else it has to be decoded.
        """
        if not self._is_between or self._has_read:
            return False
        self._pass_over_others()
        if not self._may_be_cut():
            return False
        self._frames.read_on()
        return True

    @property
    def trailer(self) -> i64:
        """Bytes after the body of each event."""
        return self._decoder.trailer

    def pass_over(self, end: i64) -> None:
        """Continue at `end` of the bytes that `received` returned."""
        self._frames.pass_over(end)
        self._decoder.seek(self._frames.position)

    def close(self) -> None:
        """Close the file if it was opened here."""
        self._source.close()

    def _first_event(self) -> bytes:
        data = self._frames.next_event()
        if data is None:
            raise LogTruncated(self.name, FIRST_POSITION, self._frames.header_length, 0)
        return data

    def _pass_over_others(self) -> None:
        events = self.received()
        if events is not None and self._others is not None:
            end = self._others.end_of(events, self.trailer)
            if end > events.start:
                self.pass_over(end)
            wanted = EventBlock(events.data, end, events.end)
            self.wanted_to = self.position + self._others.end_of_wanted(wanted, self.trailer) - end

    def _may_be_cut(self) -> bool:
        """Return whether the next group is not known, perhaps because more must be read for it."""
        return self.wanted_to <= self.position and self._frames.can_read_on()

    def _decode(self, data: bytes) -> Event:
        event = self._decoder.decode(data, intact=self._frames.intact)
        self._note(event)
        header = event.header
        if header.type_code == TABLE_MAP:
            self._sought = False
        if header.log_pos not in (0, event.next_position & _POSITION_MASK):
            if self._sought and self._places_are_certain and event.checksum is None:
                # Bytes that could be an event.
                raise EventError(
                    self.name,
                    event.position,
                    "an event header",
                    DecodeError(
                        log_errors.END_DIFFERS, said=header.log_pos, found=event.next_position
                    ),
                )
            self._places_are_certain = False
        return event

    def _note(self, event: Event) -> None:
        type_code = event.type_code
        if self._others is not None:
            self._is_between = type_code in (XID, PREVIOUS_GTIDS)
        if type_code == FORMAT_DESCRIPTION:
            body = event.body
            if isinstance(body, FormatDescriptionEvent):
                self.format = body
            self._frames.checksummed = self._decoder.verifies
            self._has_usual_layout = self._decoder.has_usual_layout()

    def _seek(self, event: Event) -> None:
        """Go to the start position, after the first `event` and others that describe the log."""
        start = self._start_position
        while event.next_position < start and isinstance(event.body, _PREAMBLE):
            data = self._frames.next_event()
            if data is None:
                break
            event = self._decode(data)
            if isinstance(event.body, _START_EVENTS):
                self._read.append(event)
        if event.position == start:
            if event is not self._read[-1]:
                self._read.append(event)
            return
        if start < FIRST_POSITION:
            raise ConfigError(
                argument_errors.START_BEFORE_FIRST,
                file=self.name,
                start=start,
                first=FIRST_POSITION,
            )
        if event.next_position > start:
            raise self._no_start(event.position, event.next_position)
        try:
            self._frames.skip_to(start)
        except LogTruncated as error:
            end = error.position + error.found
            raise ConfigError(
                argument_errors.START_AFTER_END, file=self.name, start=start, last=end
            ) from error
        self._decoder.seek(start)
        self._sought = True

    def _require_start(self) -> None:
        """Raise ConfigError if the file shows that no event starts at the start position.

        Unreadable bytes there may also be a damaged event; the sizes of the events before decide.
        """
        path = self.path
        if path is None or self._start_is_certain:
            return
        self._start_is_certain = True
        source = byte_source.ByteSource(path)
        try:
            frames = EventFrames(source)
            before = frames.position
            while frames.position < self._start_position:
                before = frames.position
                if frames.next_event() is None:
                    return
            if frames.position > self._start_position:
                raise self._no_start(before, frames.position)
        except (EventError, LogTruncated):
            # The log is damaged before that position, too, so nothing is certain.
            return
        finally:
            source.close()

    def _no_start(self, before: int, after: int) -> ConfigError:
        return ConfigError(
            argument_errors.START_INSIDE,
            file=self.name,
            start=self._start_position,
            first=before,
            last=after,
        )

    def _advised(self, error: EventError) -> EventError:
        why = DecodeError(log_errors.SEEKED_INTO, why=error.reason, start=self._start_position)
        return EventError(error.file, error.position, error.event_name, why)

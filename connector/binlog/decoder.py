"""Payloads become events: the entry point of this package.

The state that earlier events leave for later ones is the format description, the table maps of the
current statement, and the position in the log. No event is skipped or guessed: an event is decoded,
or its type is unknown and its sender flagged it as ignorable, or it is an error that names file,
position and event.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from collections import Counter
from typing import final

from mypy_extensions import i64

from connector.binlog import checksum, log_errors
from connector.binlog.body_decoder import BodyDecoder
from connector.binlog.event import Event
from connector.binlog.events import control
from connector.binlog.events.format_description import (
    FormatDescriptionEvent,
    format_before_description,
)
from connector.binlog.events.rows_header import ROWS_V1_HEADER_LENGTH, ROWS_V2_HEADER_LENGTH
from connector.binlog.events.table_map import TABLE_MAP_HEADER_LENGTH
from connector.binlog.header import (
    FIRST_POSITION,
    FORMAT_DESCRIPTION,
    HEADER_LENGTH,
    POSITION_MAX,
    ROTATE,
    START_ENCRYPTION,
    TABLE_MAP,
    TYPE_OFFSET,
    UNNAMED_LOG,
    V1_HEADER_LENGTH,
    BinlogVersion,
    EventHeader,
    EventType,
    PositionCounter,
    event_name,
)
from connector.binlog.log_errors import EventError, LogRefused
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


@final
class EventDecoder:
    """Decodes the events of one log, in order, from a file or from a server."""

    def __init__(
        self,
        *,
        file: str = "",
        position: int = FIRST_POSITION,
        version: BinlogVersion = BinlogVersion.V4,
        mariadb: bool | None = None,
        verify_checksum: bool = True,
        counted: bool = False,
    ) -> None:
        """Expect the next event at `position` of `file`.

        A server names both in its first event. `mariadb` is read from the format description
        unless it is given. With `counted`, for a file, each event starts at the end of the one
        before, and headers are ignored: those of a relay log refer to other files, and those of
        5.1 pre-releases are wrong. Formats before v4 are always counted.
        """
        self.ignored_events: Counter[int] = Counter()  # unknown events that were let pass, by type
        self.format_data = b""  # the last FORMAT_DESCRIPTION_EVENT as it came
        self._counter = PositionCounter(file, position)
        self._version = version
        self._counted = counted or version is not BinlogVersion.V4
        self._mariadb = mariadb
        self._verify_checksum = verify_checksum
        self._use_format(format_before_description(version))
        self._described = version is not BinlogVersion.V4
        self._encrypted: control.StartEncryptionEvent | None = None
        # Whether events of an intact run need no more checks.
        self._is_usual = False

    @property
    def log_position(self) -> PositionCounter:
        """Where the next event starts."""
        return self._counter

    @property
    def verifies(self) -> bool:
        """Whether the next events carry checksums that are verified."""
        return self._described and self._has_checksums and self._verify_checksum

    @property
    def trailer(self) -> i64:
        """Bytes after the body of each event."""
        return checksum.CHECKSUM_LENGTH if self._has_checksums else 0

    def has_usual_layout(self) -> bool:
        """Return whether headers, statements and rows are laid out as in all but old logs."""
        log = self._format
        return (
            self._described
            and self._version is BinlogVersion.V4
            and not self._header_rest
            and not self._renumbered
            and self._bodies.has_plain_queries
            and log.post_header_length(TABLE_MAP) == TABLE_MAP_HEADER_LENGTH
            # 0 or no length: the server writes no such events.
            and log.post_header_length(EventType.WRITE_ROWS_EVENT_V1) in (0, ROWS_V1_HEADER_LENGTH)
            and log.post_header_length(EventType.WRITE_ROWS_EVENT)
            in (None, 0, ROWS_V2_HEADER_LENGTH)
        )

    def seek(self, position: int) -> None:
        """Expect the next event at another position of the same log; its format stays known."""
        self._counter.position = position

    def decode(self, data: bytes, *, intact: bool = False) -> Event:
        """Decode one whole event in the form of a file: without the OK byte of the network.

        Raises EventError if it cannot be decoded, and LogRefused if the log is encrypted from
        here on. The decoder must not be used after an error.
        """
        event = self.open(data, intact=intact)
        _ = event.body
        return event

    def open(self, data: bytes, *, intact: bool = False) -> Event:
        """Take one whole event as `decode` does, but decode its body at the first use.

        The checksum of an `intact` event was verified before. State for later events is decoded
        here. Raises the errors of `decode`; those of a body that is decoded later come when it is
        used.
        """
        if (
            intact
            and self._is_usual
            and len(data) >= HEADER_LENGTH + checksum.CHECKSUM_LENGTH
            and data[TYPE_OFFSET] != FORMAT_DESCRIPTION
        ):
            return self._open_usual(data)
        return self._open_any(data, intact=intact)

    def _open_any(self, data: bytes, *, intact: bool) -> Event:
        counter = self._counter
        if self._encrypted is not None:
            raise LogRefused(
                log_errors.ENCRYPTED_FROM_HERE,
                counter.file or UNNAMED_LOG,
                version=self._encrypted.key_version,
            )
        position = counter.position
        type_code: i64 = -1
        try:
            reader = PayloadReader(data)
            header = EventHeader.decode(reader, self._version)
            if self._renumbered:
                header.type_code = self._renumbered.get(header.type_code, header.type_code)
            type_code = header.type_code
            # The checksum is verified first, because a damaged header can say anything.
            checksummed = self._verified(header, data, intact=intact)
            occupies = self._counted or self._occupies(header)
            if not self._counted:
                position = counter.start_of(header, occupies=occupies)
            next_position = position + header.event_size if occupies else position
            bodies = self._bodies
            event = Event(
                counter.file,
                position,
                next_position,
                header,
                None,
                data,
                checksummed=checksummed,
                bodies=bodies,
            )
            if type_code == FORMAT_DESCRIPTION and self._is_description(header):
                event.decoded(self._format)
            else:
                if checksummed:
                    reader.end -= checksum.CHECKSUM_LENGTH
                if self._header_rest and type_code != ROTATE:
                    reader.skip(self._header_rest)
                event.bound(reader.offset, reader.end)
                bodies.receive(event)
        except DecodeError as error:
            name = "an event header" if type_code < 0 else event_name(type_code)
            raise EventError(counter.file or UNNAMED_LOG, position, name, error) from error
        counter.position = next_position
        if type_code == START_ENCRYPTION:
            self._take_encryption(event)
        elif not self._counted and (type_code == ROTATE or not occupies):
            self._move(event, occupies=occupies)
        return event

    def _open_usual(self, data: bytes) -> Event:
        """Take an event of an intact run, in a file with the usual layout and checksums."""
        counter = self._counter
        size: i64 = len(data)
        position = counter.position
        event = Event(
            counter.file,
            position,
            position + size,
            None,
            None,
            data,
            checksummed=True,
            bodies=self._bodies,
            start=HEADER_LENGTH,
            end=size - checksum.CHECKSUM_LENGTH,
        )
        try:
            self._bodies.receive(event)
        except DecodeError as error:
            raise event.error(error) from error
        counter.position = event.next_position
        if data[TYPE_OFFSET] == START_ENCRYPTION:
            self._take_encryption(event)
        return event

    def _verified(self, header: EventHeader, data: bytes, *, intact: bool) -> bool:
        """Return whether the event has a checksum, which is verified."""
        if header.event_size != len(data):
            raise DecodeError(log_errors.SIZE_DIFFERS, size=header.event_size, found=len(data))
        is_format = header.type_code == FORMAT_DESCRIPTION
        if is_format and self._is_description(header):
            self._use_format(self._decode_format(data))
            self.format_data = data
            self._described = True
            self._version = BinlogVersion.V4
            self._is_usual = self._counted and self._has_checksums and self.has_usual_layout()
        if not self._described:
            return _has_checksum_before_format(header, data)
        if not self._has_checksums:
            return False
        if len(data) < HEADER_LENGTH + checksum.CHECKSUM_LENGTH:
            raise DecodeError(log_errors.NO_ROOM_FOR_CHECKSUM, size=len(data))
        if self._verify_checksum and not intact and not is_format:
            checksum.require_intact(data)
        return True

    def _is_description(self, header: EventHeader) -> bool:
        """Return whether this event starts format v4, which can follow a ROTATE_EVENT of v3."""
        return header.type_code == FORMAT_DESCRIPTION and self._version is not BinlogVersion.V1

    def _decode_format(self, data: bytes) -> FormatDescriptionEvent:
        event = FormatDescriptionEvent.decode(PayloadReader(data, HEADER_LENGTH))
        if self._verify_checksum and event.checksum_algorithm is checksum.ChecksumAlgorithm.CRC32:
            checksum.require_checksum(
                checksum.computed_format_checksum(data), checksum.stored_checksum(data)
            )
        return event

    def _use_format(self, described: FormatDescriptionEvent) -> None:
        self._format = described
        self._has_checksums = described.checksum_algorithm is checksum.ChecksumAlgorithm.CRC32
        # The length of every header but a ROTATE_EVENT's; a newer format may add fields.
        self._header_rest = described.header_length - (
            V1_HEADER_LENGTH if self._version is BinlogVersion.V1 else HEADER_LENGTH
        )
        self._renumbered = described.renumbered_types
        mariadb = described.mariadb if self._mariadb is None else self._mariadb
        self._bodies = BodyDecoder(described, mariadb=mariadb, ignored_events=self.ignored_events)

    def _take_encryption(self, event: Event) -> None:
        body = event.body
        if isinstance(body, control.StartEncryptionEvent) and not event.header.ignorable:
            # A server that decrypts the rest of the file for a replica sets this flag.
            self._encrypted = body
            self._is_usual = False

    def _move(self, event: Event, *, occupies: bool) -> None:
        body = event.body
        if isinstance(body, control.RotateEvent):
            self._counter = _position_said_by(event, body.next_file, body.next_position)
        elif isinstance(body, control.HeartbeatEvent) and body.exact:
            self._counter = _position_said_by(event, body.file, body.position)
        elif event.header.log_pos and not occupies:
            # A heartbeat, or MariaDB's artificial GTID list: the server has skipped up to there.
            self._counter.advance_to(event.header.log_pos)

    def _occupies(self, header: EventHeader) -> bool:
        """Return whether the event is in the file and was not made up for the replica.

        A server that starts in the middle of a file sends the events at its start with position 0.
        """
        if header.artificial or control.is_heartbeat(header.type_code):
            return False
        return header.log_pos != 0 or not _has_position(header.type_code)


def _position_said_by(event: Event, file: str, position: int) -> PositionCounter:
    """Return the position that an event of the server names.

    Raises EventError for a position that no log can have.
    """
    if position > POSITION_MAX:
        why = DecodeError(log_errors.POSITION_TOO_LARGE, file=file, position=position)
        raise event.error(why)
    return PositionCounter(file, position)


def _has_position(type_code: i64) -> bool:
    """Return whether events of this type have a position in the file, unless made up."""
    return type_code in (FORMAT_DESCRIPTION, ROTATE, START_ENCRYPTION)


def _has_checksum_before_format(header: EventHeader, data: bytes) -> bool:
    """Return whether a ROTATE_EVENT has a checksum; only some servers send one."""
    if header.type_code != ROTATE:
        raise DecodeError(log_errors.NO_FORMAT)
    return checksum.computed_checksum(data) == checksum.stored_checksum(data)

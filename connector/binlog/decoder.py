"""Payloads become events: the one entry into this package.

The state is what earlier events of the same log leave for later ones: the format description, the
table maps of the current statement, and the place in the log. Nothing that arrives is skipped or
guessed: an event is decoded, or is unknown and flagged as ignorable by its sender, or is an error
that names file, position and event.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

from collections import Counter

from connector.binlog.body_decoder import BodyDecoder
from connector.binlog.checksum import (
    CHECKSUM_LENGTH,
    ChecksumAlgorithm,
    computed_checksum,
    computed_format_checksum,
    require_checksum,
    stored_checksum,
)
from connector.binlog.control_events import RotateEvent
from connector.binlog.encryption_event import StartEncryptionEvent
from connector.binlog.event import Event, EventBody
from connector.binlog.event_types import EventType, event_name
from connector.binlog.format_description_event import FormatDescriptionEvent
from connector.binlog.header import HEADER_LENGTH, V1_HEADER_LENGTH, EventHeader
from connector.binlog.heartbeat_event import HEARTBEATS, HeartbeatEvent
from connector.binlog.log_place import FIRST_POSITION, UNNAMED_LOG, LogPlace
from connector.binlog.old_formats import format_before_description
from connector.binlog.version import BinlogVersion
from connector.errors import DecodeError, EventError, LogRefused
from connector.payload import PayloadReader

# They have a place in the file, unless they are made up.
_PLACED = (
    EventType.FORMAT_DESCRIPTION_EVENT,
    EventType.ROTATE_EVENT,
    EventType.START_ENCRYPTION_EVENT,
)


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
        unless it is given. With `counted`, for reading a file, each event starts where the one
        before it ended, whatever their headers say: a relay log's speak of other files, and those
        of 5.1 pre-releases are wrong. Formats before v4 are always counted.
        """
        self.ignored_events: Counter[int] = Counter()  # unknown events that were let pass, by type
        self._place = LogPlace(file, position)
        self._version = version
        self._counted = counted or version is not BinlogVersion.V4
        self._mariadb = mariadb
        self._verify_checksum = verify_checksum
        self._use_format(format_before_description(version))
        self._described = version is not BinlogVersion.V4
        self._encrypted: StartEncryptionEvent | None = None

    def seek(self, position: int) -> None:
        """Expect the next event at another position of the same log; its format stays known."""
        self._place.position = position

    def decode(self, data: bytes) -> Event:
        """Decode one whole event, as it is in a file: without the OK byte of the network.

        Raises EventError when that is not possible, and LogRefused when the log is encrypted from
        here on; the decoder must not be used after it.
        """
        place = self._place
        file = place.file
        if self._encrypted is not None:
            raise LogRefused(file or UNNAMED_LOG, self._encrypted.refusal)
        position = place.position
        name = "an event header"
        try:
            header = EventHeader.decode(PayloadReader(data), self._version)
            header.type_code = self._renumbered.get(header.type_code, header.type_code)
            name = event_name(header.type_code)
            # Nothing in the header is believed before its checksum.
            checksum = self._checksum(header, data)
            occupies = self._occupies(header)
            position = position if self._counted else place.start_of(header, occupies=occupies)
            body = self._decode_body(header, data, checksum, (file, position, name))
        except DecodeError as error:
            raise EventError(file or UNNAMED_LOG, position, name, str(error)) from error
        next_position = position + header.event_size if occupies else position
        self._move(header, body, next_position)
        if isinstance(body, StartEncryptionEvent) and not header.ignorable:
            # A server that decrypts what follows for a replica says so by the flag.
            self._encrypted = body
        return Event(file, position, next_position, header, body, data, checksum)

    def _checksum(self, header: EventHeader, data: bytes) -> int | None:
        """Return the event's checksum after verifying it, None when the log has none."""
        if header.event_size != len(data):
            reason = f"its header says {header.event_size} bytes, but {len(data)} came"
            raise DecodeError(reason)
        if self._is_description(header):
            self._use_format(self._decode_format(data))
            self._described = True
            self._version = BinlogVersion.V4
        if not self._described:
            return _checksum_before_format(header, data)
        if self._format.checksum_algorithm is not ChecksumAlgorithm.CRC32:
            return None
        if len(data) < HEADER_LENGTH + CHECKSUM_LENGTH:
            reason = f"{len(data)} bytes do not hold a header and a checksum"
            raise DecodeError(reason)
        checksum = stored_checksum(data)
        if self._verify_checksum and header.type_code != EventType.FORMAT_DESCRIPTION_EVENT:
            require_checksum(computed_checksum(data), checksum)
        return checksum

    def _is_description(self, header: EventHeader) -> bool:
        """Return whether this starts format v4, as may happen behind a ROTATE_EVENT of v3."""
        return (
            header.type_code == EventType.FORMAT_DESCRIPTION_EVENT
            and self._version is not BinlogVersion.V1
        )

    def _decode_format(self, data: bytes) -> FormatDescriptionEvent:
        event = FormatDescriptionEvent.decode(PayloadReader(data, HEADER_LENGTH))
        if self._verify_checksum and event.checksum_algorithm is ChecksumAlgorithm.CRC32:
            require_checksum(computed_format_checksum(data), stored_checksum(data))
        return event

    def _use_format(self, described: FormatDescriptionEvent) -> None:
        self._format = described
        self._renumbered = described.renumbered_types
        mariadb = described.mariadb if self._mariadb is None else self._mariadb
        self._bodies = BodyDecoder(described, mariadb=mariadb, ignored_events=self.ignored_events)

    def _decode_body(
        self,
        header: EventHeader,
        data: bytes,
        checksum: int | None,
        origin: tuple[str, int, str],
    ) -> EventBody:
        type_code = header.type_code
        if self._is_description(header):
            return self._format
        start = V1_HEADER_LENGTH if self._version is BinlogVersion.V1 else HEADER_LENGTH
        end = len(data) if checksum is None else len(data) - CHECKSUM_LENGTH
        body = PayloadReader(data, start, end)
        if type_code != EventType.ROTATE_EVENT:
            body.skip(self._format.header_length - start)
        return self._bodies.decode(header, body, origin)

    def _move(self, header: EventHeader, body: EventBody, next_position: int) -> None:
        """Expect the next event behind this one, or where this one says."""
        self._place.position = next_position
        if self._counted:
            return
        if isinstance(body, RotateEvent):
            self._place = LogPlace(body.next_file, body.next_position)
        elif isinstance(body, HeartbeatEvent) and body.exact:
            self._place = LogPlace(body.file, body.position)
        elif header.log_pos and not self._occupies(header):
            # A heartbeat, or MariaDB's artificial GTID list: the server has skipped up to there.
            self._place.advance_to(header.log_pos)

    def _occupies(self, header: EventHeader) -> bool:
        """Return whether the event is in the file, not made up for the replica.

        A server that starts in the middle of a file sends what the file starts with without places.
        """
        if self._counted:
            return True
        if header.artificial or header.type_code in HEARTBEATS:
            return False
        return header.log_pos != 0 or header.type_code not in _PLACED


def _checksum_before_format(header: EventHeader, data: bytes) -> int | None:
    """Return the checksum of the ROTATE_EVENT that some servers send with one, some without."""
    if header.type_code != EventType.ROTATE_EVENT:
        reason = "no FORMAT_DESCRIPTION_EVENT came before it, which every log starts with"
        raise DecodeError(reason)
    checksum = stored_checksum(data)
    return checksum if computed_checksum(data) == checksum else None

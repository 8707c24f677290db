"""The log of a server becomes events, as from its files, up to its end or while it grows.

The server adds events that are not in its files: a ROTATE_EVENT that names each file, and its
format description if reading begins in the middle. These events have the position of the event
after them. Heartbeats are not part of the log and are left out.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.control import HeartbeatEvent, RotateEvent
from connector.binlog.events.format_description import (
    FormatDescriptionEvent,
    format_before_description,
)
from connector.binlog.files.binlog_reader import BinlogReader
from connector.binlog.files.file_sequence import closed_early
from connector.binlog.header import FIRST_POSITION, BinlogVersion
from connector.binlog.transactions.transaction_selection import TransactionSelection
from connector.foundation.errors import ConfigError, ConnectorError, SourceUnavailable
from connector.foundation.errors.message import Words
from connector.foundation.settings.sections import SourceSettings
from connector.replication import dump_errors
from connector.replication.dump import open_stream
from connector.replication.server.addresses import source_settings
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import validate_start

# Name of the reader in SHOW REPLICAS.
_REPLICA_NAME = "binlog-reader"
_RECEIVE_SECONDS = 1.0


def open_server(
    source: str | SourceSettings,
    *,
    password: str | None = None,
    start: str = "earliest",
    start_time: datetime | None = None,
    stop_time: datetime | None = None,
    stop_at_end: bool = False,
    idle_timeout_seconds: float | None = None,
    verify_checksum: bool = True,
) -> BinlogReader:
    """Open the log of a server: `mysql://user:password@host:port/?ssl-mode=REQUIRED`.

    `password` replaces that of the URL; `docs/library.md` lists the options of a URL.

    *Selection.* `start` is `earliest`, `latest`, `position:FILE:POSITION`, or `gtid:SET` for
    everything after the set. The times are those of `open_binlog`.

    *The end.* The server is followed until `close` is called or no event has come for
    `idle_timeout_seconds`. With `stop_at_end`, reading stops at the position where the log ended
    at the time of the connection.

    Raises ConfigError for bad arguments, SourceUnavailable for a server that cannot be reached,
    SourceRefused for a server that refuses or lacks this start.
    """
    settings = source
    if isinstance(settings, str):
        settings = source_settings(settings, password=password)
    selection = TransactionSelection(start_time=start_time, stop_time=stop_time)
    log = ServerLog(
        settings,
        start=start,
        stop_at_end=stop_at_end,
        idle_timeout_seconds=idle_timeout_seconds,
        verify_checksum=verify_checksum,
        of_url=isinstance(source, str),
    )
    return BinlogReader(log, selection)


class ServerLog:
    """Reads the log of one server."""

    version = BinlogVersion.V4

    def __init__(
        self,
        settings: SourceSettings,
        *,
        start: str,
        stop_at_end: bool,
        idle_timeout_seconds: float | None,
        verify_checksum: bool,
        of_url: bool,
    ) -> None:
        """Log in and request everything after `start`; see `open_server`.

        With `of_url`, error messages use the words of a URL and not of settings.
        """
        self._of_url = of_url
        with self._speaking(), MysqlServer.connect(settings) as server:
            self.identity, point = server.identity, _start_point(server, start)
        self._idle_timeout_seconds = idle_timeout_seconds
        self._stop_at_end = stop_at_end
        self._closed = False
        self._decoder = EventDecoder(
            file=point.file,
            position=point.position,
            mariadb=self.identity.flavour == "mariadb",
            verify_checksum=verify_checksum,
        )
        self.name = point.file  # "" until the server has named the file
        self.position = point.position
        self.format: FormatDescriptionEvent = format_before_description(self.version)
        with self._speaking():
            self._stream = open_stream(
                self.identity, settings, point, replica_name=_REPLICA_NAME, stop_at_end=stop_at_end
            )

    def events(self) -> Iterator[Event]:
        """Yield the events as they come.

        Raises SourceUnavailable if the connection breaks, SourceRefused if the server refuses to
        continue, EventError for an event that cannot be read, ConfigError if a log that is read
        up to its end was closed before it.
        """
        try:
            while (data := self._receive()) is not None:
                event = self._decoder.decode(data)
                body = event.body
                self.name, self.position = event.file, event.next_position
                if isinstance(body, HeartbeatEvent):
                    continue
                if isinstance(body, FormatDescriptionEvent):
                    self.format = body
                elif isinstance(body, RotateEvent):
                    self.name, self.position = body.next_file, body.next_position
                yield event
        except SourceUnavailable:
            if not self._closed:
                raise
        if self._closed and self._stop_at_end and not self._stream.ended:
            raise closed_early(self.name, self.position)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Let errors of the server name the parts of a URL, if one was given."""
        try:
            yield
        except ConnectorError as error:
            if not self._of_url:
                raise
            raise error.in_words(Words.URL) from error

    def close(self) -> None:
        """Close the connection, and end an iteration that waits in another thread. Idempotent."""
        self._closed = True
        self._stream.close()

    def _receive(self) -> bytes | None:
        """Return the next event, None at the end of the log or after the idle timeout."""
        timeout = self._idle_timeout_seconds
        idle_since = time.monotonic()
        while not self._closed:
            left = _RECEIVE_SECONDS
            if timeout is not None:
                left = min(left, timeout - (time.monotonic() - idle_since))
            with self._speaking():
                data = self._stream.receive(max(left, 0.0))
            if data is not None or self._stream.ended or left <= 0:
                return data
        return None


def _start_point(server: MysqlServer, start: str) -> StartPoint:
    flavour = server.identity.flavour
    match start.split(":", 1):
        case ["earliest"]:
            return StartPoint(flavour, None, "", FIRST_POSITION)
        case ["position", coordinates]:
            file, _, position = coordinates.rpartition(":")
            if not file or not position.isdecimal():
                raise ConfigError(dump_errors.START_POSITION, start=start)
            point = StartPoint(flavour, None, file, int(position))
        case ["latest"] | ["gtid", _]:
            point = resolve_start(server, start)
        case _:
            raise ConfigError(dump_errors.START, start=start)
    validate_start(server, point)
    return point

"""Files in the given order become one log; the last one can be followed while it grows.

A server that rotates its log names the next file in the last event of a file. After a crash or a
shutdown it does not: then the next file is the one with the next number. A relay log also has the
rotations of its source, which name files of the source; their headers state where they ended there.
"""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import final

from connector.binlog import argument_errors
from connector.binlog.event import Event
from connector.binlog.events.control import RotateEvent
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.files.byte_source import MAGIC_LENGTH, FileOptions, LogSource
from connector.binlog.files.file_log import FileLog
from connector.binlog.header import BinlogVersion
from connector.binlog.log_errors import LogTruncated
from connector.foundation.errors import ConfigError

_POLL_SECONDS = 0.1
_LOG_POS_MASK = 0xFFFF_FFFF
_NUMBERED = re.compile(r"(.*\.)([0-9]+)")


@final
class FileSequence:
    """Reads files one after the other."""

    def __init__(self, sources: Sequence[LogSource], options: FileOptions) -> None:
        """Open the first source, which has the name and the start position of `options`.

        Raises the errors of FileLog, and ConfigError for a source that cannot be followed.
        """
        if not sources:
            raise ConfigError(argument_errors.NO_LOG)
        self._options = options
        self._closed = False
        self._closing = threading.Event()  # ends a wait for more bytes
        # Held while the file is read, so that no other thread closes it meanwhile.
        self._reading = threading.RLock()
        self._later = list(sources[1:])
        self._log = FileLog(sources[0], options)
        self._last_event: Event | None = None
        if options.follow and not self._later:
            try:
                self._followed_path()
            except ConfigError:
                self._log.close()
                raise

    @property
    def name(self) -> str:
        """The name of the current file."""
        return self._log.name

    @property
    def version(self) -> BinlogVersion:
        """The format version of the current file."""
        return self._log.version

    @property
    def format(self) -> FormatDescriptionEvent:
        """The format description of the current file."""
        return self._log.format

    @property
    def position(self) -> int:
        """Where the next event of the current file starts."""
        return self._log.position

    def events(self) -> Iterator[Event]:
        """Yield the events that have not been read yet.

        Raises the errors of FileLog, and ConfigError if the log was closed before its end, if the
        last file cannot be followed, or if it was deleted and no next one is there.
        """
        while (event := self._next_event()) is not None:
            self._last_event = event
            yield event

    def close(self) -> None:
        """End the iteration, even if it waits in another thread. Idempotent.

        A read of a pipe ends only when bytes come.
        """
        self._closed = True
        self._closing.set()
        with self._reading:
            self._log.close()

    def _next_event(self) -> Event | None:
        if not self._closed:
            # Mostly the event is in memory already, and then a close does no harm.
            event = self._log.received_event()
            if event is not None:
                return event
        while True:
            if not self._later and self._options.follow:
                return self._next_followed()
            event = self._read()
            if event is not None or not self._later:
                return event
            self._open(self._later.pop(0))

    def _read(self) -> Event | None:
        with self._reading:
            if not self._closed:
                return self._log.next_event()
        if self._options.follow:
            return None
        raise closed_early(self.name, self.position)

    def _open(self, source: LogSource) -> None:
        with self._reading:
            if self._closed:
                return
            log = FileLog(source, self._options.of_next_file())
            self._log.close()
            self._log = log
            self._last_event = None

    def _next_followed(self) -> Event | None:
        """Return the next event when it has come; None if the wait is over."""
        path = self._followed_path()
        idle_since = time.monotonic()
        while not self._closed:
            # Asked before the read: if the next file exists by then, this one grows no more.
            following = self._following(path)
            try:
                event = self._read()
            except LogTruncated:
                if following is not None:
                    raise
                event = None
            if event is not None:
                return event
            if following is not None and self._opened(following):
                path = following
                continue
            # Asked before the look: a server deletes a file only after it has created the next one.
            if following is None and self._is_gone() and self._following(path) is None:
                raise ConfigError(argument_errors.LOG_DELETED, file=self.name)
            timeout = self._options.idle_timeout_seconds
            if timeout is not None and time.monotonic() - idle_since >= timeout:
                return None
            self._closing.wait(_POLL_SECONDS)
        return None

    def _is_gone(self) -> bool:
        with self._reading:
            return not self._closed and self._log.is_gone

    def _opened(self, following: Path) -> bool:
        try:
            self._open(following)
        except LogTruncated:
            # The server has not written the start of the next file yet.
            return False
        return True

    def _followed_path(self) -> Path:
        path = self._log.path
        if path is None or self._log.compression is not None:
            raise ConfigError(argument_errors.NOT_FOLLOWED, name=self.name)
        return path

    def _following(self, path: Path) -> Path | None:
        """Return the next file if it exists."""
        last = self._last_event
        if last is not None and isinstance(last.body, RotateEvent) and _is_own(last):
            # Only the name of the path that the event states: it could point anywhere.
            name = last.body.next_file.rpartition("/")[2]
        elif (numbered := _NUMBERED.fullmatch(path.name)) is not None:
            number = str(int(numbered[2]) + 1).zfill(len(numbered[2]))
            name = numbered[1] + number
        else:
            return None
        following = path.with_name(name) if name else path
        there = following != path and following.is_file()
        return following if there and following.stat().st_size > MAGIC_LENGTH else None


def _is_own(event: Event) -> bool:
    """Return whether a rotation is that of the file that it is in."""
    header = event.header
    return not header.artificial and header.log_pos == event.next_position & _LOG_POS_MASK


def closed_early(name: str, position: int) -> ConfigError:
    """Return the error for a log that was closed before its end."""
    return ConfigError(argument_errors.CLOSED_TOO_SOON, file=name, position=position)

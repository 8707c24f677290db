"""The logs that a dump reads, in order: files and standard input, or those of a server."""

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from connector.binlog import argument_errors
from connector.binlog.event import Event
from connector.binlog.files.byte_source import ByteSource, FileOptions, LogSource
from connector.binlog.files.event_frames import EventFrames
from connector.binlog.files.file_log import FileLog
from connector.binlog.files.file_sequence import FileSequence
from connector.binlog.header import FIRST_POSITION
from connector.binlog.log_errors import EventError, LogTruncated
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError, DecodeError
from connector.logs.recovery import Gap, LogRecovery

STANDARD_INPUT = "-"
_COPY_BYTES = 1024 * 1024


class ReadingOptions(NamedTuple):
    """How logs are read."""

    start_position: int | None = None  # position in the first log
    verify_checksum: bool = True
    recover: bool = False
    follow: bool = False  # wait for more at the end of the last log
    # Whether files with the same name in several folders are named by their paths.
    distinct_names: bool = False
    # Transactions that change no table of these may be left out.
    tables: TableFilter | None = None


class LogInput(NamedTuple):
    """One log, which is opened at the first use of its events."""

    name: str  # "" until the server names it
    events: Callable[[], Generator[Event | Gap]]
    last: bool
    size: int | None = None  # size in bytes, if it shows the progress of reading
    # Opens it for reading without a generator; None if only `events` can read it.
    open: Callable[[], FileLog] | None = None


def file_inputs(paths: Sequence[str], options: ReadingOptions) -> Iterator[LogInput]:
    """Yield each file; `-` is standard input.

    The events raise ConfigError for a file that cannot be opened, and the errors of reading.
    """
    start = options.start_position or FIRST_POSITION
    shared = _shared_names(paths) if options.distinct_names else set()
    for number, path in enumerate(paths):
        last = number == len(paths) - 1
        name = path if Path(path).name in shared else None
        yield LogInput(
            path,
            _file_events(path, name, start, options, last=last),
            last,
            _size(path),
            None if options.recover or options.follow else _file_log(path, name, start, options),
        )
        start = FIRST_POSITION


def _shared_names(paths: Sequence[str]) -> set[str]:
    """Return the names that occur in several folders."""
    counts = Counter(Path(path).name for path in set(paths))
    return {name for name, count in counts.items() if count > 1}


def _file_events(
    path: str, called: str | None, start_position: int, options: ReadingOptions, *, last: bool
) -> Callable[[], Generator[Event | Gap]]:
    def events() -> Generator[Event | Gap]:
        source, name = _source(path, called)
        if options.recover:
            yield from _recovered_events(path, source, name, start_position, options)
            return
        with file_errors(path):
            file_options = FileOptions(
                name,
                start_position,
                options.verify_checksum,
                options.follow and last,
                tables=options.tables,
            )
            with closing(FileSequence([source], file_options)) as log:
                yield from log.events()

    return events


def _file_log(
    path: str, called: str | None, start_position: int, options: ReadingOptions
) -> Callable[[], FileLog]:
    def opened() -> FileLog:
        source, name = _source(path, called)
        with file_errors(path):
            file_options = FileOptions(
                name, start_position, options.verify_checksum, tables=options.tables
            )
            return FileLog(source, file_options)

    return opened


def _source(path: str, called: str | None) -> tuple[LogSource, str | None]:
    """Return what is read, and its name if that is not the path's."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer, "stdin"
    return path, called


@contextmanager
def file_errors(path: str) -> Iterator[None]:
    """Raise ConfigError for a file at `path` that cannot be opened or read."""
    try:
        yield
    except OSError as error:
        if "://" in path:
            # It is not shown: it may have a password.
            raise ConfigError(argument_errors.URL) from error
        code = (
            argument_errors.FOLDER
            if isinstance(error, IsADirectoryError)
            else argument_errors.UNREADABLE
        )
        raise ConfigError(code, path=path, why=error.strerror or error) from error


def _recovered_events(
    path: str, log: LogSource, name: str | None, start_position: int, options: ReadingOptions
) -> Generator[Event | Gap]:
    with file_errors(path):
        source = ByteSource(log, name)
    with closing(source):
        with file_errors(path):
            # Raises for a file that is not a log.
            EventFrames(source)
        with _seekable(path, source) as (file, damage):
            recovery = LogRecovery(file, source.name, verify_checksum=options.verify_checksum)
            try:
                with file_errors(path):
                    yield from recovery.events(start_position)
            except LogTruncated as error:
                raise damage if isinstance(damage, EventError) else error from None
        if damage is not None:
            raise damage


@contextmanager
def _seekable(path: str, source: ByteSource) -> Iterator[tuple[BinaryIO, DecodeError | None]]:
    """Yield a seekable file: the file itself, or a temporary copy of the unpacked bytes.

    The error, if there is one, says why it could not be unpacked to its end. Raises OSError for a
    copy that cannot be written.
    """
    if source.path is not None and source.compression is None:
        with file_errors(path):
            file = source.path.open("rb")
        with file:
            yield file, None
        return
    from tempfile import TemporaryFile  # noqa: PLC0415  # rarely needed

    damage: DecodeError | None = None
    with TemporaryFile() as copy:
        chunk = source.head
        try:
            while chunk:
                copy.write(chunk)
                with file_errors(path):
                    chunk = source.read(_COPY_BYTES)
        except DecodeError as error:
            damage = error
        yield copy, damage


def _size(path: str) -> int | None:
    """Return the size of a regular file that is not compressed: positions are parts of it."""
    if path == STANDARD_INPUT or not Path(path).is_file():
        return None
    try:
        with closing(ByteSource(path)) as source:
            return None if source.compression else Path(path).stat().st_size
    except (OSError, DecodeError):
        # Reading the file later raises the error.
        return None


def server_inputs(
    url: str,
    password: str | None,
    names: Sequence[str],
    options: ReadingOptions,
    *,
    to_last_log: bool,
) -> Iterator[LogInput]:
    """Yield the logs of a server: the named ones, all from the first named one on, or all.

    The events raise ConfigError for a bad URL, SourceUnavailable and SourceRefused.
    """
    if not names or to_last_log or options.follow:
        first = names[0] if names else ""
        yield LogInput(first, _server_events(url, password, first, options), last=True)
        return
    for number, name in enumerate(names):
        last = number == len(names) - 1
        yield LogInput(name, _server_events(url, password, name, options, only=True), last=last)
        options = options._replace(start_position=None)


def _server_events(
    url: str, password: str | None, name: str, options: ReadingOptions, *, only: bool = False
) -> Callable[[], Generator[Event | Gap]]:
    position = options.start_position or FIRST_POSITION

    def events() -> Generator[Event | Gap]:
        from connector.replication.server_log import open_server  # noqa: PLC0415  # not for files

        with open_server(
            url,
            password=password,
            start=f"position:{name}:{position}" if name else "earliest",
            stop_at_end=not options.follow,
            verify_checksum=options.verify_checksum,
        ) as reader:
            for event in reader:
                if only and event.file not in ("", name):
                    return
                yield event

    return events

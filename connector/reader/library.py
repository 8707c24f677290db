"""The ways to open a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import FIRST_POSITION
from connector.reader.binlog_reader import BinlogReader
from connector.reader.file_options import FileOptions
from connector.reader.file_sequence import FileSequence
from connector.reader.selection import TransactionSelection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from connector.reader.byte_source import Source
    from connector.reader.selection import AnyGtid, AnyGtidSet
    from connector.settings.sections import SourceSettings


def open_binlog(
    source: Source,
    *,
    name: str | None = None,
    start_position: int = FIRST_POSITION,
    start_gtid: AnyGtid | str | None = None,
    skip_gtids: AnyGtidSet | str | None = None,
    start_time: datetime | None = None,
    stop_time: datetime | None = None,
    verify_checksum: bool = True,
    follow: bool = False,
    idle_timeout_seconds: float | None = None,
) -> BinlogReader:
    """Open one log: a path, a binary file object, which stays the caller's to close, or bytes.

    What is compressed by gzip or Zstandard is told by its first bytes. `name` is that of the log in
    events and messages, if it is not the file's.

    *Where.* `start_position` is where an event starts, in bytes from the start of the file; the
    events that describe the log come first all the same. The others choose whole transactions:
    those from the one with `start_gtid` on, those that are not in `skip_gtids` (a MariaDB position
    has everything up to it), and those whose first event is not before `start_time`, up to the
    first one that is not before `stop_time`.

    *The end.* A log that is still open ends cleanly behind its last event. With `follow`, a path is
    read on while it is written, and into the files that follow it, until `close` is called or
    nothing has come for `idle_timeout_seconds`.

    Raises OSError for a path that cannot be opened, ConfigError for arguments that do not fit,
    LogRefused for what is no log that can be read, LogTruncated for one without a whole event, and
    EventError for a first event that cannot be read.
    """
    return open_binlogs(
        [source],
        name=name,
        start_position=start_position,
        start_gtid=start_gtid,
        skip_gtids=skip_gtids,
        start_time=start_time,
        stop_time=stop_time,
        verify_checksum=verify_checksum,
        follow=follow,
        idle_timeout_seconds=idle_timeout_seconds,
    )


def open_binlogs(
    sources: Sequence[Source],
    *,
    name: str | None = None,
    start_position: int = FIRST_POSITION,
    start_gtid: AnyGtid | str | None = None,
    skip_gtids: AnyGtidSet | str | None = None,
    start_time: datetime | None = None,
    stop_time: datetime | None = None,
    verify_checksum: bool = True,
    follow: bool = False,
    idle_timeout_seconds: float | None = None,
) -> BinlogReader:
    """Open several logs, to be read in the order given, as `open_binlog` does one.

    `name` and `start_position` are those of the first one; the last one is followed.
    """
    selection = TransactionSelection.of(
        start_gtid=start_gtid, skip_gtids=skip_gtids, start_time=start_time, stop_time=stop_time
    )
    options = FileOptions(name, start_position, verify_checksum, follow, idle_timeout_seconds)
    return BinlogReader(FileSequence(sources, options), selection)


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

    `password` comes in place of the URL's; `source_url` has the URL's options.

    *Where.* `start` is `earliest`, `latest`, `position:FILE:POSITION`, or `gtid:SET` for everything
    behind the set. The times are those of `open_binlog`.

    *The end.* The server is followed until `close` is called or nothing has come for
    `idle_timeout_seconds`; with `stop_at_end` the log ends where it ended when it was reached.

    Raises ConfigError for arguments that do not fit, SourceUnavailable for a server that cannot be
    reached, SourceRefused for one that refuses or has no such place.
    """
    # Whoever reads files does without the configuration and the client of servers.
    from connector.reader.server_log import ServerLog  # noqa: PLC0415
    from connector.reader.source_url import source_settings  # noqa: PLC0415

    settings = source
    if isinstance(settings, str):
        settings = source_settings(settings, password=password)
    selection = TransactionSelection.of(start_time=start_time, stop_time=stop_time)
    log = ServerLog(
        settings,
        start=start,
        stop_at_end=stop_at_end,
        idle_timeout_seconds=idle_timeout_seconds,
        verify_checksum=verify_checksum,
        of_url=isinstance(source, str),
    )
    return BinlogReader(log, selection)

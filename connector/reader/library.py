"""The functions that open a log."""

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
    """Open one log: a path, bytes, or a binary file object, which the caller closes.

    The first bytes show whether it is compressed by gzip or Zstandard. `name` replaces the file's
    name in events and messages.

    *Selection.* `start_position` is the start of an event, in bytes from the start of the file; the
    events that describe the log still come first. The other options select whole transactions:
    from the one with `start_gtid` on, those that are not in `skip_gtids` (a MariaDB position means
    everything up to it), and those whose first event is not before `start_time`, up to the first
    one that is not before `stop_time`.

    *The end.* A log that is still open ends cleanly after its last event. With `follow`, reading
    continues while the file grows, and in the files after it, until `close` is called or no event
    has come for `idle_timeout_seconds`.

    Raises OSError for a path that cannot be opened, ConfigError for bad arguments, LogRefused for
    a file that is not a supported log, LogTruncated for a log without a whole event, and EventError
    for a first event that cannot be read.
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
    """Open several logs, which are read in the given order, with the options of `open_binlog`.

    `name` and `start_position` refer to the first log; `follow` refers to the last one.
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

    `password` replaces that of the URL; `source_url` lists the URL's options.

    *Selection.* `start` is `earliest`, `latest`, `position:FILE:POSITION`, or `gtid:SET` for
    everything after the set. The times are those of `open_binlog`.

    *The end.* The server is followed until `close` is called or no event has come for
    `idle_timeout_seconds`. With `stop_at_end`, reading stops at the position where the log ended
    at the time of the connection.

    Raises ConfigError for bad arguments, SourceUnavailable for a server that cannot be reached,
    SourceRefused for a server that refuses or lacks this start.
    """
    # Users who only read files need no configuration and no client of servers.
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

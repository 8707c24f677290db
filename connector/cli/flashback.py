"""`flashback`: the SQL that undoes row changes."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.log_commands import (
    Databases,
    ExcludeGtids,
    IncludeGtids,
    ServerIds,
    StartDatetime,
    StartPosition,
    StopDatetime,
    StopPosition,
    Tables,
    VerifyChecksum,
    selection_options,
)
from connector.cli.log_files import events_of_files, exit_codes
from connector.errors import ConfigError, LogTruncated

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from connector.binlog.event import Event
    from connector.dump.selection import SelectionOptions

_NAME_PARTS = 3


def flashback(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="Files in their order, also compressed by gzip or zstd, `-` for standard input.",
            show_default=False,
        ),
    ],
    start_position: StartPosition = None,
    stop_position: StopPosition = None,
    start_datetime: StartDatetime = None,
    stop_datetime: StopDatetime = None,
    include_gtids: IncludeGtids = None,
    exclude_gtids: ExcludeGtids = None,
    databases: Databases = [],  # noqa: B006 - typer copies it
    tables: Tables = [],  # noqa: B006 - typer copies it
    server_ids: ServerIds = [],  # noqa: B006 - typer copies it
    omit_columns: Annotated[
        list[str],
        typer.Option(
            "--omit-column",
            metavar="DATABASE.TABLE.COLUMN",
            help="A generated column, which no statement may set; may be repeated.",
        ),
    ] = [],  # noqa: B006 - typer copies it
    verify_checksum: VerifyChecksum = True,
) -> None:
    """Print the SQL that undoes the row changes of binlogs, newest first.

    The logs must hold the columns' names (binlog_row_metadata=FULL) and whole rows
    (binlog_row_image=FULL). Nothing is printed when something in between cannot be undone; read
    the SQL before you run it, on tables that nobody else changes.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event (what is complete is undone), 3 corrupt, undecodable or not to be undone,
    4 not a binlog, encrypted, or a storage format that is not read.
    """
    from connector.dump.logs import ReadingOptions  # noqa: PLC0415  # keeps --help fast

    with exit_codes():
        options = selection_options(
            start_datetime=start_datetime,
            stop_datetime=stop_datetime,
            include_gtids=include_gtids,
            exclude_gtids=exclude_gtids,
            databases=databases,
            tables=tables,
            server_ids=server_ids,
        )
        reading = ReadingOptions(start_position=start_position, verify_checksum=verify_checksum)
        events = events_of_files(logs, reading, stop_position=stop_position)
        _undo(events, options, _omitted(omit_columns))


def _omitted(names: Sequence[str]) -> frozenset[str]:
    for name in names:
        if len(name.split(".")) != _NAME_PARTS:
            reason = f"--omit-column {name}: give it as DATABASE.TABLE.COLUMN"
            raise ConfigError(reason)
    return frozenset(names)


def _undo(events: Generator[Event], options: SelectionOptions, omitted: frozenset[str]) -> None:
    from connector.dump.output import LineOutput  # noqa: PLC0415  # keeps --help fast
    from connector.dump.selection import Selection  # noqa: PLC0415  # keeps --help fast
    from connector.flashback.spool import Spool  # noqa: PLC0415  # keeps --help fast
    from connector.flashback.undo import Undo  # noqa: PLC0415  # keeps --help fast

    truncated: LogTruncated | None = None
    selection = Selection(options)
    with Spool() as spool:
        undo = Undo(spool, omitted)
        try:
            with closing(events):
                for event in events:
                    for selected in selection.select(event):
                        undo.receive(selected)
                    if selection.finished:
                        break
        except LogTruncated as error:
            # Every transaction that is complete stands before it.
            truncated = error
        output = LineOutput(sys.stdout.buffer)
        output.write(undo.statements())
        output.flush()
    if truncated is not None:
        raise truncated

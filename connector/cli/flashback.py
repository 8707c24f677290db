"""`flashback`: the SQL that undoes row changes."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.log_files import events_of, exit_codes, opened_logs
from connector.cli.log_options import (
    ChangeOptions,
    LogNames,
    PositionOptions,
    ServerOptions,
    VerifyChecksum,
)
from connector.cli.option_groups import grouped
from connector.errors import ConfigError, LogTruncated
from connector.errors import options as wrong

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from connector.binlog.event import Event
    from connector.dump.selection import SelectionOptions

_NAME_PARTS = 3


@grouped
def flashback(
    *,
    logs: LogNames = None,
    positions: PositionOptions,
    changes: ChangeOptions,
    server: ServerOptions,
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

    The logs must have the column names (binlog_row_metadata=FULL) and whole rows
    (binlog_row_image=FULL). If any change cannot be undone, no SQL is printed. Read the SQL before
    you run it, and run it while no other client changes the tables.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event (complete transactions are undone), 3 corrupt, undecodable or impossible
    to undo, 4 not a binlog, encrypted, or an unsupported storage format.
    """
    from connector.dump.logs import ReadingOptions  # noqa: PLC0415  # keeps --help fast

    with exit_codes():
        selection = changes.selection()
        reading = ReadingOptions(
            start_position=positions.start_position,
            verify_checksum=verify_checksum,
            tables=None if positions.stop_position else selection.only_tables,
        )
        logs_to_read = opened_logs(logs, server, reading)
        events = events_of(logs_to_read, stop_position=positions.stop_position)
        _undo(events, selection, _omitted(omit_columns))


def _omitted(names: Sequence[str]) -> frozenset[str]:
    for name in names:
        if len(name.split(".")) != _NAME_PARTS:
            raise ConfigError(wrong.OMIT_COLUMN, name=name)
    return frozenset(names)


def _undo(events: Generator[Event], options: SelectionOptions, omitted: frozenset[str]) -> None:
    from connector.dump.lines.output import LineOutput  # noqa: PLC0415  # keeps --help fast
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
            # All complete transactions come before it.
            truncated = error
        output = LineOutput(sys.stdout.buffer)
        output.write(undo.statements())
        output.flush()
    if truncated is not None:
        raise truncated

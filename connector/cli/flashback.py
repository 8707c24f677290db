"""`flashback`: the SQL that undoes row changes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

from connector.binlog.log_errors import LogTruncated
from connector.cli import command_errors
from connector.cli.arguments import Option, grouped
from connector.cli.log_input import (
    ChangeOptions,
    LogNames,
    PositionOptions,
    ServerOptions,
    VerifyChecksum,
    exit_codes,
    opened_logs,
    shown_progress,
    standard_output,
)
from connector.foundation.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.logs.inputs import LogInput
    from connector.logs.recovery import Gap
    from connector.logs.selection import SelectionOptions

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
        Option(
            "--omit-column",
            metavar="DATABASE.TABLE.COLUMN",
            help="A generated column, which no statement may set; may be repeated.",
        ),
    ] = [],  # noqa: B006 - it is read alone
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
    from connector.logs.inputs import ReadingOptions  # noqa: PLC0415  # keeps --help fast

    with exit_codes():
        selection = changes.selection()
        reading = ReadingOptions(
            start_position=positions.start_position,
            verify_checksum=verify_checksum,
            tables=None if positions.stop_position else selection.only_tables,
        )
        logs_to_read = opened_logs(logs, server, reading)
        _undo(logs_to_read, selection, positions.stop_position, _omitted(omit_columns))


def _omitted(names: Sequence[str]) -> frozenset[str]:
    for name in names:
        if len(name.split(".")) != _NAME_PARTS:
            raise ConfigError(command_errors.OMIT_COLUMN, name=name)
    return frozenset(names)


def _undo(
    logs: Iterator[LogInput],
    options: SelectionOptions,
    stop_position: int | None,
    omitted: frozenset[str],
) -> None:
    from connector.logs.dump.dump import Dump, DumpOptions  # noqa: PLC0415  # keeps --help fast
    from connector.logs.flashback.undo import Undo  # noqa: PLC0415  # keeps --help fast
    from connector.logs.flashback.undo_statements import ReverseSpool  # noqa: PLC0415  # keeps --help fast
    from connector.logs.output import LineOutput  # noqa: PLC0415  # keeps --help fast

    truncated: LogTruncated | None = None
    output = LineOutput(standard_output())
    with ReverseSpool() as spool:
        undo = Undo(spool, omitted)
        reading = DumpOptions(selection=options, stop_position=stop_position)
        with ExitStack() as stack:
            progress = shown_progress(stack)
            try:
                Dump(reading, output, _refuse, progress, undo).run(logs)
            except LogTruncated as error:
                # All complete transactions come before it.
                truncated = error
        undo.put_statements(output)
        output.flush()
    if truncated is not None:
        raise truncated


def _refuse(gap: Gap) -> None:
    """Refuse an unreadable part: the rows in it could not be undone."""
    raise gap.error

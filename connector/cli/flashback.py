"""`flashback`: the SQL that undoes row changes."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from connector.binlog.log_errors import LogTruncated
from connector.cli import command_errors, log_input
from connector.foundation.errors import ConfigError, UnsupportedChange
from connector.logs import undo_errors
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.undo import Undo
from connector.logs.inputs import LogInput, ReadingOptions
from connector.logs.output import LineOutput
from connector.logs.recovery import Gap
from connector.logs.selection import SelectionOptions

_NAME_PARTS = 3


def run(arguments: Namespace) -> int:
    """Print the SQL that undoes the changes of logs, newest first."""
    selection = log_input.selection_of(arguments)
    stop_position: int | None = arguments.stop_position
    log_input.refuse_unknown_end(arguments)
    reading = ReadingOptions(
        start_position=arguments.start_position,
        verify_checksum=arguments.verify_checksum,
        tables=None if stop_position else selection.only_tables,
    )
    logs = log_input.opened_logs(arguments, reading)
    _undo(logs, selection, stop_position, _omitted(arguments.omit_columns))
    return 0


def _omitted(names: Sequence[str]) -> frozenset[str]:
    for name in names:
        # A name may have dots of its own.
        if len(name.split(".")) < _NAME_PARTS:
            raise ConfigError(command_errors.OMIT_COLUMN, name=name)
    return frozenset(names)


def _undo(
    logs: Iterator[LogInput],
    options: SelectionOptions,
    stop_position: int | None,
    omitted: frozenset[str],
) -> None:
    truncated: LogTruncated | None = None
    is_last = False

    def opened() -> Iterator[LogInput]:
        nonlocal is_last
        for log in logs:
            is_last = log.last
            yield log

    output = LineOutput(log_input.standard_output())
    with ReverseSpool() as spool:
        undo = Undo(spool, omitted)
        reading = DumpOptions(selection=options, stop_position=stop_position)
        with ExitStack() as stack:
            progress = log_input.shown_progress(stack)
            try:
                Dump(reading, output, _refuse, progress, undo).run(opened())
            except LogTruncated as error:
                if not is_last:
                    raise UnsupportedChange(
                        undo_errors.CUT_LOG, file=error.file, position=error.position
                    ) from error
                # All complete transactions come before it.
                truncated = error
        undo.put_statements(output)
        output.flush()
    if truncated is not None:
        raise truncated


def _refuse(gap: Gap) -> None:
    """Refuse an unreadable part: the rows in it could not be undone."""
    raise gap.error

"""`dump`: the events of logs as text, in one of four formats."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from connector.binlog.log_errors import LogTruncated
from connector.cli import command_errors, log_input
from connector.cli.exit_codes import EXIT_CORRUPT, errors, tell
from connector.foundation.errors import ConfigError
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions, Progress
from connector.logs.inputs import ReadingOptions
from connector.logs.output import LineOutput
from connector.logs.recovery import Gap

if TYPE_CHECKING:
    from connector.logs.dump.jobs import ParallelDump


def run(arguments: Namespace) -> int:
    """Print the events of logs."""
    chosen = Format(arguments.format)
    _refuse_formats(arguments, chosen)
    from_server: bool = arguments.source is not None
    grows = from_server or arguments.stop_never
    log_input.refuse_contradictions([(command_errors.NOT_RECOVERED, arguments.recover and grows)])
    log_input.refuse_unknown_end(arguments)
    selection = log_input.selection_of(
        arguments, arguments.types, helper_tables=chosen is not Format.ENVELOPE
    )
    options = DumpOptions(
        format=chosen,
        selection=selection,
        stop_position=arguments.stop_position,
        hexdump=arguments.hexdump,
        apply_diffs=arguments.apply_diffs,
        topic_prefix=arguments.topic_prefix,
        recover=arguments.recover,
    )
    reading = ReadingOptions(
        start_position=arguments.start_position,
        verify_checksum=arguments.verify_checksum,
        recover=arguments.recover,
        follow=arguments.stop_never,
        tables=None if arguments.stop_position else selection.only_tables,
    )
    logs = log_input.opened_logs(arguments, reading)
    output: Path | None = arguments.output
    if output is not None and not from_server:
        _refuse_a_log(output, arguments.logs)
    with ExitStack() as stack:
        file = (
            log_input.standard_output() if output is None else stack.enter_context(_create(output))
        )
        progress = None
        if output is not None or not sys.stdout.isatty():
            progress = log_input.shown_progress(stack)
        jobs = 1 if from_server else arguments.jobs
        parallel = _parallel_dump(options, reading, arguments.logs, jobs, progress)
        dump = parallel or Dump(
            options, LineOutput(file, at_once=reading.follow), _report, progress
        )
        try:
            if isinstance(dump, Dump):
                dump.run(logs)
            else:
                dump.run(file)
        except LogTruncated as error:
            if not dump.damaged:
                raise
            # The code for a cut end says that nothing before it is missing.
            tell(error)
    return EXIT_CORRUPT if dump.damaged else 0


def _refuse_formats(arguments: Namespace, chosen: Format) -> None:
    """Refuse options that the format does not support."""
    some = bool(arguments.types or arguments.server_ids)
    log_input.refuse_contradictions(
        (
            (command_errors.HEXDUMP, arguments.hexdump and chosen is not Format.TEXT),
            (command_errors.APPLY_DIFFS, arguments.apply_diffs and chosen is not Format.JSON),
            (command_errors.NOT_FOR_ENVELOPE, some and chosen is Format.ENVELOPE),
        )
    )


def _parallel_dump(
    options: DumpOptions,
    reading: ReadingOptions,
    paths: Sequence[str],
    jobs: int,
    progress: Progress | None,
) -> ParallelDump | None:
    """Return the dump in several processes; None if this process has to do it."""
    if jobs == 1:
        return None
    from connector.logs.dump.jobs import ParallelDump, can_run_in_parallel  # noqa: PLC0415  # takes long to import

    if not can_run_in_parallel(options, reading, paths):
        return None
    return ParallelDump(options, reading, paths, jobs, _report, progress)


def _refuse_a_log(output: Path, paths: Sequence[str]) -> None:
    """Refuse to overwrite a log file that is to be read."""
    for path in map(Path, paths):
        if output.exists() and path.exists() and output.samefile(path):
            raise ConfigError(command_errors.OUTPUT_IS_A_LOG, path=output)


def _create(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise ConfigError(command_errors.OUTPUT, path=path, why=error.strerror) from error


def _report(gap: Gap) -> None:
    errors().print("gap:", style="bold yellow", end=" ")
    errors().print(str(gap.error), markup=False)

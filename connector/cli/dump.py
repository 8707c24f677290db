"""`dump`: the events of logs as text, in one of four formats."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from connector.cli import command_errors
from connector.cli.arguments import Option, grouped
from connector.cli.exit_codes import EXIT_CORRUPT, errors
from connector.cli.log_input import (
    ChangeOptions,
    LogNames,
    PositionOptions,
    ServerOptions,
    exit_codes,
    opened_logs,
    refuse_contradictions,
    shown_progress,
    standard_output,
)
from connector.foundation.errors import ConfigError
from connector.logs.dump import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from connector.logs.dump.dump import DumpOptions, Progress
    from connector.logs.dump.jobs import ParallelDump
    from connector.logs.inputs import LogInput, ReadingOptions
    from connector.logs.recovery import Gap

_READING = "How the logs are read"
_WRITING = "How it is written"


class WritingOptions(NamedTuple):
    """The form of the output, and its file."""

    output_format: Annotated[
        Format,
        Option(
            "--format",
            help="events: as SHOW BINLOG EVENTS; text: as mysqlbinlog -vvv; json: one object an "
            "event; envelope: the Kafka records of `run`.",
            rich_help_panel=_WRITING,
        ),
    ] = Format.TEXT
    output: Annotated[
        Path | None,
        Option(help="Where to write.", show_default="standard output", rich_help_panel=_WRITING),
    ] = None
    hexdump: Annotated[
        bool,
        Option(
            "--hexdump", help="Show the bytes of each event, too (text).", rich_help_panel=_WRITING
        ),
    ] = False
    apply_diffs: Annotated[
        bool,
        Option(
            "--apply-diffs",
            help="Show documents, not the changes of partial updates (json).",
            rich_help_panel=_WRITING,
        ),
    ] = False
    topic_prefix: Annotated[
        str,
        Option(
            help="Prefix of the topics, as in kafka.topic_prefix (envelope).",
            rich_help_panel=_WRITING,
        ),
    ] = "cdc"


class EventOptions(NamedTuple):
    """Which of the selected events are shown."""

    types: Annotated[
        list[str],
        Option(
            "--type",
            metavar="PATTERN",
            help="Only events of this type, such as QUERY or WRITE_ROWS*; may be repeated.",
            rich_help_panel="Selection",
        ),
    ] = []  # noqa: RUF012 - it is read alone


class ReadingModes(NamedTuple):
    """How the logs are read."""

    verify_checksum: Annotated[
        bool,
        Option(
            "--verify-checksum/--no-verify-checksum",
            help="Whether an event with a wrong checksum is an error.",
            rich_help_panel=_READING,
        ),
    ] = True
    recover: Annotated[
        bool,
        Option(
            "--recover",
            help="Skip unreadable parts and report each gap; then the exit code is 3.",
            rich_help_panel=_READING,
        ),
    ] = False
    jobs: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="Read up to N files at the same time, each in a process of its own.",
            rich_help_panel=_READING,
        ),
    ] = 1
    stop_never: Annotated[
        bool,
        Option(
            "--stop-never/--non-block",
            help="Wait for more events at the end of the log, or stop there.",
            rich_help_panel=_READING,
        ),
    ] = False


@grouped
def dump(
    *,
    logs: LogNames = None,
    writing: WritingOptions,
    positions: PositionOptions,
    changes: ChangeOptions,
    events: EventOptions,
    reading: ReadingModes,
    server: ServerOptions,
) -> None:
    """Show the events of binlogs.

    Without a log name, --source reads from the server's first log to the end of its last.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or an unsupported
    storage format.
    """
    from connector.logs.dump.dump import DumpOptions  # noqa: PLC0415  # keeps --help fast
    from connector.logs.inputs import ReadingOptions  # noqa: PLC0415  # keeps --help fast

    with exit_codes():
        _refuse_formats(writing, events, changes)
        grows = server.source is not None or reading.stop_never
        refuse_contradictions([(command_errors.NOT_RECOVERED, reading.recover and grows)])
        selection = changes.selection(events.types)
        options = DumpOptions(
            format=writing.output_format,
            selection=selection,
            stop_position=positions.stop_position,
            hexdump=writing.hexdump,
            apply_diffs=writing.apply_diffs,
            topic_prefix=writing.topic_prefix,
            recover=reading.recover,
        )
        how = ReadingOptions(
            start_position=positions.start_position,
            verify_checksum=reading.verify_checksum,
            recover=reading.recover,
            follow=reading.stop_never,
            tables=None if positions.stop_position else selection.only_tables,
        )
        opened = opened_logs(logs, server, how)
        if writing.output is not None and server.source is None:
            _refuse_a_log(writing.output, logs or [])
        jobs = reading.jobs if server.source is None else 1
        _run(options, how, opened, logs or [], writing.output, jobs)


def _refuse_formats(writing: WritingOptions, events: EventOptions, changes: ChangeOptions) -> None:
    """Refuse options that the format does not support."""
    chosen = writing.output_format
    some = bool(events.types or changes.server_ids)
    refuse_contradictions(
        (
            (command_errors.HEXDUMP, writing.hexdump and chosen is not Format.TEXT),
            (command_errors.APPLY_DIFFS, writing.apply_diffs and chosen is not Format.JSON),
            (command_errors.NOT_FOR_ENVELOPE, some and chosen is Format.ENVELOPE),
        )
    )


def _run(
    options: DumpOptions,
    how: ReadingOptions,
    logs: Iterable[LogInput],
    paths: Sequence[str],
    output: Path | None,
    jobs: int,
) -> None:
    from connector.logs.dump.dump import Dump  # noqa: PLC0415  # keeps --help fast
    from connector.logs.output import LineOutput  # noqa: PLC0415  # keeps --help fast

    with ExitStack() as stack:
        file = standard_output() if output is None else stack.enter_context(_create(output))
        progress = None
        if output is not None or not sys.stdout.isatty():
            progress = shown_progress(stack)
        of_jobs = _jobs_dump(options, how, paths, jobs, progress)
        if of_jobs is not None:
            of_jobs.run(file)
            damaged = of_jobs.damaged
        else:
            dump = Dump(options, LineOutput(file, at_once=how.follow), _report, progress)
            dump.run(logs)
            damaged = dump.damaged
    if damaged:
        raise SystemExit(EXIT_CORRUPT)


def _jobs_dump(
    options: DumpOptions,
    how: ReadingOptions,
    paths: Sequence[str],
    jobs: int,
    progress: Progress | None,
) -> ParallelDump | None:
    """Return the dump in several processes; None if this process has to do it."""
    if jobs == 1:
        return None
    from connector.logs.dump.jobs import ParallelDump, can_run_in_parallel  # noqa: PLC0415  # takes long to import

    if not can_run_in_parallel(options, how, paths):
        return None
    return ParallelDump(options, how, paths, jobs, _report, progress)


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

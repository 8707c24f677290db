"""`dump`: the events of logs as text, in one of four formats."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.failure import errors
from connector.cli.log_commands import (
    EXIT_CORRUPT,
    Databases,
    ExcludeGtids,
    IncludeGtids,
    ServerIds,
    StartDatetime,
    StartPosition,
    StopDatetime,
    StopPosition,
    Tables,
    Types,
    selection_options,
)
from connector.cli.log_files import exit_codes
from connector.dump.format import Format
from connector.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from connector.dump.logs import Log
    from connector.dump.recover import Gap
    from connector.dump.run import DumpOptions

_READING = "How the logs are read"
_WRITING = "How it is written"
_FROM_SERVER = "From a server"


def dump(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOG",
            help="Files, also compressed by gzip or zstd; `-` is standard input. With --source, "
            "names of the server's logs.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        Format,
        typer.Option(
            "--format",
            help="events: as SHOW BINLOG EVENTS; text: as mysqlbinlog -vvv; json: one object an "
            "event; envelope: the Kafka records of `run`.",
            rich_help_panel=_WRITING,
        ),
    ] = Format.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where to write.", show_default="standard output", rich_help_panel=_WRITING
        ),
    ] = None,
    hexdump: Annotated[
        bool,
        typer.Option(
            "--hexdump", help="With the bytes of each event (text).", rich_help_panel=_WRITING
        ),
    ] = False,
    apply_diffs: Annotated[
        bool,
        typer.Option(
            "--apply-diffs",
            help="Show documents, not the changes of partial updates (json).",
            rich_help_panel=_WRITING,
        ),
    ] = False,
    topic_prefix: Annotated[
        str,
        typer.Option(
            help="Of the topics, as kafka.topic_prefix (envelope).", rich_help_panel=_WRITING
        ),
    ] = "cdc",
    start_position: StartPosition = None,
    stop_position: StopPosition = None,
    start_datetime: StartDatetime = None,
    stop_datetime: StopDatetime = None,
    include_gtids: IncludeGtids = None,
    exclude_gtids: ExcludeGtids = None,
    databases: Databases = [],  # noqa: B006 - typer copies it
    tables: Tables = [],  # noqa: B006
    types: Types = [],  # noqa: B006
    server_ids: ServerIds = [],  # noqa: B006
    verify_checksum: Annotated[
        bool,
        typer.Option(
            "--verify-checksum/--no-verify-checksum",
            help="Whether an event with a wrong checksum is an error.",
            rich_help_panel=_READING,
        ),
    ] = True,
    recover: Annotated[
        bool,
        typer.Option(
            "--recover",
            help="Go on behind what cannot be read, and report each gap; the exit code is 3 then.",
            rich_help_panel=_READING,
        ),
    ] = False,
    stop_never: Annotated[
        bool,
        typer.Option(
            "--stop-never/--non-block",
            help="At the end of the log wait for more, or stop there.",
            rich_help_panel=_READING,
        ),
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Read the logs of the server mysql://USER[:PASSWORD]@HOST[:PORT]. Without a "
            "password and --password-env it is asked for on a terminal.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None,
    password_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The environment variable that holds the password.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None,
    to_last_log: Annotated[
        bool,
        typer.Option(
            "--to-last-log",
            help="Behind the log that is named go on to the end of the last one.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = False,
) -> None:
    """Show the events of binlogs.

    Without a log name, --source reads from the server's first log to the end of its last.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or a storage format
    that is not read.
    """
    from connector.dump.logs import (  # noqa: PLC0415  # keeps --help fast
        ReadingOptions,
        files,
        server_logs,
    )
    from connector.dump.run import DumpOptions  # noqa: PLC0415  # keeps --help fast

    with exit_codes():
        _refuse_contradictions(
            {
                "--hexdump is for --format text": hexdump and output_format != "text",
                "--apply-diffs is for --format json": apply_diffs and output_format != "json",
                "--type and --server-id are not for --format envelope, whose records count "
                "every event": bool(types or server_ids) and output_format == "envelope",
                "--recover is for files that do not grow": recover
                and (source is not None or stop_never),
                "--to-last-log and --password-env are for --source": source is None
                and (to_last_log or password_env is not None),
                "--to-last-log and --start-position need the name of a log": source is not None
                and not logs
                and (to_last_log or start_position is not None),
                "name a file, - for standard input, or a server with --source": source is None
                and not logs,
            }
        )
        options = DumpOptions(
            format=output_format,
            selection=selection_options(
                start_datetime=start_datetime,
                stop_datetime=stop_datetime,
                include_gtids=include_gtids,
                exclude_gtids=exclude_gtids,
                databases=databases,
                tables=tables,
                types=types,
                server_ids=server_ids,
            ),
            stop_position=stop_position,
            hexdump=hexdump,
            apply_diffs=apply_diffs,
            topic_prefix=topic_prefix,
            recover=recover,
        )
        reading = ReadingOptions(
            start_position=start_position,
            verify_checksum=verify_checksum,
            recover=recover,
            follow=stop_never,
        )
        if source is None:
            paths = logs or []
            if output is not None:
                _refuse_a_log(output, paths)
            opened = files(paths, reading)
        else:
            password = _password(source, password_env)
            opened = server_logs(source, password, logs or [], reading, to_last_log=to_last_log)
        _run(options, opened, output, at_once=stop_never)


def _refuse_contradictions(contradictions: dict[str, bool]) -> None:
    for reason, found in contradictions.items():
        if found:
            raise ConfigError(reason)


def _password(url: str, variable: str | None) -> str | None:
    """Return the password, None for that of the URL: asked for only where there is somebody."""
    if variable is not None:
        password = os.environ.get(variable)
        if password is None:
            reason = f"--password-env {variable}: the environment has no such variable"
            raise ConfigError(reason)
        return password
    account, at, _ = url.partition("://")[2].rpartition("@")
    if at and ":" not in account and sys.stdin.isatty():
        return str(
            typer.prompt("Password", hide_input=True, err=True, default="", show_default=False)
        )
    return None


def _run(options: DumpOptions, logs: Iterable[Log], output: Path | None, *, at_once: bool) -> None:
    from connector.dump.output import LineOutput  # noqa: PLC0415  # keeps --help fast
    from connector.dump.progress import ReadingProgress  # noqa: PLC0415  # keeps --help fast
    from connector.dump.run import Dump  # noqa: PLC0415  # keeps --help fast

    with ExitStack() as stack:
        file = sys.stdout.buffer if output is None else stack.enter_context(_create(output))
        progress = None
        if errors.is_terminal and not (output is None and sys.stdout.isatty()):
            progress = stack.enter_context(ReadingProgress(errors))
        dump = Dump(options, LineOutput(file, at_once=at_once), _report, progress)
        dump.run(logs)
    if dump.damaged:
        raise typer.Exit(EXIT_CORRUPT)


def _refuse_a_log(output: Path, paths: Sequence[str]) -> None:
    """Refuse to write over one of the files that are to be read."""
    for path in map(Path, paths):
        if output.exists() and path.exists() and output.samefile(path):
            reason = f"--output {output}: this is a log that is to be read"
            raise ConfigError(reason)


def _create(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        reason = f"--output {path}: {error.strerror}"
        raise ConfigError(reason) from error


def _report(gap: Gap) -> None:
    errors.print("gap:", style="bold yellow", end=" ")
    errors.print(str(gap.error), markup=False)

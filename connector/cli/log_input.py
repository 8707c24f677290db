"""What the commands for logs share: their options, the logs from files or a server, the exit code.

The options are records, whose fields are the options of a group.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, BinaryIO, NamedTuple, cast

from connector.cli import command_errors
from connector.cli.arguments import Argument, Option
from connector.cli.exit_codes import (
    EXIT_ARGUMENTS,
    EXIT_INTERRUPTED,
    EXIT_NOBODY_READS,
    errors,
    exit_code_of,
    fail,
)
from connector.foundation.errors import ConfigError, ConnectorError, DecodeError
from connector.foundation.errors.message import Message
from connector.foundation.errors.visible import visible_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from connector.binlog.gtid import GtidSet, MariadbGtidSet
    from connector.binlog.table_filter import TableFilter
    from connector.foundation.errors.code import ErrorCode
    from connector.logs.dump.dump import Progress
    from connector.logs.inputs import LogInput, ReadingOptions
    from connector.logs.selection import SelectionOptions


def opened_logs(
    names: Sequence[str] | None, server: ServerOptions, options: ReadingOptions
) -> Iterator[LogInput]:
    """Return the logs of a command: files, or the logs of a server.

    Raises ConfigError for options that contradict each other, and for a missing password.
    """
    from connector.logs.inputs import file_inputs, server_inputs  # noqa: PLC0415  # keeps --help fast

    of_files, of_all = server.source is None, not names
    later, given = server.to_last_log, server.password_env is not None
    begun = options.start_position is not None
    refuse_contradictions(
        (
            (command_errors.ONLY_WITH_SOURCE, of_files and (later or given)),
            (command_errors.NEEDS_A_LOG, not of_files and of_all and (later or begun)),
            (command_errors.NO_LOG, of_files and of_all),
        )
    )
    if server.source is None:
        return file_inputs(names or [], options)
    password = _password(server.source, server.password_env)
    return server_inputs(
        server.source, password, names or [], options, to_last_log=server.to_last_log
    )


def shown_progress(stack: ExitStack) -> Progress | None:
    """Show a bar until `stack` ends, if standard error is a terminal."""
    if not (sys.stderr.isatty() and errors().is_terminal):
        return None
    from connector.logs.progress_bar import ReadingProgress  # noqa: PLC0415  # takes long to import

    return stack.enter_context(ReadingProgress(errors()))


def refuse_contradictions(contradictions: Sequence[tuple[ErrorCode, bool]]) -> None:
    """Raise ConfigError with the first code that is true."""
    for code, found in contradictions:
        if found:
            raise ConfigError(code)


def _password(url: str, variable: str | None) -> str | None:
    """Return the password, None for that of the URL; ask for it only on a terminal."""
    if variable is not None:
        password = os.environ.get(variable)
        if password is None:
            raise ConfigError(command_errors.NO_VARIABLE, variable=variable)
        return password
    account, at, _ = url.partition("://")[2].rpartition("@")
    if at and ":" not in account and sys.stdin.isatty():
        import typer  # noqa: PLC0415  # takes long to import

        return str(
            typer.prompt("Password", hide_input=True, err=True, default="", show_default=False)
        )
    return None


def standard_output() -> BinaryIO:
    """Return the standard output; on a terminal, no text of a log steers it.

    A file or a program gets the bytes as they are, because a server may read the statements.
    """
    output = sys.stdout.buffer
    return cast("BinaryIO", _Terminal(output)) if sys.stdout.isatty() else output


class _Terminal:
    """Writes text of logs to a terminal."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output

    def write(self, data: bytes) -> None:
        """Write whole lines, or pieces of them."""
        self._output.write(visible_bytes(data))

    def flush(self) -> None:
        """Show what was written."""
        self._output.flush()


@contextmanager
def exit_codes() -> Iterator[None]:
    """End the command with the exit code of the block's error."""
    try:
        yield
        sys.stdout.flush()
    except ConnectorError as error:
        fail(error, exit_code_of(error))
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _forget_output()
        raise SystemExit(EXIT_NOBODY_READS) from None
    except OSError as error:
        # Reading raises only our errors, so this error is one of writing.
        _forget_output()
        fail(ConfigError(command_errors.NOT_WRITTEN, why=error.strerror), EXIT_ARGUMENTS)


def _forget_output() -> None:
    """Drop the buffered output, which cannot be written at exit either."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        import typer  # noqa: PLC0415  # which reads times

        raise typer.BadParameter(str(Message(command_errors.TIME, {"text": text}))) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_SELECTION = "Selection"
_FROM_SERVER = "From a server"

LogNames = Annotated[
    list[str] | None,
    Argument(
        metavar="LOG",
        help="Files in their order, also compressed by gzip or zstd; `-` is standard input. With "
        "--source, names of the server's logs.",
        show_default=False,
    ),
]
VerifyChecksum = Annotated[
    bool,
    Option(
        "--verify-checksum/--no-verify-checksum",
        help="Whether an event with a wrong checksum is an error.",
    ),
]


class ServerOptions(NamedTuple):
    """The server whose logs are read; none for files."""

    source: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Read the logs of the server mysql://USER[:PASSWORD]@HOST[:PORT]. Without a "
            "password and --password-env it is asked for on a terminal.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None
    password_env: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The environment variable that holds the password.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None
    to_last_log: Annotated[
        bool,
        Option(
            "--to-last-log",
            help="Read from the named log to the end of the last one.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = False


class PositionOptions(NamedTuple):
    """Where reading begins and ends."""

    start_position: Annotated[
        int | None,
        Option(
            min=4,
            metavar="N",
            help="Start at the event at this position of the first log.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    stop_position: Annotated[
        int | None,
        Option(
            min=4,
            metavar="N",
            help="Stop before the first event at or after this position of the last log.",
            rich_help_panel=_SELECTION,
        ),
    ] = None


class ChangeOptions(NamedTuple):
    """Which changes are selected."""

    start_datetime: Annotated[
        datetime | None,
        Option(
            parser=_time,
            metavar="TIME",
            help="Start at the first event at or after this time, in ISO form; UTC without a zone.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    stop_datetime: Annotated[
        datetime | None,
        Option(
            parser=_time,
            metavar="TIME",
            help="Stop before the first event at or after this time.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    include_gtids: Annotated[
        str | None,
        Option(
            metavar="SET",
            help="Only transactions of this set; a MariaDB position means all up to it.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    exclude_gtids: Annotated[
        str | None,
        Option(metavar="SET", help="No transactions of this set.", rich_help_panel=_SELECTION),
    ] = None
    databases: Annotated[
        list[str],
        Option(
            "--database",
            metavar="PATTERN",
            help="Only changes of tables in this database; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone
    tables: Annotated[
        list[str],
        Option(
            "--table",
            metavar="DATABASE.TABLE",
            help="Only changes of this table; a pattern as in source.tables; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone
    server_ids: Annotated[
        list[int],
        Option(
            "--server-id",
            min=0,
            metavar="N",
            help="Only events that this server wrote first; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone

    def selection(self, types: Sequence[str] = ()) -> SelectionOptions:
        """Return the selection of these options, for events of `types`.

        Raises ConfigError that names the wrong option.
        """
        from connector.logs.selection import SelectionOptions, types_of  # noqa: PLC0415

        return SelectionOptions(
            start_datetime=self.start_datetime,
            stop_datetime=self.stop_datetime,
            include_gtids=_gtids("--include-gtids", self.include_gtids),
            exclude_gtids=_gtids("--exclude-gtids", self.exclude_gtids),
            tables=_table_filter(self.databases, self.tables),
            types=types_of(types),
            server_ids=frozenset(self.server_ids),
        )


def _gtids(option: str, text: str | None) -> GtidSet | MariadbGtidSet | None:
    if text is None:
        return None
    from connector.binlog.gtid import GtidSet, MariadbGtidSet  # noqa: PLC0415  # keeps --help fast

    # MySQL writes a colon between server and numbers, MariaDB only minus signs.
    kind = GtidSet if ":" in text else MariadbGtidSet
    try:
        return kind.parse(text)
    except DecodeError as error:
        if ":" in text:
            raise ConfigError(command_errors.GTIDS, option=option, why=error) from error
        raise ConfigError(command_errors.NO_GTIDS, option=option, text=text) from error


def _table_filter(databases: Sequence[str], tables: Sequence[str]) -> TableFilter | None:
    from connector.binlog.table_filter import TableFilter  # noqa: PLC0415  # keeps --help fast

    if not databases and not tables:
        return None
    for pattern in tables:
        database, dot, table = pattern.partition(".")
        if not (database and dot and table):
            if dot:
                raise ConfigError(command_errors.TABLE, pattern=pattern)
            raise ConfigError(command_errors.TABLE_MEANT, pattern=pattern, meant=f"{pattern}.*")
    return TableFilter([*(f"{database}.*" for database in databases), *tables])

"""What the commands for logs share: logs from files or a server, a selection, and their output."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from getpass import getpass
from typing import TYPE_CHECKING, BinaryIO, cast

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.table_filter import TableFilter
from connector.cli import command_errors
from connector.cli.exit_codes import errors
from connector.foundation.errors import ConfigError, DecodeError
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import visible_bytes
from connector.logs.inputs import LogInput, ReadingOptions, file_inputs, server_inputs
from connector.logs.selection import SelectionOptions, types_of

if TYPE_CHECKING:
    # `stat` shows the bar of `dump`, and needs nothing else of it.
    from connector.logs.dump.dump import Progress


def opened_logs(arguments: Namespace, options: ReadingOptions) -> Iterator[LogInput]:
    """Return the logs of a command: files, or the logs of a server.

    Raises ConfigError for options that contradict each other, and for a missing password.
    """
    names: list[str] = arguments.logs
    of_files, of_all = arguments.source is None, not names
    later, given = arguments.to_last_log, arguments.password_env is not None
    begun = options.start_position is not None
    refuse_contradictions(
        (
            (command_errors.ONLY_WITH_SOURCE, of_files and (later or given)),
            (command_errors.NEEDS_A_LOG, not of_files and of_all and (later or begun)),
            (command_errors.NO_LOG, of_files and of_all),
        )
    )
    if of_files:
        return file_inputs(names, options)
    password = password_of(arguments.source, arguments.password_env)
    return server_inputs(arguments.source, password, names, options, to_last_log=later)


def refuse_unknown_end(arguments: Namespace) -> None:
    """Raise ConfigError for a position in the last log if no argument names that log."""
    unnamed = arguments.to_last_log or not arguments.logs or getattr(arguments, "stop_never", False)
    stops = arguments.stop_position is not None
    of_server = arguments.source is not None
    refuse_contradictions([(command_errors.STOP_NEEDS_A_LOG, stops and of_server and unnamed)])


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


def password_of(url: str, variable: str | None) -> str | None:
    """Return the password, None for that of the URL; ask for it only on a terminal."""
    if variable is not None:
        password = os.environ.get(variable)
        if password is None:
            raise ConfigError(command_errors.NO_VARIABLE, variable=variable)
        return password
    account, at, _ = url.partition("://")[2].rpartition("@")
    if at and ":" not in account and sys.stdin.isatty():
        return getpass("Password: ", sys.stderr)
    return None


def selection_of(
    arguments: Namespace, types: Sequence[str] = (), *, helper_tables: bool = True
) -> SelectionOptions:
    """Return the selection of the arguments, for events of `types`.

    Without `helper_tables`, patterns leave out tables of online schema changes, as `run` does.
    Raises ConfigError that names the wrong option.
    """
    return SelectionOptions(
        start_datetime=arguments.start_datetime,
        stop_datetime=arguments.stop_datetime,
        include_gtids=_gtids("--include-gtids", arguments.include_gtids),
        exclude_gtids=_gtids("--exclude-gtids", arguments.exclude_gtids),
        tables=_table_filter(arguments.databases, arguments.tables, helper_tables=helper_tables),
        types=types_of(types),
        server_ids=frozenset(arguments.server_ids),
    )


def _gtids(option: str, text: str | None) -> GtidSet | MariadbGtidSet | None:
    if text is None:
        return None
    # MySQL writes a colon between server and numbers, MariaDB only minus signs.
    kind = GtidSet if ":" in text else MariadbGtidSet
    try:
        return kind.parse(text)
    except DecodeError as error:
        if ":" in text:
            raise ConfigError(command_errors.GTIDS, option=option, why=error) from error
        raise ConfigError(command_errors.NO_GTIDS, option=option, text=text) from error


def _table_filter(
    databases: Sequence[str], tables: Sequence[str], *, helper_tables: bool
) -> TableFilter | None:
    if not databases and not tables:
        return None
    for pattern in tables:
        database, dot, table = pattern.partition(".")
        if not (database and dot and table):
            if dot:
                raise ConfigError(command_errors.TABLE, pattern=pattern)
            raise ConfigError(command_errors.TABLE_MEANT, pattern=pattern, meant=f"{pattern}.*")
    return TableFilter(tables, databases=databases, helper_tables=helper_tables)


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

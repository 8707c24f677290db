"""The logs of a command, from files or from a server, and the exit code."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from connector.cli.failure import errors, fail
from connector.cli.log_exit_codes import (
    EXIT_ARGUMENTS,
    EXIT_INTERRUPTED,
    EXIT_NOBODY_READS,
    exit_code_of,
)
from connector.errors import ConfigError, ConnectorError
from connector.errors import options as wrong
from connector.errors.visible import visible_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from connector.cli.log_options import ServerOptions
    from connector.dump.dump import Progress
    from connector.dump.logs import DumpedLog, ReadingOptions
    from connector.errors.code import ErrorCode


def opened_logs(
    names: Sequence[str] | None, server: ServerOptions, options: ReadingOptions
) -> Iterator[DumpedLog]:
    """Return the logs of a command: files, or the logs of a server.

    Raises ConfigError for options that contradict each other, and for a missing password.
    """
    from connector.dump.logs import files, server_logs  # noqa: PLC0415  # keeps --help fast

    of_files, of_all = server.source is None, not names
    later, given = server.to_last_log, server.password_env is not None
    begun = options.start_position is not None
    refuse_contradictions(
        (
            (wrong.ONLY_WITH_SOURCE, of_files and (later or given)),
            (wrong.NEEDS_A_LOG, not of_files and of_all and (later or begun)),
            (wrong.NO_LOG, of_files and of_all),
        )
    )
    if server.source is None:
        return files(names or [], options)
    password = _password(server.source, server.password_env)
    return server_logs(
        server.source, password, names or [], options, to_last_log=server.to_last_log
    )


def shown_progress(stack: ExitStack) -> Progress | None:
    """Show a bar until `stack` ends, if standard error is a terminal."""
    if not (sys.stderr.isatty() and errors().is_terminal):
        return None
    from connector.dump.progress import ReadingProgress  # noqa: PLC0415  # takes long to import

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
            raise ConfigError(wrong.NO_VARIABLE, variable=variable)
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
        fail(ConfigError(wrong.NOT_WRITTEN, why=error.strerror), EXIT_ARGUMENTS)


def _forget_output() -> None:
    """Drop the buffered output, which cannot be written at exit either."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

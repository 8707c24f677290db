"""The logs of a command, from files or from a server: their events, and the exit code."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import typer

from connector.cli.failure import errors, fail
from connector.cli.log_commands import (
    EXIT_ARGUMENTS,
    EXIT_INTERRUPTED,
    EXIT_NOBODY_READS,
    exit_code_of,
)
from connector.errors import ConfigError, ConnectorError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from connector.binlog.event import Event
    from connector.cli.log_options import ServerOptions
    from connector.dump.logs import DumpedLog, ReadingOptions


def opened_logs(
    names: Sequence[str] | None, server: ServerOptions, options: ReadingOptions
) -> Iterator[DumpedLog]:
    """Return the logs of a command: files, or the logs of a server.

    Raises ConfigError for options that contradict each other, and for a missing password.
    """
    from connector.dump.logs import files, server_logs  # noqa: PLC0415  # keeps --help fast

    refuse_contradictions(
        {
            "--to-last-log and --password-env are for --source": server.source is None
            and (server.to_last_log or server.password_env is not None),
            "--to-last-log and --start-position need the name of a log": server.source is not None
            and not names
            and (server.to_last_log or options.start_position is not None),
            "name a file, - for standard input, or a server with --source": server.source is None
            and not names,
        }
    )
    if server.source is None:
        return files(names or [], options)
    password = _password(server.source, server.password_env)
    return server_logs(
        server.source, password, names or [], options, to_last_log=server.to_last_log
    )


def refuse_contradictions(contradictions: dict[str, bool]) -> None:
    """Raise ConfigError with the first key whose value is true."""
    for reason, found in contradictions.items():
        if found:
            raise ConfigError(reason)


def _password(url: str, variable: str | None) -> str | None:
    """Return the password, None for that of the URL; ask for it only on a terminal."""
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


def events_of(logs: Iterable[DumpedLog], *, stop_position: int | None = None) -> Generator[Event]:
    """Yield the events of logs, in order; those of the last one up to `stop_position`.

    On a terminal a bar shows the progress, until this generator is closed.
    """
    from connector.dump.gaps import Gap  # noqa: PLC0415  # keeps --help fast
    from connector.dump.progress import ReadingProgress  # noqa: PLC0415  # keeps --help fast
    from connector.dump.selection import is_made_up  # noqa: PLC0415  # keeps --help fast

    with ExitStack() as stack:
        progress = stack.enter_context(ReadingProgress(errors)) if errors.is_terminal else None
        for log in logs:
            stop = stop_position if log.last else None
            with closing(log.events()) as events:
                for event in events:
                    assert not isinstance(event, Gap)
                    if stop is not None and event.position >= stop:
                        return
                    if not is_made_up(event):
                        yield event
                    if progress is not None:
                        progress.show(log.name, event.next_position, log.size)
                    if stop is not None and event.next_position >= stop:
                        # The bytes after it may be damaged.
                        return


@contextmanager
def exit_codes() -> Iterator[None]:
    """End the command with the exit code of the block's error."""
    try:
        yield
        sys.stdout.flush()
    except ConnectorError as error:
        fail(error, exit_code_of(error))
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _forget_output()
        raise typer.Exit(EXIT_NOBODY_READS) from None
    except OSError as error:
        # Reading raises only our errors, so this error is one of writing.
        _forget_output()
        reason = f"cannot write: {error.strerror}"
        fail(ConfigError(reason), EXIT_ARGUMENTS)


def _forget_output() -> None:
    """Drop the buffered output, which cannot be written at exit either."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

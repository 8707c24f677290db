"""The commands that read files to their end: the events, and the exit code."""

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
    from collections.abc import Generator, Iterator, Sequence

    from connector.binlog.event import Event
    from connector.dump.logs import ReadingOptions


def events_of_files(
    paths: Sequence[str], options: ReadingOptions, *, stop_position: int | None = None
) -> Generator[Event]:
    """Yield the events of files, in order; those of the last one up to `stop_position`.

    On a terminal a bar shows how far that is, until this generator is closed.
    """
    from connector.dump.logs import files  # noqa: PLC0415  # keeps --help fast
    from connector.dump.progress import ReadingProgress  # noqa: PLC0415  # keeps --help fast
    from connector.dump.recover import Gap  # noqa: PLC0415  # keeps --help fast

    with ExitStack() as stack:
        progress = stack.enter_context(ReadingProgress(errors)) if errors.is_terminal else None
        for log in files(paths, options):
            stop = stop_position if log.last else None
            with closing(log.events()) as events:
                for event in events:
                    assert not isinstance(event, Gap)
                    if stop is not None and event.position >= stop:
                        return
                    yield event
                    if progress is not None:
                        progress.show(log.name, event.next_position, log.size)
                    if stop is not None and event.next_position >= stop:
                        # What is behind it may be damaged.
                        return


@contextmanager
def exit_codes() -> Iterator[None]:
    """End the command with the exit code of what the block raises."""
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
        # What is read fails with one of our errors.
        _forget_output()
        reason = f"cannot write: {error.strerror}"
        fail(ConfigError(reason), EXIT_ARGUMENTS)


def _forget_output() -> None:
    """Let what is left in the buffer, and cannot be written at exit either, go nowhere."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

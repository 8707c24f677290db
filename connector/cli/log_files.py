"""The commands that read files to their end: the events, and the exit code."""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import typer

from connector.cli.failure import fail
from connector.cli.log_commands import EXIT_INTERRUPTED, EXIT_NOBODY_READS, exit_code_of
from connector.errors import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.binlog.event import Event
    from connector.dump.logs import ReadingOptions


def events_of_files(
    paths: Sequence[str], options: ReadingOptions, *, stop_position: int | None = None
) -> Iterator[Event]:
    """Yield the events of files, in order; those of the last one up to `stop_position`."""
    from connector.dump.logs import files  # noqa: PLC0415  # keeps --help fast
    from connector.dump.recover import Gap  # noqa: PLC0415  # keeps --help fast

    for log in files(paths, options):
        stop = stop_position if log.last else None
        with closing(log.events()) as events:
            for event in events:
                assert not isinstance(event, Gap)
                if stop is not None and event.position >= stop:
                    return
                yield event


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
        # What is left in the buffer cannot be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(EXIT_NOBODY_READS) from None

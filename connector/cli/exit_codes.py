"""Errors as a line on standard error and an exit code, with the codes of commands that read logs.

Wrong arguments of such a command end with 1, not with 2 as in other commands, because there 2 means
a truncated log.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NoReturn

from connector.binlog.log_errors import LogRefused, LogTruncated
from connector.foundation.errors import (
    ConfigError,
    ConnectorError,
    SourceRefused,
    TransientError,
    fields,
)

if TYPE_CHECKING:
    from rich.console import Console


@cache
def errors() -> Console:
    """Return the console on standard error."""
    from rich.console import Console  # noqa: PLC0415  # most commands say nothing there

    return Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)


def tell(error: ConnectorError) -> None:
    """Print an error on standard error."""
    errors().print("error:", style="bold red", end=" ")
    errors().print(str(error), markup=False)


def fail(error: ConnectorError, code: int) -> NoReturn:
    """Print an error and end with `code`."""
    tell(error)
    raise SystemExit(code) from error


def warn(text: str) -> None:
    """Print a warning."""
    errors().print("warning:", style="bold yellow", end=" ")
    errors().print(text, markup=False)


def log_failure(error: ConnectorError, code: int) -> NoReturn:
    """Log the error as the last line of a log for machines, and end with `code`."""
    from structlog import get_logger  # noqa: PLC0415  # keeps --help fast

    get_logger().error("failed", **fields(error), exit_code=code)
    raise SystemExit(code) from error


# 0 is a log that was read to a clean end.
EXIT_ARGUMENTS = 1  # wrong arguments, or a log that cannot be opened
EXIT_TRUNCATED = 2  # a file ends inside an event
EXIT_CORRUPT = 3  # something is corrupt, or cannot be decoded
EXIT_REFUSED = 4  # not a binlog, encrypted, or a storage format that is not read
EXIT_INTERRUPTED = 130  # by Ctrl-C
EXIT_NOBODY_READS = 141  # the reader of the output has ended, as `head` does


def exit_code_of(error: ConnectorError) -> int:
    """Return the exit code for `error`."""
    if isinstance(error, LogTruncated):
        return EXIT_TRUNCATED
    if isinstance(error, LogRefused):
        return EXIT_REFUSED
    if isinstance(error, (ConfigError, SourceRefused, TransientError)):
        return EXIT_ARGUMENTS
    return EXIT_CORRUPT

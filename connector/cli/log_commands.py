"""Exit codes of the commands that read logs.

Wrong arguments end with 1 here, not with 2 as in other commands, because here 2 means a truncated
log.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from connector.errors import (
    ConfigError,
    ConnectorError,
    LogRefused,
    LogTruncated,
    SourceRefused,
    TransientError,
)

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


# Click's UsageError, which has different names in versions of typer.
_UsageError: Any = typer.BadParameter.__mro__[1]


class LogCommand(TyperCommand):
    """A command that ends with EXIT_ARGUMENTS if its arguments are wrong."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments; a usage error ends the command with EXIT_ARGUMENTS."""
        try:
            return super().make_context(*args, **kwargs)
        except _UsageError as error:
            from typer.rich_utils import rich_format_error  # noqa: PLC0415  # takes long to import

            # As typer does, which ends with 2 then.
            rich_format_error(error)
            raise typer.Exit(EXIT_ARGUMENTS) from error

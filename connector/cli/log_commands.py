"""What the commands that read logs have in common: their exit codes.

Everything that a user wrote wrongly ends with 1 here, not with the 2 of other commands: that says
that a log is truncated.
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
EXIT_REFUSED = 4  # no binlog, encrypted, or a storage format that is not read
EXIT_INTERRUPTED = 130  # by Ctrl-C
EXIT_NOBODY_READS = 141  # what was to read the output has ended, as `head` does


def exit_code_of(error: ConnectorError) -> int:
    """Return how a command ends that met `error`."""
    if isinstance(error, LogTruncated):
        return EXIT_TRUNCATED
    if isinstance(error, LogRefused):
        return EXIT_REFUSED
    if isinstance(error, (ConfigError, SourceRefused, TransientError)):
        return EXIT_ARGUMENTS
    return EXIT_CORRUPT


# Click's UsageError, which typer has under changing names.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class LogCommand(TyperCommand):
    """A command whose wrong arguments end with EXIT_ARGUMENTS."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments."""
        try:
            return super().make_context(*args, **kwargs)
        except _UsageError as error:
            error.exit_code = EXIT_ARGUMENTS  # type: ignore[attr-defined]
            raise

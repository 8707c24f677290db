"""Exit codes of the commands that read logs.

Wrong arguments end with 1 here, not with 2 as in other commands, because here 2 means a truncated
log.
"""

from __future__ import annotations

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

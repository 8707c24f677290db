"""What a command says beside its output, and the exit code with which an error ends it.

A code of a command for a pipeline needs an action of a supervisor that differs from all others.
Commands for logs have other codes, because they tell what was wrong with a log.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, NoReturn

from connector.binlog.log_errors import LogRefused, LogTruncated
from connector.cli import command_errors
from connector.foundation.errors import ConfigError, ConnectorError, SourceRefused, TransientError

if TYPE_CHECKING:
    from rich.console import Console

# Of a pipeline; 0 is a clean end, also after SIGTERM.
EXIT_GAVE_UP: Final = 1  # transient: retry.attempts_max was reached; starting again may help
EXIT_CONFIG: Final = 2  # the configuration or the arguments are wrong
EXIT_DEFINITE: Final = 3  # a restart cannot help; the text says what can
EXIT_STOPPED: Final = 4  # of `status`: no process answers, and the next start goes on
# Of a log; 0 is a log that was read to a clean end.
EXIT_ARGUMENTS: Final = 1  # wrong arguments, or a log that cannot be opened
EXIT_TRUNCATED: Final = 2  # a file ends inside an event
EXIT_CORRUPT: Final = 3  # something is corrupt, or cannot be decoded
EXIT_REFUSED: Final = 4  # not a binlog, encrypted, or a storage format that is not read
# By Ctrl-C, or by a second signal.
EXIT_INTERRUPTED: Final = 130
# The reader of the output has ended, as `head` does.
EXIT_NOBODY_READS: Final = 141


@cache
def errors() -> Console:
    """Return the console on standard error."""
    from rich.console import Console  # noqa: PLC0415  # most commands say nothing there

    return Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """Print a line of output at once: a program may wait for it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(error: ConnectorError) -> None:
    """Print an error on standard error."""
    errors().print("error:", style="bold red", end=" ")
    errors().print(str(error), markup=False)


def tell_all(problems: Sequence[ConnectorError]) -> NoReturn:
    """Print problems, of which the worst is the last one, and raise that."""
    *others, worst = problems
    for problem in others:
        tell(problem)
    raise worst


def warn(text: str) -> None:
    """Print a warning."""
    errors().print("warning:", style="bold yellow", end=" ")
    errors().print(text, markup=False)


def fail(error: ConnectorError, code: int) -> NoReturn:
    """Print an error and end with `code`."""
    tell(error)
    raise SystemExit(code) from error


@contextmanager
def pipeline_exit_codes(
    fail: Callable[[ConnectorError, int], NoReturn] = fail,
) -> Iterator[None]:
    """Call `fail` with an error of the block, and with its exit code."""
    try:
        yield
    except ConfigError as error:
        fail(error, EXIT_CONFIG)
    except TransientError as error:
        fail(error, EXIT_GAVE_UP)
    except ConnectorError as error:
        fail(error, EXIT_DEFINITE)
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _forget_output()
        raise SystemExit(EXIT_GAVE_UP) from None


@contextmanager
def log_exit_codes() -> Iterator[None]:
    """End the command with the exit code of the block's error."""
    try:
        yield
        sys.stdout.flush()
    except ConnectorError as error:
        fail(error, _code_of(error))
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _forget_output()
        raise SystemExit(EXIT_NOBODY_READS) from None
    except OSError as error:
        # Reading raises only our errors, so this error is one of writing.
        _forget_output()
        fail(ConfigError(command_errors.NOT_WRITTEN, why=error.strerror), EXIT_ARGUMENTS)


def _code_of(error: ConnectorError) -> int:
    if isinstance(error, LogTruncated):
        return EXIT_TRUNCATED
    if isinstance(error, LogRefused):
        return EXIT_REFUSED
    if isinstance(error, (ConfigError, SourceRefused, TransientError)):
        return EXIT_ARGUMENTS
    return EXIT_CORRUPT


def _forget_output() -> None:
    """Drop the buffered output, which cannot be written at exit either."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
